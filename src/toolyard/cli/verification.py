"""`verify`, `changes`, `approve`, `activate`, `deactivate`: trust a server, and wake it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, cast

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.model import Kind

AT_ONCE = 4
"""Servers that are verified together; more would only wait for the processor."""
MARGIN = 10.0
"""Seconds the hub gets beyond its own limit, so that it is the one to say so."""
YOUNG = 2.0
"""Seconds within which a hub has read all its files."""
PAUSE = 0.05
COLOURS = {"+": "green", "-": "red"}
PARTS = ("tools", "prompts", "resources", "templates", "instructions")

one_server = click.argument("name", shell_complete=complete_servers)


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_servers)
@click.option("--all", "every", is_flag=True, help="Every server that is in use.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 600, min_open=True),
    default=60.0,
    metavar="S",
    show_default=True,
    help="What one server gets to start, greet and list.",
)
@json_option
@click.pass_obj
def verify_command(
    context: CliContext, names: tuple[str, ...], every: bool, timeout: float
) -> None:
    """Start or reach servers and see what they really offer.

    Shows how that differs from what is on file. A definition of the catalog need not be in the
    yard: it is started, asked and ended. Ends with 1 if one of them failed, for whatever reason.
    Starts a hub in the background if there is none.
    """
    if bool(names) == every:
        raise click.UsageError("name servers, or give --all, and not both")
    hub = context.start_hub()
    _wait_known(hub, names)
    chosen = _enabled(hub) if every else list(dict.fromkeys(names))
    found: list[dict[str, Any]] = []
    failed: dict[str, CommandError] = {}
    for name, result in _verified(hub, chosen, timeout):
        if isinstance(result, CommandError):
            failed[name] = result
        else:
            found.append(result)
        _say_progress(context, len(found) + len(failed), len(chosen), name, result)
    answer = {
        "verified": found,
        "failed": [{"server": n, "text": str(e), "hint": e.hint} for n, e in failed.items()],
    }
    context.terminal.answer(answer, lambda: _show_verified(context, answer))
    if failed:
        raise click.exceptions.Exit(Exit.FAILED)


def _wait_known(hub: Control, names: Sequence[str]) -> None:
    """Let a young hub read its files; whether their servers answer is what we are to find out."""
    pause = threading.Event()
    while (status := hub.status())["uptime_s"] < YOUNG:
        known = {name for each in status["servers"] for name in (each["alias"], each["name"])}
        if names and known.issuperset(names):
            return
        pause.wait(PAUSE)


def _enabled(hub: Control) -> list[str]:
    return [each["alias"] for each in hub.status()["servers"] if each["enabled"]]


def _verified(
    hub: Control, names: Sequence[str], seconds: float
) -> Iterator[tuple[str, dict[str, Any] | CommandError]]:
    """Each name with what was found, or why it failed, as soon as that is known."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {pool.submit(hub.verify, name, seconds, seconds + MARGIN): name for name in names}
        for done in as_completed(asked):
            error = done.exception()
            if error is not None and not isinstance(error, CommandError):
                raise error
            yield asked[done], error if isinstance(error, CommandError) else done.result()


def _say_progress(context: CliContext, count: int, total: int, name: str, result: Any) -> None:
    if total > 1 and not context.terminal.as_json:
        word = "failed" if isinstance(result, CommandError) else f"{len(result['tools'])} tools"
        context.terminal.note(f"{count}/{total} {name}: {word}")


def _show_verified(context: CliContext, answer: dict[str, Any]) -> None:
    say = context.terminal.say
    for each in answer["verified"]:
        counts = [f"{len(each[kind])} {kind}" for kind in ("tools", "prompts", "resources")]
        version = f" {clean(each['server_version'])}" if each["server_version"] else ""
        say(
            f"{context.terminal.word('ok')} {each['server']}{version}: {', '.join(counts)}, "
            f"about {each['schema_tokens']} tokens, protocol {each['protocol']}, "
            f"first answer after {each['first_answer_ms']} ms"
        )
        show_changes(context, each["changes"])
    for each in answer["failed"]:
        say(f"{context.terminal.word('failing')} {each['server']}: {clean(each['text'])}")
        if each["hint"]:
            say(f"  hint: {clean(each['hint'])}")


@click.command("changes")
@one_server
@json_option
@click.pass_obj
def changes_command(context: CliContext, name: str) -> None:
    """Show how a server differs from what was approved."""
    hub = context.need_hub()
    found = hub.changes(name)
    context.terminal.answer(found, lambda: _show_waiting(context, hub, found))


def _show_waiting(context: CliContext, hub: Control, found: dict[str, Any]) -> None:
    if found["launch"]:
        launch = hub.server(found["server"])["launch"]
        now = " ".join(launch.get("command", ())) or launch.get("url", "")
        context.terminal.say("it is started in another way than was approved; now it is:")
        context.terminal.say(f"  {clean(now)}")
        if names := [*launch.get("env", ()), *launch.get("headers", ())]:
            context.terminal.say(f"  with {', '.join(map(clean, names))}")
    show_changes(context, found["changes"])
    waiting = [
        *found["held"],
        *(spelled(each["kind"], each["name"]) for each in found["held_also"]),
    ]
    if waiting:
        context.terminal.say(f"waiting for approval: {', '.join(map(clean, waiting))}")
    elif not found["changes"] and not found["launch"]:
        context.terminal.say("nothing has changed")


def spelled(kind: str, name: str) -> str:
    """What people call a part of a server: a tool by its name, all else with its kind."""
    from toolyard.core.parts import spell

    return spell((cast("Kind", kind), name))


def show_changes(context: CliContext, changes: list[dict[str, Any]]) -> None:
    """Show differences of parts; what cannot be seen is spelled out."""
    for change in changes:
        often = " (its text changes at nearly every start)" if change["restless"] else ""
        name = clean(spelled(change["of"], change["name"]))
        context.terminal.say(f"  {change['kind']}: {name}{often}")
        for field in change["fields"]:
            context.terminal.say(f"    {clean(field['path'])}")
            for line in field["lines"]:
                colour = COLOURS.get(line[:1])
                text = line.replace("\t", "⟨U+0009⟩")
                context.terminal.say(
                    f"      {context.terminal.paint(text, colour) if colour else text}"
                )


@click.command("approve")
@one_server
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@click.option("--prompt", "prompts", multiple=True, metavar="NAME", help="This prompt.")
@click.option("--resource", "resources", multiple=True, metavar="URI", help="This resource.")
@click.option("--template", "templates", multiple=True, metavar="TEMPLATE", help="This template.")
@click.option("--instructions", is_flag=True, help="What it tells whoever uses it.")
@click.option("--any-text", is_flag=True, help="Also if descriptions and titles change again.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def approve_command(context: CliContext, /, name: str, yes: bool, **parts: Any) -> None:
    """Approve what a server offers now, or only some of it.

    Shows the differences and asks. Without a tool or an option that names something, the way it is
    started is approved too. With --any-text, which is for servers that word the same tool
    differently at every start, names, arguments and schemas still count.
    """
    if parts["any_text"] and not any(parts[key] for key in PARTS):
        raise click.UsageError("--any-text needs the tool, or what else it is about")
    hub = context.need_hub()
    found = hub.changes(name)
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError("nobody is there to be asked; look at it, then give --yes")
        _show_waiting(context, hub, found)
        click.confirm("Approve this?", abort=True)
    # Only what was shown: a server may change while somebody reads.
    answer = hub.approve(name, {**parts, "hash": found["hash"]})
    names = ", ".join(map(clean, answer["approved"])) or "nothing that waited"
    context.terminal.answer(answer, lambda: context.terminal.say(f"approved of '{name}': {names}"))


@click.command("activate")
@one_server
@json_option
@click.pass_obj
def activate_command(context: CliContext, name: str) -> None:
    """Start a server now, before a call needs it."""
    hub = context.need_hub()
    hub.order(name, "activate", context.settings.start_timeout + MARGIN)
    answer = {"done": "activated", "server": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"'{name}' is ready"))


@click.command("deactivate")
@one_server
@json_option
@click.pass_obj
def deactivate_command(context: CliContext, name: str) -> None:
    """Let a server rest; the next call starts it again."""
    context.need_hub().order(name, "deactivate", MARGIN)
    answer = {"done": "deactivated", "server": name}
    text = f"'{name}' rests once no call is under way"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
