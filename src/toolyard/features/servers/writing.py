"""Writes servers for commands, with a running hub or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.starting import follow_start, started, tell_start
from toolyard.core.names import own_alias
from toolyard.features.servers.operations import (
    AddServer,
    ChangeServer,
    ServerAlias,
    add_server,
    change_server,
    full_name,
    list_servers,
    refresh_server,
)
from toolyard.features.servers.reading import SOURCE
from toolyard.operation import NoInput

if TYPE_CHECKING:
    from toolyard.core.rows import ServerRow
    from toolyard.features.servers.operations import OrderedServer
    from toolyard.operation import Ordered


def write_server(
    context: CliContext, name: str, entry: Mapping[str, Any], *, force: bool, hint: str
) -> OrderedServer:
    """Write a new server down, or over one of that name if `force`.

    Raises:
        CommandError: There is one of that name; `hint` says what to do then.
        ConfigError: It cannot be used.
    """
    if not force:
        refuse_written(context, name, hint)
    return put_server(context, name, entry, force=force)


def put_server(
    context: CliContext, name: str, entry: Mapping[str, Any], *, force: bool
) -> OrderedServer:
    """Write a server down whose name is free, or over one of that name if `force`.

    Raises:
        ConfigError: It cannot be used.
    """
    if not force or not _is_written(context, name):
        return context.run(add_server, AddServer({"name": name, "entry": dict(entry)}))
    # Where the old one ran, and for whom, is nothing that the new one has to do with.
    anew = {"executor": None, "project": None, "exclusive": None, "login": None, **entry}
    return context.run(change_server, ChangeServer(full_name(name), anew))


def refuse_written(context: CliContext, name: str, hint: str) -> None:
    """Refuse a name that a server of the file has.

    Raises:
        CommandError: One has it; `hint` says what to do then.
    """
    if _is_written(context, name):
        raise CommandError(f"there is a server '{name}' already", hint, Exit.REFUSED)


def tell_written(context: CliContext, what: str, name: str, ordered: Ordered) -> None:
    """Say what was done in the servers file, and whether a running hub shows it."""
    place = servers_place(context)
    answer = {"done": what, "server": name, "file": servers_file(context)}
    context.terminal.answer(answer, lambda: context.terminal.say(f"{what} '{name}' in {place}"))
    _note_unnoticed(context, ordered)


def tell_added(context: CliContext, name: str, ordered: OrderedServer, *, wait: bool) -> None:
    """Say that a server was added; unless told otherwise, wait until it is ready or fails."""
    if not context.terminal.as_json:
        context.terminal.say(f"added '{name}' in {servers_place(context)}")
    note_alias(context, name, ordered.alias)
    _note_unnoticed(context, ordered)
    row = follow_added(context, full_name(name)) if wait else None
    answer = {"done": "added", "server": name, "file": servers_file(context), **started(row)}
    answer["alias"] = ordered.alias
    context.terminal.answer(answer, lambda: None)
    tell_start(context, row)


def note_alias(context: CliContext, name: str, alias: str) -> None:
    """Say so if a server has another name in the yard, because its own is not free."""
    if alias not in ("", own_alias(name)):
        context.terminal.note(
            f"note: it is called '{alias}' in the yard, where '{name}' is not free"
        )


def _note_unnoticed(context: CliContext, ordered: Ordered) -> None:
    """Say so if a running hub does not show what was written."""
    if not ordered.noticed and context.hub_of_config:
        context.terminal.note(
            "note: the running hub does not show it yet; check with: toolyard list"
        )


def follow_added(context: CliContext, server: str) -> ServerRow | None:
    """Wait until a server that was just added, `name@source`, is ready or fails."""
    order = ServerAlias(server)
    return follow_start(context, server, lambda: context.run(refresh_server, order))


def servers_path(context: CliContext) -> str:
    """Return the path of the servers file: that of the running hub, unless another was named."""
    settings = context.hub_settings if context.hub_of_config else context.settings
    return str(settings.config_file)


def servers_file(context: CliContext) -> str | None:
    """Return the path of the servers file; None where hubs share a database instead."""
    return None if context.settings.database else servers_path(context)


def servers_place(context: CliContext) -> str:
    """Return the words for the place where servers are written down."""
    return servers_file(context) or "the shared database"


def _is_written(context: CliContext, name: str) -> bool:
    servers = context.run(list_servers, NoInput()).servers
    return any((server.name, server.source) == (name, SOURCE) for server in servers)
