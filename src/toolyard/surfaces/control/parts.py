"""The parts of the control API that need nothing but the yard and what is kept of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolyard.features.history.store import History
from toolyard.features.tokens.store import TokensFile
from toolyard.hub import Hub
from toolyard.hub.orders import Orders
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import Settings
from toolyard.surfaces.control.api import Operation
from toolyard.surfaces.control.clients import ClientsDoor
from toolyard.surfaces.control.events import EventsDoor, Present
from toolyard.surfaces.control.figures import FiguresDoor
from toolyard.surfaces.control.instances import InstancesDoor
from toolyard.surfaces.control.looking import LookingDoor
from toolyard.surfaces.control.servers import ServersDoor

if TYPE_CHECKING:
    from toolyard.clients.connecting import Connecting


def yard_parts(
    hub: Hub,
    history: History,
    settings: Settings,
    orders: Orders,
    tokens: TokensFile,
    dismissals: Dismissals,
    stopping: asyncio.Event,
    present: Present,
) -> list[Operation]:
    """Servers, clients, what there is to read, figures and events."""
    doors = (
        ServersDoor(hub, orders),
        LookingDoor(hub, settings),
        InstancesDoor(hub),
        ClientsDoor(lambda: _connecting(settings, hub.url, tokens, dismissals)),
        EventsDoor(hub, history.log, stopping, present),
        FiguresDoor(hub, history),
    )
    return [operation for door in doors for operation in door.operations()]


def _connecting(
    settings: Settings, url: str, tokens: TokensFile, dismissals: Dismissals
) -> Connecting:
    """What connects clients; it is used in a thread, and sessions are ended on the loop."""
    from toolyard.clients.connecting import Connecting
    from toolyard.clients.places import Surroundings

    loop = asyncio.get_running_loop()

    def revoke(name: str) -> None:
        token = tokens.revoke(name)
        loop.call_soon_threadsafe(dismissals.dismiss, token.caller)

    return Connecting(settings, Surroundings.here(), url, tokens, revoke)
