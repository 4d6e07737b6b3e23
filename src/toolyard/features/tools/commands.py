"""`tools` and `call`: look for tools, look at one, and use it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.console.terminal import clean
from toolyard.features.tools.completion import complete_names, complete_targets, complete_words

if TYPE_CHECKING:
    from toolyard.features.tools.model import ToolCard
    from toolyard.features.tools.operations import ToolList

WIDTH = 100
TITLES = ("tool", "server", "description")
PARAMETER_TITLES = ("parameter", "type", "required", "default", "description")


@click.command("tools")
@click.argument("words", nargs=-1, metavar="[NAME | QUERY...]", shell_complete=complete_names)
@click.option(
    "--server",
    default="",
    metavar="NAME",
    shell_complete=complete_servers,
    help="Only tools of this server.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Show at most N.")
@config_option
@json_option
@click.pass_obj
def tools_command(
    context: CliContext, words: tuple[str, ...], server: str, limit: int | None
) -> None:
    """List or search the tools of all servers, or show one.

    A tool's full name, or a name that only one tool has, shows that tool: its description, its
    parameters and how to call it. Other words are searched for; the best match comes first.
    Starts a hub in the background if there is none.

    \b
    toolyard tools
    toolyard tools read a file
    toolyard tools files__read_file
    """
    from toolyard.console.settling import find_settled
    from toolyard.features.tools.model import read_card
    from toolyard.features.tools.operations import list_tools
    from toolyard.features.tools.own_tools import ToolsQuery

    hub = find_settled(context)
    if len(words) == 1 and words[0]:
        page = hub.run(list_tools, ToolsQuery(server=server, name=words[0]))
        if page.total == 1:
            card = read_card(page.tools[0])
            context.terminal.answer(page, lambda: _show_card(context, card))
            return
    page = hub.run(list_tools, ToolsQuery(" ".join(words), server, limit or 0))
    context.terminal.answer(page, lambda: _show_page(context, page))


@click.command("call")
@click.argument("name", metavar="TOOL", shell_complete=complete_targets)
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...", shell_complete=complete_words)
@click.option(
    "--arguments", "text", default="", metavar="OBJECT", help="The arguments as JSON; - for stdin."
)
@click.option("--input", "saved", default="", metavar="NAME", help="Arguments saved on the page.")
@click.option("--timeout", type=click.FloatRange(0.1), metavar="S", help="Wait at most this long.")
@config_option
@json_option
@click.pass_obj
def call_command(
    context: CliContext,
    name: str,
    words: tuple[str, ...],
    text: str,
    saved: str,
    timeout: float | None,
) -> None:
    """Call a tool and print its answer.

    TOOL is a tool's full name, or its server and its name there. Values are read as the tool's
    schema wants them; NAME=@FILE takes a file's content, a list is given by repeating the name.
    Starts a hub in the background if there is none.

    \b
    toolyard call files__read_file path=notes.txt
    toolyard call files read_file path=notes.txt
    """
    from toolyard.console.results import call_patience, finish_call
    from toolyard.console.settling import find_settled
    from toolyard.features.tools.arguments import read_arguments
    from toolyard.features.tools.finding import find_tool
    from toolyard.features.tools.operations import call_tool
    from toolyard.features.tools.own_tools import ToolCall

    hub = find_settled(context)
    if text == "-":
        text = sys.stdin.read()
    card, words = find_tool(hub, name, words)
    arguments = read_arguments(words, text, card.schema)
    order = ToolCall(card.server, card.tool, arguments, saved)
    result = hub.run(call_tool, order, timeout or call_patience(context))
    finish_call(context, card.server, card.tool, json.loads(bytes(result)))


def _show_page(context: CliContext, page: ToolList) -> None:
    from toolyard.features.tools.model import read_card

    if not page.tools:
        context.terminal.note("no tool was found")
        return
    cards = [read_card(tool) for tool in page.tools]
    rows = [[card.name, card.server, _first_line(card)] for card in cards]
    context.terminal.table(TITLES, rows)
    if page.total > len(page.tools):
        context.terminal.note(f"{page.total - len(page.tools)} more; see --limit")


def _first_line(card: ToolCard) -> str:
    line = clean((card.description or card.title).split("\n", 1)[0])
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _show_card(context: CliContext, card: ToolCard) -> None:
    from toolyard.features.tools.model import example, parameters

    terminal = context.terminal
    terminal.say(card.name)
    if card.description or card.title:
        terminal.say(card.description or card.title)
    terminal.say()
    rows = [
        [row.name, row.type, "yes" if row.is_required else "no", row.default, row.description]
        for row in parameters(card.schema)
    ]
    if rows:
        terminal.table(PARAMETER_TITLES, rows)
    else:
        terminal.say("It takes no parameters.")
    terminal.say()
    terminal.say(f"Call it: {example(card)}")
