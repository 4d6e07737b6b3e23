"""The hub in numbers, for the collector: those of `/metrics` that are states, by the same names."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from toolyard.core.model import Status
from toolyard.features.servers.instances import census
from toolyard.features.servers.picture import problems
from toolyard.features.telemetry.names import (
    INSTANCES,
    INSTRUMENTS,
    PROBLEMS,
    SERVERS,
    SESSIONS,
)
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.relay.relay import Relay
from toolyard.yard import Yard

READ_SECONDS: Final = 5.0
"""The time that the thread of the exporter waits for the hub; then a reading is left out."""
Read = Callable[[Yard], Iterator[Observation]]


def observe(meter: Meter, yard: Yard) -> None:
    """Have every reading of the meter hold the states of this yard."""
    loop = asyncio.get_running_loop()
    readers: dict[str, tuple[str, Read]] = {
        SERVERS: ("Servers by status.", _servers),
        INSTANCES: ("Running servers.", _instances),
        SESSIONS: ("Clients with a session.", _sessions),
        PROBLEMS: ("Problems by code.", _problems),
    }
    for name, (text, read) in readers.items():
        callback = _in_loop(loop, yard, read)
        meter.create_observable_gauge(name, [callback], INSTRUMENTS[name], text)


def _in_loop(
    loop: asyncio.AbstractEventLoop, yard: Yard, read: Read
) -> Callable[[CallbackOptions], list[Observation]]:
    """Read in the hub's own thread, where nothing changes meanwhile."""

    def callback(_options: CallbackOptions) -> list[Observation]:
        future: concurrent.futures.Future[list[Observation]] = concurrent.futures.Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(list(read(yard)))
                except Exception as error:
                    future.set_exception(error)

        try:
            loop.call_soon_threadsafe(run)
            return future.result(READ_SECONDS)
        except (RuntimeError, TimeoutError):  # the hub stops, or is too busy
            future.cancel()
            return []

    return callback


def _servers(yard: Yard) -> Iterator[Observation]:
    entries = yard.snapshot.entries.values()
    counts = Counter(entry.status for entry in entries if entry.server.enabled)
    for status in Status:
        yield Observation(counts[status], {"status": status.value})


def _instances(yard: Yard) -> Iterator[Observation]:
    counts = census(yard.snapshot, yard.part(LinkPool), yard.part(Instances))
    for (mode, status), count in sorted(counts.items()):
        yield Observation(count, {"mode": mode, "status": status})


def _sessions(yard: Yard) -> Iterator[Observation]:
    yield Observation(len(yard.part(Relay).subscriptions.sessions))


def _problems(yard: Yard) -> Iterator[Observation]:
    counts = Counter(problem.code for problem in problems(yard.snapshot))
    for code, count in sorted(counts.items()):
        yield Observation(count, {"code": code})
