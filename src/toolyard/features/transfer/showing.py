"""Shows what applying a document changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolyard.console.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolyard.console.terminal import Terminal
    from toolyard.features.policies.operations import PlanChangeRow
    from toolyard.features.transfer.model import AppliedDocument, DocumentChange

SIGNS: Final = {"added": ("+", "green"), "changed": ("~", "yellow"), "removed": ("-", "red")}


def show_changes(terminal: Terminal, applied: AppliedDocument) -> None:
    """Show every change, whose servers differ after it, and what is to be told beside."""
    if not applied.changes:
        terminal.say("there is nothing to change")
    for change in applied.changes:
        sign, colour = SIGNS[change.action]
        terminal.say(f"{terminal.paint(sign, colour)} {_describe(change)}")
        for line in change.starts:
            terminal.say(f"    {visible(line)}")
    if applied.plans:
        terminal.say("\nwhose servers change:")
    for agent, executors, difference in _grouped(applied.plans):
        terminal.say(f"  {agent} with {', '.join(executors)}: {difference}")
    for note in applied.notes:
        terminal.note(f"note: {note}")


def _describe(change: DocumentChange) -> str:
    members = f" ({', '.join(change.members)})" if change.members else ""
    return f"{change.section}/{visible(change.name)}{members}"


def _grouped(plans: Sequence[PlanChangeRow]) -> Iterator[tuple[str, list[str], str]]:
    """Each agent, the executors with which its servers change alike, and how."""
    groups: dict[tuple[str, str], list[str]] = {}
    for plan in plans:
        groups.setdefault((plan.agent, _describe_plan(plan)), []).append(plan.executor)
    for (agent, difference), executors in groups.items():
        yield agent, executors, difference


def _describe_plan(plan: PlanChangeRow) -> str:
    kinds = (("gains", plan.gained), ("loses", plan.lost), ("changed", plan.changed))
    return "; ".join(f"{word} {', '.join(names)}" for word, names in kinds if names)
