"""`scan`: servers that run on this machine or announced themselves, and nobody wrote down yet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.announce import Entry
    from toolyard.core.endpoint import Endpoint, EndpointEntry
    from toolyard.features.scan.sweep import ScannedServer

TITLES = ("name", "port", "process", "era", "server", "tools", "address")


@click.group("scan", invoke_without_command=True)
@click.option(
    "--port", "ports", multiple=True, type=click.IntRange(1, 65535), help="Look at this one only."
)
@json_option
@click.pass_context
def scan_command(ctx: click.Context, ports: tuple[int, ...]) -> None:
    """Find MCP servers that run on this machine, and take them into the list.

    Looks at every loopback port on which a process of yours listens, on the paths /mcp, / and
    /sse. Nothing is changed.

    \b
    toolyard scan
    toolyard scan --port 8000
    toolyard scan adopt weather
    """
    if ctx.invoked_subcommand is not None:
        return
    from toolyard.features.scan.sweep import scanned_row

    context: CliContext = ctx.obj
    servers = _sweep(context, ports)
    answer = {"servers": [scanned_row(server) for server in servers]}
    context.terminal.answer(answer, lambda: _show(context, servers))


@scan_command.command("adopt")
@click.argument("name")
@click.option("--as", "alias", metavar="NAME", help="What to call it in the list.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask about what an announcement says.")
@config_option
@json_option
@click.pass_obj
def adopt_command(
    context: CliContext, name: str, alias: str | None, force: bool, yes: bool
) -> None:
    """Take a server that was found into the list.

    NAME is what `toolyard scan` calls it, or its port; such a server is recognised again by its
    executable and by what it calls itself, so it may change its port. Or NAME is what
    `toolyard scan announced` calls it; then what would be started or reached is shown first.
    """
    from toolyard.core.endpoint import write_endpoint
    from toolyard.features.servers.writing import (
        note_alias,
        servers_file,
        servers_place,
        write_server,
    )

    is_port = name.isascii() and name.isdigit()
    announced = None if is_port else _find_announced(name)
    if announced is not None:
        written, entry, place = alias or name, write_endpoint(announced), _place(announced)
        _confirm(context, written, place, yes)
    else:
        server = _choose(_sweep(context, (int(name),) if is_port else ()), name)
        written, entry, place = alias or server.name, _entry(server), server.url.url
    hint = "use --as to call it otherwise, or --force to replace that one"
    ordered = write_server(context, written, entry, force=force, hint=hint)
    answer = {"done": "adopted", "server": written, "url": place, "file": servers_file(context)}
    answer["alias"] = ordered.alias
    text = f"adopted '{written}' at {place} in {servers_place(context)}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
    note_alias(context, written, ordered.alias)


@scan_command.command("announced")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="Look only into this file.",
    metavar="FILE",
)
@json_option
@click.pass_obj
def announced_command(context: CliContext, path: Path | None) -> None:
    """List the servers that announced themselves.

    Looks into the files of this project, from the working directory up to the root of its
    repository, and into the user's own.
    """
    from toolyard.announce import Announcements, project_paths, user_path

    files = [path] if path is not None else [*project_paths(Path.cwd()), user_path()]
    servers: dict[str, Entry] = {}
    for file in dict.fromkeys(files):
        for server, entry in Announcements(file).list_servers().items():
            servers.setdefault(server, entry)
    context.terminal.answer({"servers": servers}, lambda: _show_announced(context, servers))


def _find_announced(name: str) -> Endpoint | None:
    """The endpoint of a server that is announced in this project or by this user."""
    from toolyard.announce import Announcements, project_paths, user_path

    for file in (*project_paths(Path.cwd()), user_path()):
        for key, announcement in Announcements(file).read().servers.items():
            if name in (key, announcement.get("name")):
                return _from_announcement(announcement)
    return None


def _from_announcement(announcement: Entry) -> Endpoint | None:
    """The first way to reach it that we speak."""
    from toolyard.core.endpoint import Command, Url
    from toolyard.features.scan.announced import transports_of

    for transport in transports_of(announcement):
        kind, url, command = (transport.get(key) for key in ("type", "url", "command"))
        if kind in ("http", "sse") and isinstance(url, str):
            return Url(url, kind)
        if kind == "stdio" and isinstance(command, list) and command:
            return Command(tuple(map(str, command)))
    return None


def _place(endpoint: Endpoint) -> str:
    import shlex

    from toolyard.core.endpoint import Url

    return endpoint.url if isinstance(endpoint, Url) else shlex.join(endpoint.argv)


def _confirm(context: CliContext, name: str, place: str, yes: bool) -> None:
    """Show a person what somebody else's file says before it is used."""
    from toolyard.console.terminal import clean

    if yes:
        return
    context.terminal.note(f"'{clean(name)}' was announced as: {clean(place)}")
    if context.terminal.as_json or not sys.stdin.isatty():
        text = "cannot ask whether to adopt what was announced (no terminal)"
        raise CommandError(text, "check it, then add --yes", Exit.REFUSED)
    click.confirm("Adopt it?", abort=True, err=True)


def _sweep(context: CliContext, ports: tuple[int, ...]) -> tuple[ScannedServer, ...]:
    import asyncio

    from toolyard.features.scan.sweep import sweep

    state = context.run_dir.read()
    ours = frozenset({state.port} if state is not None else ())
    return asyncio.run(sweep(frozenset(ports), ours))


def _choose(servers: tuple[ScannedServer, ...], name: str) -> ScannedServer:
    for server in servers:
        if name in (server.name, server.peer.name, str(server.port)):
            return server
    names = ", ".join(server.name for server in servers)
    hint = f"there are: {names}" if names else "none was found; is it running?"
    raise CommandError(f"no running server '{name}' was found", hint, Exit.NOT_FOUND)


def _entry(server: ScannedServer) -> EndpointEntry:
    from toolyard.core.endpoint import write_endpoint

    entry = write_endpoint(server.url)
    if server.identity.executable:
        entry["found"] = {
            "executable": server.identity.executable,
            "name": server.identity.name,
        }
    return entry


def _show(context: CliContext, servers: tuple[ScannedServer, ...]) -> None:
    if not servers:
        context.terminal.say("no MCP server was found on a port of yours")
        return
    rows = [
        [
            server.name,
            str(server.port),
            f"{server.holder.name} ({server.holder.pid})" if server.holder.pid else "-",
            server.peer.era,
            f"{server.peer.name} {server.peer.release}",
            str(len(server.tools)),
            server.url.url,
        ]
        for server in servers
    ]
    context.terminal.table(TITLES, rows)
    context.terminal.note("take one into the list with: toolyard scan adopt NAME")


def _show_announced(context: CliContext, servers: dict[str, Entry]) -> None:
    from toolyard.console.terminal import clean

    say = context.terminal.say
    if not servers:
        say("No active MCP servers found")
        return
    say(f"📡 Available MCP Servers ({len(servers)}):")
    for server, entry in servers.items():
        http = entry.get("http")
        say()
        say(f"  • {clean(str(entry.get('name', server)))} (PID: {entry.get('pid', '?')})")
        if isinstance(http, dict) and http.get("enabled"):
            say(f"    HTTP: {clean(str(http.get('url', '?')))}")
        say(f"    Started: {clean(str(entry.get('started_at', '?')))}")
        say(f"    CWD: {clean(str(entry.get('cwd', '?')))}")
