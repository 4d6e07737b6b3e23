"""The parts of the control API that need nothing but the yard and what is kept of it."""

from __future__ import annotations

import asyncio

from toolyard.features.history.store import History
from toolyard.hub import Hub
from toolyard.settings import Settings
from toolyard.surfaces.control.api import Operation
from toolyard.surfaces.control.events import EventsDoor, Present
from toolyard.surfaces.control.figures import FiguresDoor
from toolyard.surfaces.control.looking import LookingDoor


def yard_parts(
    hub: Hub,
    history: History,
    settings: Settings,
    stopping: asyncio.Event,
    present: Present,
) -> list[Operation]:
    """The settings, figures and events."""
    doors = (
        LookingDoor(settings),
        EventsDoor(hub, history.log, stopping, present),
        FiguresDoor(hub, history),
    )
    return [operation for door in doors for operation in door.operations()]
