"""`clients`, `connect`, `disconnect`: the hub in the files of your clients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, Decorated, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean
from toolyard.core.errors import ConfigError, TakenError, ToolyardError, UnknownNameError
from toolyard.features.quirks.commands import describe_limits, quirks_command, read_quirks

if TYPE_CHECKING:
    from toolyard.clients.change import Plan
    from toolyard.clients.connecting import ClientState, Connecting
    from toolyard.clients.journal import Record

TITLES = ("client", "installed", "connected", "limits", "file")
COLOURS = {"+": "green", "-": "red", "@": "cyan"}

project_option = click.option(
    "--project",
    is_flag=False,
    flag_value=".",
    metavar="[DIR]",
    help="The file of this project, or of the one here, instead of your own.",
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_option = click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")


def _which(command: Decorated) -> Decorated:
    """Add the clients, and `--all`."""
    every = click.option("--all", "every", is_flag=True, help="All clients that are installed.")
    names = click.argument("names", nargs=-1, metavar="[CLIENT]...", shell_complete=_complete)
    return names(every(command))


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from toolyard.clients.known import BY_NAME

    return [each for each in BY_NAME if each.startswith(incomplete)]


@click.group("clients", invoke_without_command=True)
@project_option
@json_option
@click.pass_context
def clients_command(ctx: click.Context, project: str | None) -> None:
    """Show which clients are here, and which of them use the hub.

    See their limits in full, and set them, with: toolyard clients quirks
    """
    if ctx.invoked_subcommand is None:
        context = ctx.ensure_object(CliContext)
        limits = {row.name: describe_limits(row) for row in read_quirks(context).passports}
        states = open_connecting(context).rows(folder(project))
        rows = [_plain(state, limits[state.client.name]) for state in states]
        context.terminal.answer({"clients": rows}, lambda: _show(context, rows))


clients_command.add_command(quirks_command)


def _plain(row: ClientState, limits: str) -> dict[str, Any]:
    return {
        "client": row.client.name,
        "title": row.client.title,
        "installed": row.installed,
        "connected": bool(row.how),
        "how": row.how,
        "limits": limits,
        "file": str(row.path),
        "problem": row.problem,
    }


def _show(context: CliContext, rows: list[dict[str, Any]]) -> None:
    cells = [
        [
            row["client"],
            "yes" if row["installed"] else "no",
            row["how"] or ("?" if row["problem"] else "no"),
            row["limits"],
            row["file"],
        ]
        for row in rows
    ]
    context.terminal.table(TITLES, cells)
    for row in rows:
        if row["problem"]:
            context.terminal.note(f"note: {clean(row['problem'])}")


@click.command("connect")
@_which
@project_option
@click.option("--http", is_flag=True, help="By address and a token of its own, not by command.")
@click.option("--agent", default="", metavar="NAME", help="Connect it as this agent.")
@dry_option
@yes_option
@config_option
@json_option
@click.pass_obj
def connect_command(
    context: CliContext,
    /,
    names: tuple[str, ...],
    every: bool,
    project: str | None,
    http: bool,
    agent: str,
    dry_run: bool,
    yes: bool,
) -> None:
    """Put the hub into the files of clients.

    Shows the difference and asks. All else in the file stays as it is; `toolyard undo` puts back
    every byte.

    \b
    toolyard connect cursor codex
    toolyard connect --all --dry-run
    toolyard connect vscode --project .
    """
    from toolyard.clients.connecting import Wish
    from toolyard.core.agentfiles import NAME, NAME_HINT

    if agent and not NAME.fullmatch(agent):
        raise CommandError(f"{agent[:80]!r} cannot name an agent", NAME_HINT, Exit.USAGE)
    connecting = open_connecting(context)
    wish = Wish(folder(project), http, agent)
    if note := connecting.note(wish):
        context.terminal.note(f"note: {note}")
    _change(
        context,
        _chosen(connecting, names, every),
        lambda name: connecting.plan(name, wish),
        lambda plan: connecting.connect(plan, wish),
        (dry_run, yes),
    )


@click.command("disconnect")
@_which
@project_option
@dry_option
@yes_option
@json_option
@click.pass_obj
def disconnect_command(
    context: CliContext,
    names: tuple[str, ...],
    every: bool,
    project: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take the hub out of the files of clients.

    A file that nobody changed since it was connected becomes what it was before, every byte.
    """
    connecting = open_connecting(context)
    where = folder(project)
    _change(
        context,
        _chosen(connecting, names, every),
        lambda name: connecting.plan_disconnect(name, where),
        connecting.disconnect,
        (dry_run, yes),
    )


def _change(
    context: CliContext,
    names: Sequence[str],
    make_plan: Callable[[str], Plan],
    apply: Callable[[Plan], Record | None],
    how: tuple[bool, bool],
) -> None:
    """Plan all, show all, ask once, and do what can be done."""
    dry_run, yes = how
    plans: list[Plan] = []
    failed: list[tuple[str, ToolyardError]] = []
    for name in names:
        try:
            plans.append(make_plan(name))
        except UnknownNameError:
            raise  # a slip of the pen: nothing is done
        except ToolyardError as error:
            failed.append((name, error))
    if not dry_run:
        ask(context, yes, plans)
    rows = []
    for plan in as_batch(plans):
        try:
            record = None if dry_run else apply(plan)
            rows.append(change_row(plan, record, record.ended if record else ""))
        except ToolyardError as error:
            failed.append((plan.place.client.name, error))
    _answer(context, rows, failed, dry_run, shown=not dry_run and not yes)


def as_batch(plans: Sequence[Plan]) -> list[Plan]:
    """The plans of one command, so that one undo takes all of them back."""
    import uuid

    batch = uuid.uuid4().hex if len(plans) > 1 else ""
    return [replace(plan, batch=batch) for plan in plans]


def ask(context: CliContext, yes: bool, plans: Sequence[Plan]) -> None:
    """Show what would change, and have it confirmed.

    Raises:
        click.UsageError: Nobody is there to be asked.
    """
    if yes or not any(each.changes for each in plans):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or context.terminal.as_json:
        raise click.UsageError("nobody is there to be asked; see --dry-run, then give --yes")
    for plan in plans:
        show_difference(context, plan.difference)
    click.confirm("Write this?", abort=True)


def show_difference(context: CliContext, text: str) -> None:
    """Show a difference, line by line."""
    for line in text.splitlines():
        colour = COLOURS.get(line[:1])
        shown = "".join(each if each.isprintable() or each == "\t" else "?" for each in line)
        context.terminal.say(context.terminal.paint(shown, colour) if colour else shown)


def change_row(plan: Plan, record: Record | None, ended: str = "") -> dict[str, Any]:
    """A change as JSON has it; `ended` is the token that works no more."""
    return {
        "client": plan.place.client.name,
        "file": str(plan.place.path),
        "what": plan.what,
        "changed": plan.changes,
        "difference": plan.difference,
        "id": record.id if record else "",
        "token_ended": ended,
    }


def _answer(
    context: CliContext,
    rows: list[dict[str, Any]],
    failed: list[tuple[str, ToolyardError]],
    dry_run: bool,
    shown: bool,
) -> None:
    answer = {"dry_run": dry_run, "changes": rows, "failed": failed_rows(failed)}
    if len(failed) == 1 and not rows:
        raise as_refusal(failed[0][1])
    context.terminal.answer(answer, lambda: _tell(context, rows, dry_run, shown))
    name_failed(context, failed)


def failed_rows(failed: Sequence[tuple[str, ToolyardError]]) -> list[dict[str, str]]:
    """What could not be done, as JSON has it."""
    return [{"client": name, "text": str(e), "hint": e.hint} for name, e in failed]


def name_failed(context: CliContext, failed: Sequence[tuple[str, ToolyardError]]) -> None:
    """Say of each client what could not be done, and end with that if there is one."""
    for client, error in failed if not context.terminal.as_json else ():
        context.terminal.note(f"{client}: {clean(str(error))}")
        context.terminal.note(f"hint: {clean(error.hint)}")
    if failed:
        raise click.exceptions.Exit(Exit.FAILED)


def as_refusal(error: ToolyardError) -> CommandError:
    """The one error of a command that did nothing."""
    exit_ = Exit.CONFIG if isinstance(error, ConfigError) else Exit.FAILED
    exit_ = Exit.REFUSED if isinstance(error, TakenError) else exit_
    return CommandError(str(error), error.hint, exit_)


def _tell(context: CliContext, rows: list[dict[str, Any]], dry_run: bool, shown: bool) -> None:
    for row in rows:
        if not row["changed"]:
            context.terminal.say(f"{row['client']}: nothing to do in {row['file']}")
            continue
        if not shown:
            show_difference(context, row["difference"])
        if not dry_run:
            context.terminal.say(f"{row['what']} {row['client']} in {row['file']}")
            if row["token_ended"]:
                context.terminal.say(f"the token {row['token_ended']} works no more")
    if any(row["changed"] for row in rows) and not dry_run:
        context.terminal.note(
            "to take it back: toolyard undo; clients read their file when they start"
        )


def open_connecting(context: CliContext) -> Connecting:
    """What connects clients, for the hub that runs or would run."""
    from toolyard.clients.connecting import Connecting
    from toolyard.clients.places import Surroundings
    from toolyard.features.tokens.operations import TokenName, revoke_token
    from toolyard.features.tokens.store import TokensFile

    settings = context.hub_settings
    state = context.run_dir.read()
    url = state.url if state else f"http://{settings.host}:{settings.port}"
    tokens = TokensFile(settings.state_dir / "tokens.json")
    hub = context.find_hub()

    def revoke(name: str) -> None:
        if hub:
            hub.run(revoke_token, TokenName(name))
        else:
            tokens.revoke(name)

    return Connecting(settings, Surroundings.here(), url, tokens, revoke)


def folder(project: str | None) -> Path | None:
    """The project that was named.

    Raises:
        CommandError: There is no such folder.
    """
    if project is None:
        return None
    path = Path(project).expanduser().resolve()
    if not path.is_dir():
        raise CommandError(f"there is no folder '{path}'", "correct the path", Exit.NOT_FOUND)
    return path


def _chosen(connecting: Connecting, names: Sequence[str], every: bool) -> list[str]:
    if bool(names) == every:
        raise click.UsageError("name clients, or give --all, and not both")
    chosen = connecting.installed() if every else list(dict.fromkeys(names))
    if not chosen:
        raise CommandError(
            "no client was found on this machine",
            "name one: toolyard connect cursor",
            Exit.NOT_FOUND,
        )
    return chosen
