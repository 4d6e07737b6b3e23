"""`tools` and `call`: look for tools, and use one."""

from __future__ import annotations

import sys
from typing import Any

import click

from toolyard.cli.arguments import read_arguments
from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.results import call_patience, finish_call
from toolyard.console.settling import find_settled
from toolyard.console.terminal import clean

WIDTH = 100


@click.command("tools")
@click.argument("words", nargs=-1)
@click.option(
    "--server", default="", metavar="NAME", shell_complete=complete_servers, help="Of this server."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many.")
@config_option
@json_option
@click.pass_obj
def tools_command(
    context: CliContext, words: tuple[str, ...], server: str, limit: int | None
) -> None:
    """List or search the tools of all servers.

    With words, the best match comes first. Starts a hub in the background if there is none.
    """
    hub = find_settled(context)
    found = hub.tools(" ".join(words), server, limit or 0)
    context.terminal.answer(found, lambda: _show_tools(context, found))


@click.command("call")
@click.argument("server", shell_complete=complete_servers)
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--json", "text", default="", metavar="OBJECT", help="The arguments as JSON.")
@click.option("--timeout", type=click.FloatRange(0.1), metavar="S", help="Wait at most so long.")
@config_option
@click.pass_obj
def call_command(
    context: CliContext,
    server: str,
    tool: str,
    words: tuple[str, ...],
    text: str,
    timeout: float | None,
) -> None:
    """Call a tool and print its answer.

    Values are read as the tool's schema wants them; NAME=@FILE takes a file's content, a list is
    given by repeating the name. For the whole answer as JSON: toolyard --json call ...

    Starts a hub in the background if there is none.
    """
    hub = find_settled(context)
    if text == "-":
        text = sys.stdin.read()
    arguments = read_arguments(words, text, _schema(hub, server, tool))
    patience = timeout or call_patience(context)
    finish_call(context, server, tool, hub.call(server, tool, arguments, patience))


def _schema(hub: Control, server: str, tool: str) -> dict[str, Any]:
    """Give the schema of a tool's arguments; empty if the server has not said yet.

    Raises:
        CommandError: There is no such server or tool.
    """
    offered = hub.tools(server=server)["tools"]
    for each in offered:
        if tool in (each["tool"], each["name"]):
            schema = each.get("inputSchema")
            return schema if isinstance(schema, dict) else {}
    if not offered:  # it may be away just now; the hub will try, and say what is wrong
        return {}
    if hub.server(server)["held"]:  # it may be one that waits; the hub knows by which names
        return {}
    from toolyard.core.names import closest

    names = [each["tool"] for each in offered]
    near = closest(tool, names)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(names[:20])}"
    raise CommandError(f"server '{server}' has no tool '{tool}'", hint, Exit.NOT_FOUND)


def _show_tools(context: CliContext, found: dict[str, Any]) -> None:
    tools = found["tools"]
    if not tools:
        context.terminal.note("no tool was found")
        return
    rows = [[each["name"], each["server"], _first_line(each)] for each in tools]
    context.terminal.table(("tool", "server", "description"), rows)
    if found["total"] > len(tools):
        context.terminal.note(f"{found['total'] - len(tools)} more; see --limit")


def _first_line(tool: dict[str, Any]) -> str:
    text = str(tool.get("description") or tool.get("title") or "").strip()
    line = clean(text.split("\n", 1)[0])
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
