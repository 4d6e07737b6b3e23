"""`verify` and `approve`: see what servers really offer, and trust it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.counting import counted

if TYPE_CHECKING:
    from toolyard.features.approvals.operations import VerificationResult

AT_ONCE = 4
"""Servers that are verified together; more would only wait for the processor."""
MARGIN = 10.0
"""Seconds the hub gets beyond its own limit, so that it is the one to say so."""
YOUNG = 2.0
"""Seconds within which a hub has read all its files."""
PAUSE = 0.05
PARTS = ("tools", "prompts", "resources", "templates", "instructions")


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_servers)
@click.option("--all", "every", is_flag=True, help="Verify every server that is enabled.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 600, min_open=True),
    default=60.0,
    metavar="S",
    show_default=True,
    help="Seconds that each server gets to start, greet and list.",
)
@json_option
@click.pass_obj
def verify_command(
    context: CliContext, names: tuple[str, ...], every: bool, timeout: float
) -> None:
    """Start or reach servers and see what they really offer.

    Shows how that differs from what is on file. A definition from the catalog need not be in the
    yard: it is started, asked and stopped. Exits with 1 if any of them failed. Starts a hub in the
    background if none is running.
    """
    from toolyard.features.approvals.showing import show_failed, show_verified

    if bool(names) == every:
        raise click.UsageError("name servers, or give --all, and not both")
    hub = context.start_hub()
    _wait_read(hub, names)
    chosen = _enabled(hub) if every else list(dict.fromkeys(names))
    verified: list[VerificationResult] = []
    failed: dict[str, CommandError] = {}
    for name, result in _verify(hub, chosen, timeout):
        if isinstance(result, CommandError):
            failed[name] = result
        else:
            verified.append(result)
        _say_progress(context, len(verified) + len(failed), len(chosen), name, result)

    def show() -> None:
        for result in verified:
            show_verified(context.terminal, result)
        for name, error in failed.items():
            show_failed(context.terminal, name, error)

    answer = {
        "verified": verified,
        "failed": [{"server": n, "text": str(e), "hint": e.hint} for n, e in failed.items()],
    }
    context.terminal.answer(answer, show)
    if failed:
        raise click.exceptions.Exit(Exit.FAILED)


def _wait_read(hub: Control, names: Sequence[str]) -> None:
    """Let a young hub read its files; a server that does not answer yet is no reason to wait."""
    pause = threading.Event()
    while (status := hub.status()).uptime_s < YOUNG:
        listed = {name for server in status.servers for name in (server.alias, server.name)}
        if names and listed.issuperset(names):
            return
        pause.wait(PAUSE)


def _enabled(hub: Control) -> list[str]:
    from toolyard.features.servers.operations import list_servers
    from toolyard.operation import NoInput

    servers = hub.run(list_servers, NoInput()).servers
    return [server.alias for server in servers if server.enabled]


def _verify(
    hub: Control, names: Sequence[str], seconds: float
) -> Iterator[tuple[str, VerificationResult | CommandError]]:
    """Each name with its result, or why it failed, as soon as that is known."""
    from toolyard.features.approvals.operations import VerifyServer, verify_server

    patience = seconds + MARGIN
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {
            pool.submit(hub.run, verify_server, VerifyServer(name, seconds), patience): name
            for name in names
        }
        for done in as_completed(asked):
            error = done.exception()
            if error is not None and not isinstance(error, CommandError):
                raise error
            yield asked[done], error if isinstance(error, CommandError) else done.result()


def _say_progress(
    context: CliContext,
    count: int,
    total: int,
    name: str,
    result: VerificationResult | CommandError,
) -> None:
    if total > 1 and not context.terminal.as_json:
        word = "failed" if isinstance(result, CommandError) else counted(len(result.tools), "tool")
        context.terminal.note(f"{count}/{total} {name}: {word}")


@click.command("approve")
@click.argument("name", required=False, shell_complete=complete_servers)
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@click.option("--prompt", "prompts", multiple=True, metavar="NAME", help="Approve this prompt.")
@click.option("--resource", "resources", multiple=True, metavar="URI", help="This resource.")
@click.option("--template", "templates", multiple=True, metavar="TEMPLATE", help="This template.")
@click.option("--instructions", is_flag=True, help="The instructions it gives to models.")
@click.option(
    "--any-text", is_flag=True, help="Keep approving when descriptions and titles change."
)
@click.option("--call", metavar="ID", help="Allow this call, which a rule is holding.")
@click.option("--refuse", is_flag=True, help="Refuse it instead.")
@click.option("--dry-run", is_flag=True, help="Show the differences, and approve nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def approve_command(
    context: CliContext,
    /,
    name: str | None,
    call: str | None,
    refuse: bool,
    dry_run: bool,
    yes: bool,
    **parts: Any,
) -> None:
    """Approve what a server offers, a part of it, or one waiting call.

    Shows the differences and asks. Unless you name tools or other parts, this also approves how the
    server is started. --any-text is for servers that word the same tool differently at every start;
    names, arguments and schemas still count.

    Without a name it lists the calls that wait for a yes (see 'toolyard rule').

    \b
    toolyard approve shop --dry-run
    toolyard approve shop buy --yes
    toolyard approve --call 3f9a01c2
    """
    import msgspec

    from toolyard.features.approvals.operations import (
        ApproveServer,
        ServerToCompare,
        approve_server,
        get_changes,
    )
    from toolyard.features.approvals.showing import show_approved, show_waiting

    if name is None:
        _approve_call(context, call, refuse, parts)
        return
    if call is not None or refuse:
        raise click.UsageError("--call and --refuse are about one call, not about a server")
    if parts["any_text"] and not any(parts[key] for key in PARTS):
        raise click.UsageError("--any-text needs the tool, or what else it is about")
    waiting = context.run(get_changes, ServerToCompare(name))
    if dry_run:
        context.terminal.answer(waiting, lambda: show_waiting(context, waiting))
        return
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            text = "cannot ask (no terminal); preview with --dry-run, then add --yes"
            raise click.UsageError(text)
        show_waiting(context, waiting)
        click.confirm("Approve this?", abort=True)
    # Only what was shown: a server may change while somebody reads.
    order = msgspec.convert({**parts, "alias": name, "hash": waiting.hash}, ApproveServer)
    approved = context.run(approve_server, order)
    context.terminal.answer(approved, lambda: show_approved(context.terminal, name, approved))


def _approve_call(
    context: CliContext, call: str | None, refuse: bool, parts: dict[str, Any]
) -> None:
    """Answer a call that waits, or list those that do."""
    from toolyard.features.rules.commands import answer_waiting_call, show_waiting_calls

    if any(parts.values()) or (refuse and call is None):
        raise click.UsageError("name the server, or the call with --call")
    if call is None:
        show_waiting_calls(context)
    else:
        answer_waiting_call(context, call, yes=not refuse)
