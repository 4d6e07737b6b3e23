"""The differences between a server and what was approved of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolyard.core.model import Entry, Held, Part, ServerId
from toolyard.core.parts import parts_of
from toolyard.core.problems import ProblemCode
from toolyard.features.approvals.approved import ServerApprovals
from toolyard.features.approvals.judging import Approvals
from toolyard.features.approvals.model import Change, differences, spelled_out


@dataclass(frozen=True, slots=True)
class Differences:
    """All in which a server differs from what was approved."""

    alias: str
    mark: str
    """The mark of this state; an approval can name it."""
    launch: bool
    """The way it is started waits for approval."""
    held: Held
    approvals: ServerApprovals
    changes: tuple[Change, ...]


def find_differences(approvals: Approvals, entry: Entry) -> Differences:
    """Compare a server with what was approved of it.

    Raises:
        StoreError: What was approved cannot be read.
    """
    problem, id_ = entry.server.problem, entry.server.id
    held, approved = entry.held, approvals.of(id_)
    is_judged = bool(held.parts or approved.parts)
    parts = parts_of(entry.offers, entry.peer) if is_judged else {}
    return Differences(
        alias=entry.alias,
        mark=approvals.mark(entry),
        launch=problem is not None and problem.code == ProblemCode.PIN_LAUNCH,
        held=held,
        approvals=approved,
        changes=tuple(
            # What was never listed has no text to compare with: all of it is to be read.
            replace(change, fields=spelled_out(change.part, parts[change.part]))
            if change.kind == "new" and change.part in held.parts
            else change
            for change in unlike(approvals, id_, parts)
        ),
    )


def unlike(approvals: Approvals, id_: ServerId, parts: dict[Part, bytes]) -> tuple[Change, ...]:
    """Return how parts differ from those approved, or from those listed though nobody looked.

    Raises:
        StoreError: What was approved cannot be read.
    """
    unseen = approvals.of(id_).unseen
    changes = differences(approvals.definitions(id_), parts)
    changed = {change.part for change in changes}
    told = [change for change in changes if change.kind != "missing" or change.part not in unseen]
    fresh = differences({}, {p: raw for p, raw in parts.items() if p in unseen - changed})
    return tuple(sorted((*told, *fresh), key=lambda change: (change.kind, change.part)))
