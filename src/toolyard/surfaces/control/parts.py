"""The parts of the control API that need nothing but the yard and what is kept of it."""

from __future__ import annotations

import asyncio

from toolyard.features.history.store import History
from toolyard.hub import Hub
from toolyard.hub.orders import Orders
from toolyard.settings import Settings
from toolyard.surfaces.control.api import Operation
from toolyard.surfaces.control.events import EventsDoor, Present
from toolyard.surfaces.control.figures import FiguresDoor
from toolyard.surfaces.control.instances import InstancesDoor
from toolyard.surfaces.control.looking import LookingDoor
from toolyard.surfaces.control.servers import ServersDoor


def yard_parts(
    hub: Hub,
    history: History,
    settings: Settings,
    orders: Orders,
    stopping: asyncio.Event,
    present: Present,
) -> list[Operation]:
    """Servers, what there is to read, figures and events."""
    doors = (
        ServersDoor(hub, orders),
        LookingDoor(hub, settings),
        InstancesDoor(hub),
        EventsDoor(hub, history.log, stopping, present),
        FiguresDoor(hub, history),
    )
    return [operation for door in doors for operation in door.operations()]
