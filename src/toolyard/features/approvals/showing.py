"""Verifications and differences as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError
from toolyard.console.terminal import Terminal, clean
from toolyard.core.counting import counted
from toolyard.core.parts import spell
from toolyard.features.approvals.operations import (
    Approved,
    PartDifference,
    PartFinding,
    VerificationResult,
    Waiting,
)

COLOURS: Final = {"+": "green", "-": "red"}


def show_verified(terminal: Terminal, result: VerificationResult) -> None:
    """Show what a server really offers, and how that differs from what is on file."""
    counts = (
        counted(len(result.tools), "tool"),
        counted(len(result.prompts), "prompt"),
        counted(len(result.resources), "resource"),
    )
    version = f" {clean(result.server_version)}" if result.server_version else ""
    terminal.say(
        f"{terminal.word('ok')} {result.server}{version}: {', '.join(counts)}, "
        f"about {result.schema_tokens} tokens, protocol {result.protocol}, "
        f"first answer after {result.first_answer_ms} ms"
    )
    show_changes(terminal, result.changes)
    show_findings(terminal, result.findings)


def show_failed(terminal: Terminal, name: str, error: CommandError) -> None:
    """Show why a server could not be verified."""
    terminal.say(f"{terminal.word('failing')} {name}: {clean(str(error))}")
    if error.hint:
        terminal.say(f"  hint: {clean(error.hint)}")


def show_waiting(context: CliContext, waiting: Waiting) -> None:
    """Show all in which a server differs from what was approved."""
    terminal = context.terminal
    if waiting.launch:
        _show_launch(context, waiting.server)
    show_changes(terminal, waiting.changes)
    show_findings(terminal, waiting.findings)
    parts = [*waiting.held, *(spell((part.kind, part.name)) for part in waiting.held_also)]
    if parts:
        terminal.say(f"waiting for approval: {', '.join(map(clean, parts))}")
    elif not waiting.changes and not waiting.launch:
        terminal.say("nothing has changed")


def _show_launch(context: CliContext, server: str) -> None:
    from toolyard.features.servers.operations import ServerAlias, get_server

    launch = context.need_hub().run(get_server, ServerAlias(server)).launch
    now = " ".join(launch.command or ()) or launch.url or ""
    context.terminal.say("it is started in another way than was approved; now it is:")
    context.terminal.say(f"  {clean(now)}")
    if names := [*(launch.env or ()), *(launch.headers or ())]:
        context.terminal.say(f"  with {', '.join(map(clean, names))}")


def show_changes(terminal: Terminal, changes: Sequence[PartDifference]) -> None:
    """Show differences of parts; what cannot be seen is spelled out."""
    for change in changes:
        often = " (its text changes at nearly every start)" if change.restless else ""
        terminal.say(f"  {change.kind}: {clean(spell((change.of, change.name)))}{often}")
        for field in change.fields:
            terminal.say(f"    {clean(field.path)}")
            for line in field.lines:
                colour = COLOURS.get(line[:1])
                text = line.replace("\t", "⟨U+0009⟩")
                terminal.say(f"      {terminal.paint(text, colour) if colour else text}")


def show_findings(terminal: Terminal, findings: Sequence[PartFinding]) -> None:
    """Show what a person should look at in the words of a server."""
    for finding in findings:
        part, path = clean(spell((finding.of, finding.name))), clean(finding.path)
        place = f"{part}, {path}" if path else part
        word = terminal.paint("look", "red") if finding.serious else "note"
        terminal.say(f"  {word}: {place}: {clean(finding.why)} ({finding.kind})")
        terminal.say(f"      {clean(finding.text)}")


def show_approved(terminal: Terminal, name: str, approved: Approved) -> None:
    """Show what was approved of a server."""
    parts = ", ".join(map(clean, approved.approved)) or "nothing that waited"
    terminal.say(f"approved of '{name}': {parts}")
