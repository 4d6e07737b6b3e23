"""`shareable`: try whether sessions can share a process of a server."""

from __future__ import annotations

import json
from typing import Any

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.terminal import clean

PATIENCE = 600.0
SAYS = {
    "shareable": "sessions can share one process of it",
    "not": "sessions must not share a process of it",
    "unknown": "whether sessions can share a process of it is not certain",
}


@click.command("shareable")
@click.argument("name", shell_complete=complete_servers)
@click.option(
    "--call",
    "calls",
    multiple=True,
    metavar="TOOL=JSON",
    help="A tool that may be called though it may change something, with its arguments.",
)
@json_option
@click.pass_obj
def shareable_command(context: CliContext, name: str, calls: tuple[str, ...]) -> None:
    """Try whether sessions can share one process of a server.

    Two sessions ask it the same, over one process and over two. Only what it calls read-only and
    takes no arguments is asked, unless you name more. What is found is kept, and used wherever the
    mode of a server is 'auto'.

    \b
    toolyard shareable notes --call 'add={"text": "a trial"}'
    """
    found = context.start_hub().try_sharing(name, _calls(calls), PATIENCE)
    context.terminal.answer(found, lambda: _show(context, found))


def _calls(words: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        tool, _, text = word.partition("=")
        try:
            given = json.loads(text or "{}")
        except ValueError as error:
            raise click.UsageError(f"the arguments of {tool!r} are no JSON: {error}") from None
        if not tool or not isinstance(given, dict):
            raise click.UsageError("calls must be given as TOOL=JSON, with an object")
        found[tool] = given
    return found


def _show(context: CliContext, found: dict[str, Any]) -> None:
    say = context.terminal.say
    colour = {"shareable": "green", "not": "red"}.get(found["verdict"], "yellow")
    say(f"{context.terminal.paint(found['verdict'], colour)}: {SAYS[found['verdict']]}")
    for reason in found["reasons"]:
        say(f"  {clean(reason)}")
    if found["unattributed"]:
        say(f"  {found['unattributed']} of its messages could not be attributed to a session")
    if found["greeted_again"]:
        say(f"  a second greeting over the same pipe was {clean(found['greeted_again'])}")
