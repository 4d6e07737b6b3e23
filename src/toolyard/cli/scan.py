"""`scan` and `adopt`: servers that run on this machine and that nobody wrote down yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from toolyard.cli.control import CommandError
from toolyard.cli.desk import Desk, config_option, json_option
from toolyard.cli.exits import Exit

if TYPE_CHECKING:
    from toolyard.links.sweep import Found

TITLES = ("name", "port", "process", "era", "server", "tools", "address")


@click.command("scan")
@click.option(
    "--port", "ports", multiple=True, type=click.IntRange(1, 65535), help="Look at this one only."
)
@json_option
@click.pass_obj
def scan_command(desk: Desk, ports: tuple[int, ...]) -> None:
    """Find MCP servers that run on this machine.

    Looks at every loopback port on which a process of yours listens, on the paths /mcp, / and
    /sse. Nothing is changed; `toolyard adopt` takes one into the list.
    """
    found = _sweep(desk, ports)
    answer = {"servers": [_described(each) for each in found]}
    desk.terminal.answer(answer, lambda: _show(desk, found))


@click.command("adopt")
@click.argument("name")
@click.option("--as", "alias", metavar="NAME", help="What to call it in the list.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@config_option
@json_option
@click.pass_obj
def adopt_command(desk: Desk, name: str, alias: str | None, force: bool) -> None:
    """Take a server that was found into the list.

    NAME is what `toolyard scan` calls it, or its port. It is recognised again by its executable
    and by what it calls itself, so it may change its port.
    """
    is_port = name.isascii() and name.isdigit()
    server = _choose(_sweep(desk, (int(name),) if is_port else ()), name)
    written = alias or server.name
    file = desk.servers_file
    if not force and any(each.id.name == written for each in file.load().servers):
        hint = "use --as to call it otherwise, or --force to replace that one"
        raise CommandError(f"there is a server '{written}' already", hint, Exit.REFUSED)
    file.put(written, _entry(server))
    path = str(desk.settings.config_file)
    answer = {"done": "adopted", "server": written, "url": server.url.url, "file": path}
    said = f"adopted '{written}' at {server.url.url} in {path}"
    desk.terminal.answer(answer, lambda: desk.terminal.say(said))


def _sweep(desk: Desk, ports: tuple[int, ...]) -> tuple[Found, ...]:
    from toolyard.links.sweep import sweep

    state = desk.run_dir.read()
    ours = frozenset({state.port} if state is not None else ())
    return asyncio.run(sweep(frozenset(ports), ours))


def _choose(found: tuple[Found, ...], name: str) -> Found:
    for each in found:
        if name in (each.name, each.peer.name, str(each.port)):
            return each
    names = ", ".join(each.name for each in found)
    hint = f"there are: {names}" if names else "none was found; is it running?"
    raise CommandError(f"no running server '{name}' was found", hint, Exit.NOT_FOUND)


def _entry(server: Found) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": server.url.kind, "url": server.url.url}
    if server.identity.executable:
        entry["found"] = {
            "executable": server.identity.executable,
            "name": server.identity.name,
        }
    return entry


def _described(server: Found) -> dict[str, Any]:
    return {
        "name": server.name,
        "port": server.port,
        "url": server.url.url,
        "transport": server.url.kind,
        "pid": server.holder.pid or None,
        "executable": server.holder.executable or None,
        "era": server.peer.era,
        "protocol": server.peer.version,
        "server": server.peer.name,
        "version": server.peer.release,
        "tools": list(server.tools),
    }


def _show(desk: Desk, found: tuple[Found, ...]) -> None:
    if not found:
        desk.terminal.say("no MCP server was found on a port of yours")
        return
    rows = [
        [
            each.name,
            str(each.port),
            f"{each.holder.name} ({each.holder.pid})" if each.holder.pid else "-",
            each.peer.era,
            f"{each.peer.name} {each.peer.release}",
            str(len(each.tools)),
            each.url.url,
        ]
        for each in found
    ]
    desk.terminal.table(TITLES, rows)
    desk.terminal.note("take one into the list with: toolyard adopt NAME")
