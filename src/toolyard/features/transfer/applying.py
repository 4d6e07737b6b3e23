"""Carries a plan out through the orders that a person would give, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolyard.core.errors import ToolyardError
from toolyard.features.transfer import FEATURE
from toolyard.features.transfer.approved import approve_document
from toolyard.features.transfer.model import APPROVALS, FailedChange
from toolyard.features.transfer.planning import ApplyPlan, PlannedChange
from toolyard.features.transfer.reading import SECTIONS_BY_NAME, YardState
from toolyard.features.transfer.sections import DocumentSection, RecordWrite, at_any_version
from toolyard.yard import Yard


async def carry_out(
    yard: Yard, state: YardState, plan: ApplyPlan
) -> tuple[list[PlannedChange], FailedChange | None]:
    """Make the changes of a plan; give those that were made, and the one that failed, if any.

    Approvals come first, so that what a server offers at its first start is compared with them
    and not trusted unseen. Then what others refer to comes before what refers to it; removals
    go the other way round. Whoever hangs up has the change under way made, and no other.
    """
    done: list[PlannedChange] = []
    section = ""
    for change in _ordered(plan.changes):
        if await yard.has_left():
            break
        if change.section != section:
            _look_again(yard)
            section = change.section
        try:
            await _make(yard, state, plan, change)
        except ToolyardError as error:
            text = f"{error}"
            return done, FailedChange(change.section, change.name, text, error.hint)
        done.append(change)
    return done, None


def _ordered(changes: Sequence[PlannedChange]) -> list[PlannedChange]:
    removals = [change for change in changes if change.action == "removed"]
    return [*(change for change in changes if change.action != "removed"), *reversed(removals)]


async def _make(yard: Yard, state: YardState, plan: ApplyPlan, change: PlannedChange) -> None:
    if change.section == APPROVALS:
        assert change.approved is not None
        await approve_document(yard, change.name, change.approved, plan.after)
        return
    section = SECTIONS_BY_NAME[change.section]
    if change.body is None:
        await section.remove(at_any_version(yard), change.name)
    else:
        order = RecordWrite(change.name, change.body, change.before)
        await section.put(_at_version(yard, state, section, change), order)


def _at_version(
    yard: Yard, state: YardState, section: DocumentSection, change: PlannedChange
) -> Yard:
    """The yard for an order that counts only for the version of a record that was compared."""
    versions = state.contents[section.name].versions
    version = versions.get(change.name) if change.before is not None else None
    return replace(yard, expected=frozenset({version})) if version else at_any_version(yard)


def _look_again(yard: Yard) -> None:
    """Bring the picture up to date where no hub follows the records."""
    if yard.is_live:
        return
    for feature in FEATURE.uses:
        for source in feature.make_sources(yard):
            yard.board.post(source.report)
