"""Finds the tool that a command line means."""

from __future__ import annotations

import shlex

from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.names import closest
from toolyard.features.tools.model import ToolCard, read_card
from toolyard.features.tools.operations import NamesQuery, list_names, list_tools
from toolyard.features.tools.own_tools import ToolsQuery

Words = tuple[str, ...]


def find_tool(hub: Control, name: str, words: Words) -> tuple[ToolCard, Words]:
    """Find a tool by its full name, or by its server and the first word; return the words left.

    Raises:
        CommandError: There is no such server or tool, or it waits for approval; or the name is
            that of a tool, and the word after it is no argument.
    """
    if not words or "=" in words[0]:
        return _by_name(hub, name), words
    try:
        return _at_server(hub, name, words[0]), words[1:]
    except CommandError as error:
        if error.exit is Exit.NOT_FOUND:
            tools = hub.run(list_tools, ToolsQuery(name=name))
            if tools.total == 1:
                raise _no_argument(read_card(tools.tools[0]), words[0]) from error
        raise


def _no_argument(card: ToolCard, word: str) -> CommandError:
    """The error for a word without a name after a tool's name."""
    parameter = next(iter(card.schema.get("properties") or ()), "")
    hint = f"'{card.name}' takes no arguments"
    if parameter:
        hint = f"run: toolyard call {card.name} {shlex.quote(f'{parameter}={word}')}"
    return CommandError(f"'{word}' is no argument; arguments are name=value", hint, Exit.USAGE)


def _at_server(hub: Control, server: str, tool: str) -> ToolCard:
    """Find a tool at its server; without a schema if the server has not said yet."""
    page = hub.run(list_tools, ToolsQuery(server=server, name=tool))
    if page.tools:
        return read_card(page.tools[0])
    names = hub.run(list_names, NamesQuery(server=server)).names
    if not names:  # it may be away just now; the hub will try, and say what is wrong
        return ToolCard(tool, server, tool, "", "", {})
    near = closest(tool, names)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(names[:20])}"
    raise CommandError(f"server '{server}' has no tool '{tool}'", hint, Exit.NOT_FOUND)


def _by_name(hub: Control, name: str) -> ToolCard:
    page = hub.run(list_tools, ToolsQuery(name=name))
    if page.total == 1:
        return read_card(page.tools[0])
    if page.total:
        names = ", ".join(read_card(tool).name for tool in page.tools[:20])
        text = f"{page.total} tools are called '{name}'"
        raise CommandError(text, f"name one of them: {names}", Exit.NOT_FOUND)
    near = closest(name, hub.run(list_names, NamesQuery()).names)
    hint = f"did you mean {', '.join(near)}?" if near else "see: toolyard tools"
    raise CommandError(f"there is no tool '{name}'", hint, Exit.NOT_FOUND)
