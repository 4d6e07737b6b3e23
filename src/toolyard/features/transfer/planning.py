"""Plans what applying a document changes; nothing is written yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Snapshot
from toolyard.features.policies.operations import PlanChangeRow, change_row
from toolyard.features.transfer.approved import ApprovedServer, adds_to, find_id
from toolyard.features.transfer.checking import CheckedDocument, check_references
from toolyard.features.transfer.imagining import compare_agents
from toolyard.features.transfer.model import APPROVALS, Action, DocumentChange
from toolyard.features.transfer.reading import ORDER, SECTIONS_BY_NAME, YardState
from toolyard.features.transfer.references import References, fill_back
from toolyard.features.transfer.sections import Bodies, DocumentSection
from toolyard.features.transfer.starts import find_server, find_starts, spell_endpoint
from toolyard.features.transfer.team_sections import MEMBERS
from toolyard.yard import Yard


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One record to write, or to remove where it has no body."""

    section: str
    name: str
    action: Action
    members: tuple[str, ...] = ()
    body: JsonObject | None = None
    before: JsonObject | None = None
    approved: ApprovedServer | None = None
    starts: tuple[str, ...] = ()

    def row(self, *, done: bool) -> DocumentChange:
        """Return it as an answer tells it."""
        members, starts = list(self.members), list(self.starts)
        return DocumentChange(self.section, self.name, self.action, members, starts, done)


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """All that applying a document changes."""

    changes: tuple[PlannedChange, ...]
    after: Snapshot
    plans: tuple[PlanChangeRow, ...]
    notes: tuple[str, ...]


def plan_document(
    yard: Yard, state: YardState, document: CheckedDocument, *, prune: bool
) -> ApplyPlan:
    """Compare a document with the yard; it blocks.

    Raises:
        FaultsError: A record refers to something that is in neither.
    """
    changes = [
        change
        for section in ORDER
        if section.name in document.sections
        for change in _compare(section, state, document.sections[section.name], prune)
    ]
    after = check_references(yard, _records_after(state, changes), document)
    plans = [change_row(change) for change in compare_agents(state.picture, after)]
    every = (*_compare_approvals(state, document), *changes)
    return ApplyPlan(
        tuple(_with_starts(change, after) for change in every),
        after,
        tuple(plans),
        tuple(_notes(changes, document, after)),
    )


def _compare(
    section: DocumentSection, state: YardState, wanted: Bodies, prune: bool
) -> Iterator[PlannedChange]:
    contents = state.contents[section.name]
    shown, present = state.shown[section.name], contents.bodies
    for name, body in wanted.items():
        if name not in present:
            yield PlannedChange(section.name, name, "added", body=body)
            continue
        before, filled = present[name], fill_back(body, shown[name], present[name])
        if filled != before:
            members = [key for key in {**before, **filled} if before.get(key) != filled.get(key)]
            yield PlannedChange(section.name, name, "changed", tuple(members), filled, before)
    for name in present if prune else ():
        if name not in wanted and name not in contents.withheld:
            yield PlannedChange(section.name, name, "removed", before=present[name])


def _records_after(state: YardState, changes: list[PlannedChange]) -> dict[str, Bodies]:
    records = {name: dict(content.bodies) for name, content in state.contents.items()}
    for change in changes:
        if change.body is None:
            del records[change.section][change.name]
        else:
            records[change.section][change.name] = change.body
    return {name: dict(sorted(bodies.items())) for name, bodies in records.items()}


def _with_starts(change: PlannedChange, after: Snapshot) -> PlannedChange:
    """A change with the commands and addresses that it lets the hub start and reach."""
    if change.body is not None:
        starts = find_starts(change.section, change.name, change.body, after)
        return replace(change, starts=starts)
    if change.approved is not None and "launch" in change.members:
        server = after.entries[find_id(change.name)].server
        return replace(change, starts=(spell_endpoint(server.endpoint),))
    return change


def _compare_approvals(state: YardState, document: CheckedDocument) -> Iterator[PlannedChange]:
    """The approvals that a document adds; it takes none away."""
    for name, wanted in sorted(document.approvals.items()):
        present = state.approvals.servers.get(name, ApprovedServer())
        if members := adds_to(wanted, present):
            action: Action = "changed" if name in state.approvals.servers else "added"
            yield PlannedChange(APPROVALS, name, action, tuple(members), approved=wanted)


def _notes(
    changes: list[PlannedChange], document: CheckedDocument, after: Snapshot
) -> Iterator[str]:
    """Sentences about records that come or change, and lack something or hold a secret."""
    references = References()
    for change in changes:
        if change.body is None:
            continue
        entry = find_server(change.section, change.name, after)
        if entry is not None and (problem := entry.server.problem) is not None:
            yield f"{problem.text}; {problem.hint}"
        if change.section == MEMBERS.name and change.action == "added" and "#" not in change.name:
            yield (
                f"{change.name} has to set a password: print the link for them with"
                f" toolyard member reset {change.name}"
            )
        section = SECTIONS_BY_NAME[change.section]
        body = document.sections[change.section][change.name]
        if names := references.find(change.name, body, section.private):
            orders = "; ".join(f"toolyard secret set {name}" for name in names)
            yield (
                f"the document holds a secret of {section.spell(change.name)} in plain text;"
                f" run: {orders}; and write ${{keyring:{names[0]}}} in its place"
            )
