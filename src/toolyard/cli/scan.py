"""`scan` and `adopt`: servers that run on this machine and that nobody wrote down yet."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.hub.sweep import Found

TITLES = ("name", "port", "process", "era", "server", "tools", "address")


@click.command("scan")
@click.option(
    "--port", "ports", multiple=True, type=click.IntRange(1, 65535), help="Look at this one only."
)
@json_option
@click.pass_obj
def scan_command(context: CliContext, ports: tuple[int, ...]) -> None:
    """Find MCP servers that run on this machine.

    Looks at every loopback port on which a process of yours listens, on the paths /mcp, / and
    /sse. Nothing is changed; `toolyard adopt` takes one into the list.
    """
    found = _sweep(context, ports)
    answer = {"servers": [_described(each) for each in found]}
    context.terminal.answer(answer, lambda: _show(context, found))


@click.command("adopt")
@click.argument("name")
@click.option("--as", "alias", metavar="NAME", help="What to call it in the list.")
@click.option("--force", is_flag=True, help="Replace the server of that name.")
@click.option("--yes", is_flag=True, help="Do not ask about what an announcement says.")
@config_option
@json_option
@click.pass_obj
def adopt_command(
    context: CliContext, name: str, alias: str | None, force: bool, yes: bool
) -> None:
    """Take a server that was found into the list.

    NAME is what `toolyard scan` calls it, or its port; such a server is recognised again by its
    executable and by what it calls itself, so it may change its port. Or NAME is what
    `toolyard announced` calls it; then what would be started or reached is shown first.
    """
    is_port = name.isascii() and name.isdigit()
    announced = None if is_port else _find_announced(name)
    if announced is not None:
        written, entry, place = alias or name, announced, _place(announced)
        _confirm(context, written, place, yes)
    else:
        server = _choose(_sweep(context, (int(name),) if is_port else ()), name)
        written, entry, place = alias or server.name, _entry(server), server.url.url
    file = context.servers_file
    if not force and any(each.id.name == written for each in file.load().servers):
        hint = "use --as to call it otherwise, or --force to replace that one"
        raise CommandError(f"there is a server '{written}' already", hint, Exit.REFUSED)
    file.put(written, entry)
    path = str(context.settings.config_file)
    answer = {"done": "adopted", "server": written, "url": place, "file": path}
    said = f"adopted '{written}' at {place} in {path}"
    context.terminal.answer(answer, lambda: context.terminal.say(said))


def _find_announced(name: str) -> dict[str, Any] | None:
    """The entry for a server that is announced in this project or by this user."""
    from pathlib import Path

    from toolyard.announce import Announcements, project_paths, user_path

    for file in (*project_paths(Path.cwd()), user_path()):
        for key, said in Announcements(file).read().servers.items():
            if name in (key, said.get("name")):
                return _from_announcement(said)
    return None


def _from_announcement(said: dict[str, Any]) -> dict[str, Any] | None:
    """The first way to reach it that we speak, as an entry of the servers file."""
    http, more = said.get("http"), said.get("transports")
    ways = [{"type": "http", **http}] if isinstance(http, dict) and http.get("enabled") else []
    ways += [way for way in (more if isinstance(more, list) else []) if isinstance(way, dict)]
    for way in ways:
        command = way.get("command")
        if way.get("type") in ("http", "sse") and isinstance(way.get("url"), str):
            return {"type": way["type"], "url": way["url"]}
        if way.get("type") == "stdio" and isinstance(command, list) and command:
            return {"command": str(command[0]), "args": [str(word) for word in command[1:]]}
    return None


def _place(entry: dict[str, Any]) -> str:
    import shlex

    return str(entry["url"]) if "url" in entry else shlex.join([entry["command"], *entry["args"]])


def _confirm(context: CliContext, name: str, place: str, yes: bool) -> None:
    """What a file of somebody else's says is looked at by a person before it is used."""
    from toolyard.console.terminal import clean

    if yes:
        return
    context.terminal.note(f"'{clean(name)}' was announced as: {clean(place)}")
    if context.terminal.as_json or not sys.stdin.isatty():
        hint = "look at it, then say --yes"
        raise CommandError("an announcement is adopted only if you say so", hint, Exit.REFUSED)
    click.confirm("Adopt it?", abort=True, err=True)


def _sweep(context: CliContext, ports: tuple[int, ...]) -> tuple[Found, ...]:
    from toolyard.hub.sweep import sweep

    state = context.run_dir.read()
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


def _show(context: CliContext, found: tuple[Found, ...]) -> None:
    if not found:
        context.terminal.say("no MCP server was found on a port of yours")
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
    context.terminal.table(TITLES, rows)
    context.terminal.note("take one into the list with: toolyard adopt NAME")
