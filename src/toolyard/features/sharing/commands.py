"""`server probe`: try whether sessions can share a process of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, json_option
from toolyard.console.terminal import Terminal, clean
from toolyard.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from toolyard.features.sharing.operations import EvidenceRow

PATIENCE = 600.0
COLOURS = {"shareable": "green", "not": "red", "unknown": "yellow"}
SENTENCES = {
    "shareable": "sessions can share one process of it",
    "not": "sessions must not share a process of it",
    "unknown": "it is not certain whether sessions can share a process of it",
}


@click.command("probe")
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
def probe_command(context: CliContext, name: str, calls: tuple[str, ...]) -> None:
    """Find out whether sessions can share one process of a server.

    Two sessions ask the same questions, over one process and over two. Only tools that are marked
    read-only and take no arguments are called, unless you name more. The result is kept, and used
    wherever the mode of a server is 'auto'. Starts a hub in the background if none is running.

    \b
    toolyard server probe notes --call 'add={"text": "a trial"}'
    """
    from toolyard.features.sharing.operations import ProbeSharing, probe_sharing

    order = ProbeSharing(name, _read_calls(calls))
    evidence = context.start_hub().run(probe_sharing, order, PATIENCE)
    context.terminal.answer(evidence, lambda: _show(context.terminal, evidence))


def _read_calls(words: tuple[str, ...]) -> dict[str, JsonObject]:
    import json

    calls: dict[str, JsonObject] = {}
    for word in words:
        tool, _, text = word.partition("=")
        try:
            arguments = json.loads(text or "{}")
        except ValueError as error:
            raise click.UsageError(f"the arguments of {tool!r} are not JSON: {error}") from None
        if not tool or not isinstance(arguments, dict):
            raise click.UsageError("calls must be given as TOOL=JSON, with an object")
        calls[tool] = arguments
    return calls


def _show(terminal: Terminal, evidence: EvidenceRow) -> None:
    verdict = evidence.verdict
    terminal.say(f"{terminal.paint(verdict, COLOURS[verdict])}: {SENTENCES[verdict]}")
    for reason in evidence.reasons:
        terminal.say(f"  {clean(reason)}")
    if evidence.unattributed:
        terminal.say(f"  {evidence.unattributed} of its messages belong to no session")
    if evidence.greeted_again:
        again = clean(evidence.greeted_again)
        terminal.say(f"  a second initialize over the same pipe was {again}")
