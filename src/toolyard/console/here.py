"""Carries operations out in this process, on what is kept, where no hub is running."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from toolyard.board import Board
from toolyard.feature import Feature
from toolyard.operation import Answer, Operation, Order
from toolyard.records.audit import ordering
from toolyard.records.audit_trail import AuditTrail
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces, open_places
from toolyard.records.seals.logs import SealedLogs
from toolyard.records.state import DATABASE, State
from toolyard.settings import Settings
from toolyard.yard import ANY_VERSION, Parts, Yard

CALLER: Final = "command line"
"""The name of whoever gives orders here."""


def run_here(
    settings: Settings, operation: Operation[Order, Answer], order: Order, version: str = ""
) -> Answer:
    """Carry out an operation that needs files alone; with `version`, if that is still the one."""
    return asyncio.run(_run(settings, operation, order, version))


async def _run(
    settings: Settings, operation: Operation[Order, Answer], order: Order, version: str
) -> Answer:
    yard = open_yard(settings, operation.package)
    expected = frozenset({version}) if version else ANY_VERSION
    try:
        with ordering(yard.part(AuditTrail).order(CALLER)):
            return await operation.run(replace(yard, expected=expected), order)
    finally:
        _close(yard)


def _close(yard: Yard) -> None:
    """Let go of the databases that were opened."""
    shared = yard.part(RecordPlaces).shared
    if shared is not None:
        shared.close()
    if State in yard.parts and (database := yard.part(State).database) is not None:
        database.close()


def open_yard(settings: Settings, package: str) -> Yard:
    """A yard of what one feature keeps and uses, whose picture is what that says now."""
    feature: Feature = importlib.import_module(package).FEATURE
    places = open_places(Follower(), settings.database, settings.database_schema)
    logs = SealedLogs(
        settings.state_dir,
        settings.key,
        settings.lock_file,
        settings.replica,
        is_shared=places.shared is not None,
    )
    trail = AuditTrail(
        settings.state_dir / DATABASE, places.shared, chain=logs.orders, replica=settings.replica
    )
    parts = Parts([settings, places.follower, places, logs, trail])
    yard = Yard(Board(), parts, caller=CALLER, is_live=False)
    try:
        _build(yard, list(_needed(feature)))
    except BaseException:
        _close(yard)
        raise
    return yard


def _build(yard: Yard, features: Sequence[Feature]) -> None:
    for feature in features:
        for part in feature.make_parts(yard):
            yard.parts.add(part)
    for feature in features:
        for source in feature.make_sources(yard):
            yard.board.post(source.report)


def _needed(feature: Feature) -> Iterable[Feature]:
    """All that a feature builds on, each once and before what needs it, and the feature itself."""
    ordered: dict[str, Feature] = {}
    for used in feature.uses:
        ordered |= {needed.package: needed for needed in _needed(used)}
    return (ordered | {feature.package: feature}).values()
