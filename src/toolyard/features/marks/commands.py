"""`mark`: say how much harm a tool can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, json_option

if TYPE_CHECKING:
    from toolyard.features.marks.operations import MarkRow

TITLES = ("server", "tool", "tier")


@click.group("mark")
@json_option
def mark_command() -> None:
    """Say whether a tool reads, writes or destroys.

    Your mark overrides what the server says about the tool. Tokens and admissions with --tier go by
    it.
    """


@mark_command.command("set")
@click.argument("server", shell_complete=complete_servers)
@click.argument("tool")
@click.argument("tier", type=click.Choice(["read", "write", "destroy"]))
@json_option
@click.pass_obj
def set_command(context: CliContext, server: str, tool: str, tier: str) -> None:
    """Mark a tool.

    \b
    toolyard mark set git status read
    toolyard mark set files move_file destroy
    """
    from toolyard.core.tiers import Tier
    from toolyard.features.marks.operations import MarkTool, mark_tool

    answer = context.run(mark_tool, MarkTool(server, tool, Tier(tier)))
    text = f"marked '{tool}' of '{server}': {tier}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@mark_command.command("remove")
@click.argument("server", shell_complete=complete_servers)
@click.argument("tool")
@json_option
@click.pass_obj
def remove_command(context: CliContext, server: str, tool: str) -> None:
    """Remove the mark of a tool; what its server says counts again."""
    from toolyard.features.marks.operations import MarkTool, mark_tool

    answer = context.run(mark_tool, MarkTool(server, tool))
    text = f"removed the mark of '{tool}' of '{server}'"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@mark_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the marks."""
    from toolyard.features.marks.operations import list_marks
    from toolyard.operation import NoInput

    marks = context.run(list_marks, NoInput())
    context.terminal.answer(marks, lambda: _show(context, marks.marks))


def _show(context: CliContext, rows: list[MarkRow]) -> None:
    if not rows:
        context.terminal.say("no marks yet; make one with: toolyard mark set SERVER TOOL TIER")
        return
    context.terminal.table(TITLES, [[row.server, row.tool, row.tier.value] for row in rows])
