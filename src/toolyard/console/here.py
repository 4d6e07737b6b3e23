"""Carries operations out in this process, on what is kept, where no hub is running."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable

from toolyard.board import Board
from toolyard.feature import Feature
from toolyard.operation import Answer, Operation, Order
from toolyard.records.follow import Follower
from toolyard.records.places import open_places
from toolyard.settings import Settings
from toolyard.yard import Parts, Yard


def run_here(settings: Settings, operation: Operation[Order, Answer], order: Order) -> Answer:
    """Carry out an operation that needs files alone."""
    return asyncio.run(_run(settings, operation, order))


async def _run(settings: Settings, operation: Operation[Order, Answer], order: Order) -> Answer:
    return await operation.run(open_yard(settings, operation.package), order)


def open_yard(settings: Settings, package: str) -> Yard:
    """A yard of what one feature keeps and uses, whose picture is what that says now."""
    feature: Feature = importlib.import_module(package).FEATURE
    places = open_places(Follower(), settings.database, settings.database_schema)
    yard = Yard(Board(), Parts([settings, places.follower, places]), is_live=False)
    needed = list(_needed(feature))
    for built in needed:
        for part in built.make_parts(yard):
            yard.parts.add(part)
    for built in needed:
        for source in built.make_sources(yard):
            yard.board.post(source.report)
    return yard


def _needed(feature: Feature) -> Iterable[Feature]:
    """All that a feature builds on, each once and before what needs it, and the feature itself."""
    ordered: dict[str, Feature] = {}
    for used in feature.uses:
        ordered |= {needed.package: needed for needed in _needed(used)}
    return (ordered | {feature.package: feature}).values()
