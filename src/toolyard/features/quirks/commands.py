"""`clients quirks`: the abilities and limits of clients, and what you set otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option

if TYPE_CHECKING:
    from toolyard.features.quirks.operations import (
        ClientQuirksList,
        ClientQuirksRow,
        ConnectedClientRow,
    )

TITLES = (
    *("client", "lists again", "name", "tools", "result", "instructions"),
    *("revision", "connected"),
)
LIMITS = {
    "most_tools": "{} tools",
    "longest_name": "names of {}",
    "largest_result": "results of {} bytes",
    "longest_instructions": "instructions of {}",
}


@click.group("quirks", invoke_without_command=True)
@config_option
@json_option
@click.pass_context
def quirks_command(ctx: click.Context) -> None:
    """Show the abilities and limits of each client, or set them.

    A limit is marked with * if you have set it.
    """
    if ctx.invoked_subcommand is None:
        context = ctx.ensure_object(CliContext)
        quirks = read_quirks(context)
        context.terminal.answer(quirks, lambda: _show(context, quirks))


@quirks_command.command("set")
@click.argument("client")
@click.argument("entries", nargs=-1, required=True, metavar="ENTRY=VALUE...")
@config_option
@json_option
@click.pass_obj
def set_command(context: CliContext, client: str, entries: tuple[str, ...]) -> None:
    """Set quirks of a client; what you do not name stays as it is, and 0 lifts a limit.

    CLIENT is the name of a client in the list, or what any other client calls itself. ENTRY is one
    of relists (yes or no), longest_name, most_tools, largest_result (bytes), longest_instructions.

    \b
    toolyard clients quirks set codex longest_name=60
    toolyard clients quirks set my-editor relists=no most_tools=40
    """
    from toolyard.core.quirks import read_quirk
    from toolyard.features.quirks.operations import PutQuirk, put_quirk

    quirk = read_quirk(client, _entries(entries))
    context.run(put_quirk, PutQuirk.of(quirk))
    answer = {"done": "set", "client": client, **quirk.entries}
    context.terminal.answer(answer, lambda: context.terminal.say(f"set for the client '{client}'"))


@quirks_command.command("reset")
@click.argument("client")
@config_option
@json_option
@click.pass_obj
def reset_command(context: CliContext, client: str) -> None:
    """Delete everything that you set for a client."""
    from toolyard.features.quirks.operations import ClientName, reset_quirks

    context.run(reset_quirks, ClientName(client))
    answer = {"done": "reset", "client": client}
    context.terminal.answer(answer, lambda: context.terminal.say(f"reset the client '{client}'"))


def read_quirks(context: CliContext) -> ClientQuirksList:
    """The quirks of all clients."""
    from toolyard.features.quirks.operations import list_quirks
    from toolyard.operation import NoInput

    return context.run(list_quirks, NoInput())


def describe_limits(row: ClientQuirksRow) -> str:
    """The limits of a client, in few words; empty if there are none."""
    words = ["lists once"] if row.relists is False else []
    limits = ((text, getattr(row, entry)) for entry, text in LIMITS.items())
    words += [text.format(limit) for text, limit in limits if limit]
    return ", ".join(words)


def _entries(words: Sequence[str]) -> dict[str, bool | int | str]:
    entries: dict[str, bool | int | str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise click.UsageError("entries must be given as ENTRY=VALUE")
        entries[key] = _value(value.strip().lower())
    return entries


def _value(text: str) -> bool | int | str:
    if text in ("yes", "true", "no", "false"):
        return text in ("yes", "true")
    return int(text) if text.isascii() and text.isdigit() else text


def _show(context: CliContext, quirks: ClientQuirksList) -> None:
    context.terminal.table(TITLES, [_cells(row) for row in quirks.passports])
    for row in quirks.passports:
        for client in row.clients:
            if client.left_out:
                note = f"{client.left_out} tools are not listed to {row.title}"
                context.terminal.note(f"note: {note}, which takes {row.most_tools}")
    strangers = ", ".join(_connected(client) for client in quirks.strangers)
    if strangers:
        context.terminal.note(f"note: nothing is known of {strangers}")


def _cells(row: ClientQuirksRow) -> list[str]:
    values = {
        "relists": {True: "yes", False: "no", None: ""}[row.relists],
        "longest_name": str(row.longest_name or ""),
        "most_tools": str(row.most_tools or ""),
        "largest_result": str(row.largest_result or ""),
        "longest_instructions": str(row.longest_instructions or ""),
    }
    cells = [
        f"{value or 'none'}*" if entry in row.overridden else value
        for entry, value in values.items()
    ]
    connected = ", ".join(_connected(client) for client in row.clients)
    return [row.name, *cells, row.era, connected]


def _connected(client: ConnectedClientRow) -> str:
    name = " ".join(filter(None, [client.name or "a client without a name", client.version]))
    return f"{name} ({client.sessions})" if client.sessions > 1 else name
