"""`passports`: what is known of clients, and what you say otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.passport import Override
    from toolyard.records.document import DocumentRecords

LIMITS = ("longest_name", "most_tools", "largest_result", "longest_instructions")
TITLES = (
    *("client", "lists again", "name", "tools", "result", "instructions"),
    *("revision", "there now"),
)
Row = dict[str, Any]


@click.group("passports", invoke_without_command=True)
@config_option
@json_option
@click.pass_context
def passports_command(ctx: click.Context) -> None:
    """Show what each client can do and cannot, or say otherwise.

    A limit is marked with * if you have set it.
    """
    if ctx.invoked_subcommand is None:
        context = ctx.ensure_object(CliContext)
        hub = _hub(context)
        found = hub.passports() if hub else {"passports": _from_file(context), "strangers": []}
        context.terminal.answer(found, lambda: _show(context, found))


@passports_command.command("set")
@click.argument("client")
@click.argument("entries", nargs=-1, required=True, metavar="ENTRY=VALUE...")
@config_option
@json_option
@click.pass_obj
def set_command(context: CliContext, client: str, entries: tuple[str, ...]) -> None:
    """Say otherwise of a client; what is not named stays as it is, 0 lifts a limit.

    CLIENT is the name of a passport, or what a client without one calls itself. ENTRY is one of
    relists (yes or no), longest_name, most_tools, largest_result (bytes), longest_instructions.

    \b
    toolyard passports set codex longest_name=60
    toolyard passports set my-editor relists=no most_tools=40
    """
    from toolyard.core.passport import read_override
    from toolyard.stores.passports import put_passport

    override = read_override(client, _entries(entries))
    hub = _hub(context)
    if hub:
        hub.put_passport(client, override.said)
    else:
        put_passport(_records(context), override)
    answer = {"done": "set", "client": client, **override.said}
    context.terminal.answer(answer, lambda: context.terminal.say(f"set for the client '{client}'"))


@passports_command.command("reset")
@click.argument("client")
@config_option
@json_option
@click.pass_obj
def reset_command(context: CliContext, client: str) -> None:
    """Take back all that you have said of a client."""
    from toolyard.stores.passports import remove_passport

    hub = _hub(context)
    if hub:
        hub.reset_passport(client)
    else:
        remove_passport(_records(context), client)
    answer = {"done": "reset", "client": client}
    context.terminal.answer(answer, lambda: context.terminal.say(f"reset the client '{client}'"))


def limits_of(context: CliContext, name: str) -> str:
    """What a client cannot do, in few words; empty if it can all or nobody knows."""
    row = next((each for each in _from_file(context) if each["name"] == name), None)
    if row is None:
        return ""
    said = ["lists once"] if row["relists"] is False else []
    words = {
        "most_tools": "{} tools",
        "longest_name": "names of {}",
        "largest_result": "results of {} bytes",
        "longest_instructions": "instructions of {}",
    }
    said += [text.format(row[key]) for key, text in words.items() if row[key]]
    return ", ".join(said)


def _hub(context: CliContext) -> Control | None:
    return None if context.told_config else context.find_hub()


def _records(context: CliContext) -> DocumentRecords[Override]:
    from toolyard.stores.passports import FILE, open_passports

    return open_passports(context.settings.config_file.parent / FILE)


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


def _from_file(context: CliContext) -> list[Row]:
    from dataclasses import asdict

    from toolyard.core.known_clients import passports

    kept = _records(context).read()
    for problem in kept.problems:
        context.terminal.note(f"note: {problem.text}")
    said = kept.values
    return [
        {
            **asdict(each),
            "overridden": list(said[each.name].said) if each.name in said else [],
            "clients": [],
        }
        for each in passports(said)
    ]


def _show(context: CliContext, found: Row) -> None:
    context.terminal.table(TITLES, [_cells(row) for row in found["passports"]])
    for row in found["passports"]:
        for client in row["clients"]:
            if client["left_out"]:
                note = f"{client['left_out']} tools are not listed to {row['title']}"
                context.terminal.note(f"note: {note}, which takes {row['most_tools']}")
    strangers = ", ".join(_client(client) for client in found["strangers"])
    if strangers:
        context.terminal.note(f"note: nothing is known of {strangers}")


def _cells(row: Row) -> list[str]:
    relists = {True: "yes", False: "no", None: ""}[row["relists"]]
    limits = [str(row[key] or "") for key in LIMITS]
    cells = []
    for key, cell in zip(("relists", *LIMITS), (relists, *limits), strict=True):
        cells.append(f"{cell or 'none'}*" if key in row["overridden"] else cell)
    there = ", ".join(_client(client) for client in row["clients"])
    return [row["name"], *cells, row["era"], there]


def _client(client: Row) -> str:
    name = " ".join(filter(None, [client["name"] or "a client without a name", client["version"]]))
    return f"{name} ({client['sessions']})" if client["sessions"] > 1 else name
