"""Questions and orders about the hub as a whole."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

from msgspec import Struct

from toolyard.core.replicas import KnownReplicas, LiveReplica
from toolyard.core.rows import YardStatus
from toolyard.features.hub.events import tell_events
from toolyard.features.hub.figures import Figures, make_figures
from toolyard.features.hub.links import PageLinks
from toolyard.features.hub.logs import follow_log, read_log
from toolyard.features.hub.metrics import MEDIA, write_metrics
from toolyard.features.hub.schema_costs import SchemaCosts, count_costs
from toolyard.features.hub.settings_rows import SettingList, setting_row
from toolyard.features.hub.status import describe_yard
from toolyard.links.readiness import Readiness
from toolyard.operation import Done, NoInput, Streamed, WithStatus, operation
from toolyard.settings import SETTINGS, Settings
from toolyard.yard import Stopping, Yard

STOP_SECONDS = 0.05
"""The time in which the answer to the order to stop is sent."""


class Live(Struct, frozen=True):
    """Whether the hub lives."""

    live: bool


class Ready(Struct, frozen=True):
    """Whether no server is waited for, so that lists are complete, and the hub is not leaving."""

    ready: bool


class PageLink(Struct, frozen=True):
    """A link that opens the page in a browser, once."""

    link: str


class StopOrder(Struct, frozen=True):
    """How the hub is to stop."""

    comes_back: bool = False
    """Whether it is started again at once, so that attached clients wait for it."""


class ReplicaRow(Struct, frozen=True):
    """A hub that lives."""

    id: str
    address: str
    """Host and port of its door for other replicas; empty if it has none."""
    version: str
    schema: int
    """The number of migrations of the database that it knows; 0 without a database."""
    draining: bool
    """True if it is about to stop."""
    own: bool
    """True for the hub that answers."""
    runs: list[str]
    """The servers whose shared process runs there, as `name@source`."""


class ReplicaList(Struct, frozen=True):
    """All hubs of a yard that live."""

    replicas: list[ReplicaRow]


class LogOrder(Struct, frozen=True):
    """A server, and whether to wait for more of its log."""

    alias: str
    follow: bool = False


class EventsOrder(Struct, frozen=True):
    """The number of the last picture that a listener was told of."""

    last_event_id: str = ""


@operation("GET", "/health/live", tag="health")
async def get_live(yard: Yard, order: NoInput) -> Live:
    """Is the hub alive?"""
    return Live(live=True)


@operation("GET", "/health/ready", tag="health", errors=(503,))
async def get_ready(yard: Yard, order: NoInput) -> WithStatus[Ready]:
    """Are its lists complete, and is it going to stay?"""
    ready = yard.part(Readiness).is_settled() and not yard.part(Stopping).is_set()
    return WithStatus(Ready(ready), 200 if ready else 503)


@operation("GET", "/api/v1/status", tag="yard", from_picture=True)
async def get_status(yard: Yard, order: NoInput) -> YardStatus:
    """The whole yard."""
    return describe_yard(yard)


@operation("GET", "/api/v1/replicas", tag="yard")
async def list_replicas(yard: Yard, order: NoInput) -> ReplicaList:
    """The hubs that share this yard's database and live; without one, this hub alone."""
    known = yard.part(KnownReplicas)
    return ReplicaList([_replica_row(replica, known) for replica in known.by_id.values()])


def _replica_row(replica: LiveReplica, known: KnownReplicas) -> ReplicaRow:
    return ReplicaRow(
        id=replica.id,
        address=replica.address,
        version=replica.version,
        schema=replica.schema,
        draining=replica.is_draining,
        own=replica.id == known.own,
        runs=sorted(server for server, holder in known.runners.items() if holder == replica.id),
    )


@operation("GET", "/api/v1/settings", tag="yard")
async def list_settings(yard: Yard, order: NoInput) -> SettingList:
    """How it was started."""
    settings = yard.part(Settings)
    return SettingList([setting_row(setting, settings, os.environ) for setting in SETTINGS])


@operation("GET", "/api/v1/servers/{alias}/log", tag="yard", media="text/plain")
async def get_log(yard: Yard, order: LogOrder) -> Streamed[str]:
    """What a server wrote to stderr."""
    lines = read_log(yard, order.alias)
    return Streamed(follow_log(yard, order.alias, lines, goes_on=order.follow))


@operation("GET", "/api/v1/figures", tag="yard")
async def get_figures(yard: Yard, order: NoInput) -> Figures:
    """Servers in numbers."""
    return await make_figures(yard, datetime.now(UTC))


@operation("GET", "/api/v1/figures/schemas", tag="yard")
async def get_schema_costs(yard: Yard, order: NoInput) -> SchemaCosts:
    """Tokens of context that the listed tools take, for each connected client."""
    return count_costs(yard)


@operation("GET", "/metrics", tag="health", media=MEDIA)
async def get_metrics(yard: Yard, order: NoInput) -> Streamed[str]:
    """The hub in numbers, for Prometheus."""
    return Streamed(write_metrics(yard))


@operation(
    "GET",
    "/api/v1/events",
    tag="yard",
    headers=("last_event_id",),
    media="text/event-stream",
)
async def get_events(yard: Yard, order: EventsOrder) -> Streamed[str]:
    """Every new picture, all calls and who is there, as server-sent events."""
    told = order.last_event_id
    last = int(told) if told.isascii() and told.isdigit() and len(told) < 16 else -1
    return Streamed(tell_events(yard, last))


@operation("POST", "/api/v1/stop", tag="yard")
async def stop_hub(yard: Yard, order: StopOrder) -> Done:
    """Stop the hub."""
    stop = yard.part(Stopping).order
    asyncio.get_running_loop().call_later(STOP_SECONDS, stop, order.comes_back)
    return Done()


@operation("POST", "/api/v1/link", tag="yard")
async def make_link(yard: Yard, order: NoInput) -> PageLink:
    """A link for a browser."""
    return PageLink(yard.part(PageLinks).new())
