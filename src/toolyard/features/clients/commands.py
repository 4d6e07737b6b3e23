"""`clients`, `connect`, `disconnect`, `undo`: the hub in the files of your clients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, Decorated, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean
from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.confirming import (
    change_files,
    describe_change,
    describe_undo,
    dry_option,
    yes_option,
)
from toolyard.features.quirks.commands import describe_limits, quirks_command, read_quirks

if TYPE_CHECKING:
    from toolyard.features.clients.operations import ChangeAnswer, ClientChangeRow, ClientList

TITLES = ("client", "installed", "connected", "limits", "file")
CLOSING = "restart the clients to apply this; undo it with: toolyard undo"
CHANGE_TITLES = ("id", "client", "what", "file", "undone")

project_option = click.option(
    "--project",
    is_flag=False,
    flag_value=".",
    metavar="[DIR]",
    help="Use the file of this project (default: the current folder), not your own.",
)


def _choice(command: Decorated) -> Decorated:
    """Add the clients, and `--all`."""
    every = click.option("--all", "every", is_flag=True, help="All clients that are installed.")
    names = click.argument("names", nargs=-1, metavar="[CLIENT]...", shell_complete=_complete)
    return names(every(command))


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from toolyard.features.clients.known import BY_NAME

    return [name for name in BY_NAME if name.startswith(incomplete)]


@click.group("clients", invoke_without_command=True)
@project_option
@json_option
@click.pass_context
def clients_command(ctx: click.Context, project: str | None) -> None:
    """List the clients on this machine, and which of them use the hub.

    Show and set their limits with: toolyard clients quirks
    """
    if ctx.invoked_subcommand is None:
        context = ctx.ensure_object(CliContext)
        limits = {row.name: describe_limits(row) for row in read_quirks(context).passports}
        rows = _client_rows(_list_clients(context, project), limits)
        context.terminal.answer({"clients": rows}, lambda: _show(context, rows))


clients_command.add_command(quirks_command)


def _list_clients(context: CliContext, project: str | None = None) -> ClientList:
    from toolyard.features.clients.operations import ClientsOfProject, list_clients

    return context.run_here(list_clients, ClientsOfProject(find_folder(project)))


def _client_rows(answer: ClientList, limits: dict[str, str]) -> list[JsonObject]:
    import msgspec

    return [
        {**msgspec.to_builtins(row), "limits": limits.get(row.client, "")} for row in answer.clients
    ]


def _show(context: CliContext, rows: list[JsonObject]) -> None:
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
@_choice
@project_option
@click.option(
    "--http", is_flag=True, help="Connect by address, with a token of its own, not by command."
)
@click.option("--agent", default="", metavar="NAME", help="Connect it as this agent.")
@click.option("--profile", default="", metavar="NAME", help="Show it what this profile selects.")
@click.option("--hub", default="", metavar="URL", help="The hub of your team; see toolyard login.")
@click.option(
    "--replace", "replaces", is_flag=True, help="Remove the servers that the hub has from its file."
)
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
    profile: str,
    hub: str,
    replaces: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Add the hub to the configuration of your clients.

    Shows the difference and asks before it writes. Everything else in the file stays as it is, and
    `toolyard undo` restores every byte.

    \b
    toolyard connect cursor codex
    toolyard connect --all --replace
    toolyard connect --all --dry-run
    toolyard connect vscode --project .
    toolyard connect cursor --hub https://yard.example.com
    """
    from toolyard.core.agentfiles import NAME, NAME_HINT
    from toolyard.features.clients.operations import ConnectClient, connect_client

    if agent and not NAME.fullmatch(agent):
        raise CommandError(f"{agent[:80]!r} cannot name an agent", NAME_HINT, Exit.USAGE)
    folder, chosen = find_folder(project), _chosen(context, names, every)
    batch = _new_batch(chosen)
    orders = {
        name: ConnectClient(
            name=name,
            http=http,
            agent=agent,
            profile=profile,
            hub=hub,
            replace=replaces,
            project=folder,
            batch=batch,
        )
        for name in chosen
    }
    change_files(
        context,
        connect_client,
        list(orders.items()),
        describe_change,
        closing=lambda _: CLOSING,
        dry_run=dry_run,
        yes=yes,
    )


@click.command("disconnect")
@_choice
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
    """Remove the hub from the configuration of your clients.

    A file that has not changed since it was connected is restored byte for byte.
    """
    from toolyard.features.clients.operations import DisconnectClient, disconnect_client

    folder, chosen = find_folder(project), _chosen(context, names, every)
    batch = _new_batch(chosen)
    orders = {name: DisconnectClient(name=name, project=folder, batch=batch) for name in chosen}
    change_files(
        context,
        disconnect_client,
        list(orders.items()),
        describe_change,
        closing=lambda _: CLOSING,
        dry_run=dry_run,
        yes=yes,
    )


@click.command("undo")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--list", "listed", is_flag=True, help="List the changes, the newest first.")
@dry_option
@yes_option
@json_option
@click.pass_obj
def undo_command(
    context: CliContext, id_: str | None, listed: bool, dry_run: bool, yes: bool
) -> None:
    """Undo the last change to a client's file, or the one you name.

    All files that one command changed are restored together. If a file has changed since, these
    changes stay, and only the hub's entry is restored.
    """
    from toolyard.features.clients.journal import last_order
    from toolyard.features.clients.operations import UndoChange, list_changes, undo_change
    from toolyard.operation import NoInput

    changes = context.run_here(list_changes, NoInput()).changes
    if listed:
        _list_past(context, changes)
        return
    clients = {change.id: change.client for change in changes}
    ids = [id_] if id_ else [change.id for change in last_order(changes)]
    orders = [(clients.get(change, change), UndoChange(id=change)) for change in ids]
    change_files(
        context,
        undo_change,
        orders,
        describe_undo,
        closing=_close_undo,
        dry_run=dry_run,
        yes=yes,
    )


def _close_undo(changes: Sequence[ChangeAnswer]) -> str:
    """Say that servers which a client has again are still in the hub as well."""
    if not any(change.replaced for change in changes):
        return "restart the clients to apply this"
    return "restart the clients to apply this; the hub keeps the servers, see: toolyard list"


def _list_past(context: CliContext, changes: Sequence[ClientChangeRow]) -> None:
    keys = ("id", "at", "client", "what", "file", "undone")
    rows = [{key: getattr(change, key) for key in keys} for change in changes]

    def show() -> None:
        if not rows:
            context.terminal.say("no client's file has been changed")
            return
        context.terminal.table(CHANGE_TITLES, [[row[key] for key in CHANGE_TITLES] for row in rows])

    context.terminal.answer({"changes": rows}, show)


def find_folder(project: str | None) -> str:
    """The folder of the project that was named; empty if none was.

    Raises:
        CommandError: There is no such folder.
    """
    if project is None:
        return ""
    path = Path(project).expanduser().resolve()
    if not path.is_dir():
        raise CommandError(f"there is no folder '{path}'", "correct the path", Exit.NOT_FOUND)
    return str(path)


def _chosen(context: CliContext, names: Sequence[str], every: bool) -> list[str]:
    if bool(names) == every:
        raise click.UsageError("name clients or give --all, not both")
    if names:
        return list(dict.fromkeys(names))
    installed = [row.client for row in _list_clients(context).clients if row.installed]
    if not installed:
        raise CommandError(
            "no client was found on this machine",
            "name one: toolyard connect cursor",
            Exit.NOT_FOUND,
        )
    return installed


def _new_batch(names: Sequence[str]) -> str:
    """One for all changes of a command, so that one undo takes all of them back."""
    import uuid

    return uuid.uuid4().hex if len(names) > 1 else ""
