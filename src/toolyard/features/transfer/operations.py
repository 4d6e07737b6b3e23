"""The yard as one document: written, and applied."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from toolyard.core.errors import ConflictError
from toolyard.features.transfer.applying import carry_out
from toolyard.features.transfer.checking import check_document
from toolyard.features.transfer.model import (
    AppliedDocument,
    ExportedYard,
    FailedChange,
    YardDocument,
)
from toolyard.features.transfer.planning import ApplyPlan, PlannedChange, plan_document
from toolyard.features.transfer.reading import YardState, read_yard
from toolyard.operation import Guard, Needs, NoInput, Versioned, operation
from toolyard.yard import Yard


class ApplyDocument(Struct, frozen=True):
    """A document to apply."""

    body: Any
    prune: bool = False
    """Remove what the sections of the document do not name; approvals stay."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


@operation("GET", "/api/v1/export", needs=Needs.FILES)
async def export_yard(yard: Yard, order: NoInput) -> Versioned[ExportedYard]:
    """The yard as one document."""
    state = await asyncio.to_thread(read_yard, yard)
    return Versioned(ExportedYard(state.document, list(state.notes)), state.version)


@operation(
    "POST",
    "/api/v1/apply",
    needs=Needs.FILES,
    query=("prune", "dry_run"),
    shape=YardDocument,
    guard=Guard.RECORD,
)
async def apply_document(yard: Yard, order: ApplyDocument) -> Versioned[AppliedDocument]:
    """Make the yard what a document says; the ETag is that of the yard before."""
    document = check_document(order.body)
    state = await asyncio.to_thread(read_yard, yard)
    _check_version(yard, state)
    plan = await asyncio.to_thread(plan_document, yard, state, document, prune=order.prune)
    if order.dry_run:
        return Versioned(_answer(plan, [], None, dry_run=True), state.version)
    done, failed = await carry_out(yard, state, plan)
    return Versioned(_answer(plan, done, failed, dry_run=False), state.version)


def _check_version(yard: Yard, state: YardState) -> None:
    """Refuse what was decided on by another state of the yard.

    Raises:
        ConflictError: The yard is another now.
    """
    if yard.expected and not yard.expected & {state.version, "*"}:
        text = "the yard has changed since you looked at it"
        raise ConflictError(text, "look again with --dry-run, and decide again")


def _answer(
    plan: ApplyPlan, done: list[PlannedChange], failed: FailedChange | None, *, dry_run: bool
) -> AppliedDocument:
    rows = [change.row(done=change in done) for change in plan.changes]
    return AppliedDocument(dry_run, rows, list(plan.plans), list(plan.notes), failed)
