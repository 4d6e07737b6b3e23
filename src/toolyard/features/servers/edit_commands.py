"""`edit`: the entry of one server, in the user's own editor."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.features.servers.commands import name_argument

if TYPE_CHECKING:
    from toolyard.operation import Ordered


@click.command("edit")
@name_argument
@config_option
@json_option
@click.pass_obj
def edit_command(context: CliContext, name: str) -> None:
    """Edit a server's entry in your editor.

    Opens the entry as JSON in $VISUAL or $EDITOR. It is checked and written when you save and quit;
    comments in the file stay. If there is a mistake, you can edit it again.
    """
    from toolyard.features.servers.writing import tell_written

    entry = _read(context, name)
    text = json.dumps(entry, indent=2, ensure_ascii=False)
    while True:
        edited = click.edit(text, extension=".json")
        text = text if edited is None else edited
        try:
            ordered = _write(context, name, entry, text)
        except (ConfigError, CommandError) as error:
            _offer_again(context, error)
            continue
        if ordered is None:
            answer = {"done": "unchanged", "server": name}
            context.terminal.answer(answer, lambda: context.terminal.say("nothing was changed"))
        else:
            tell_written(context, "edited", name, ordered)
        return


def _read(context: CliContext, name: str) -> JsonObject:
    """The entry as it stands in the file: only there are its secrets, and no API tells them."""
    from toolyard.features.servers.store import open_servers
    from toolyard.features.servers.writing import servers_path

    return open_servers(context.places, Path(servers_path(context))).entry(name)


def _write(context: CliContext, name: str, before: JsonObject, text: str) -> Ordered | None:
    """Write what the editor left; nothing, if it says the same as before.

    Raises:
        ConfigError: It cannot be used.
        CommandError: The hub refused it.
    """
    from toolyard.core.server_entries import read_entry
    from toolyard.features.servers.operations import ChangeServer, change_server, full_name
    from toolyard.records.jsonc import parse

    root = parse(text.encode()).root
    entry: Any = root.plain() if root is not None else None
    if json.dumps(entry, sort_keys=True) == json.dumps(before, sort_keys=True):
        return None
    read_entry(entry)
    removed = {key: None for key in before if key not in entry}
    return context.run(change_server, ChangeServer(full_name(name), {**removed, **entry}))


def _offer_again(context: CliContext, error: ConfigError | CommandError) -> None:
    """Show a mistake and ask whether to go on; where nobody can answer, or wants to, it stands."""
    is_mistake = isinstance(error, ConfigError) or error.exit in (Exit.CONFIG, Exit.REFUSED)
    if not is_mistake or context.terminal.as_json or not sys.stdin.isatty():
        raise error
    context.terminal.note(f"this cannot be used: {error}")
    if error.hint:
        context.terminal.note(f"hint: {error.hint}")
    if not click.confirm("Edit it again?", default=True, err=True):
        raise error
