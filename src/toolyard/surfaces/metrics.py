"""The hub in numbers, in the text format that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from starlette.responses import Response

from toolyard import __version__
from toolyard.core.model import Status
from toolyard.features.history.call_counters import BOUNDS, ServerCounters
from toolyard.features.history.call_log import CallLog
from toolyard.features.servers.instances import census
from toolyard.hub import Hub, problems
from toolyard.relay.relay import Relay
from toolyard.surfaces.control.api import Call, Operation

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[str, float]
"""Labels in braces, or what follows the name, and a value."""


class Metrics:
    """Gives every number there is, as it is now."""

    def __init__(self, hub: Hub, relay: Relay, call_log: CallLog) -> None:
        self._hub = hub
        self._relay = relay
        self._call_log = call_log

    def operation(self) -> Operation:
        """The one thing it can do."""
        summary = "The hub in numbers, for Prometheus"
        return Operation(
            "GET", "/metrics", summary, self._give, str, tag="health", media="text/plain"
        )

    async def _give(self, call: Call) -> Response:
        self._call_log.flush()
        return Response("\n".join([*self._lines(), ""]), media_type=MEDIA)

    def _lines(self) -> Iterator[str]:
        servers = sorted(self._call_log.counters.servers.items())
        yield from _family("info", "gauge", "The version.", [(_labels(version=__version__), 1)])
        yield from _family("calls_total", "counter", "Tool calls that are over.", _calls(servers))
        yield from _family(
            "call_duration_seconds", "histogram", "How long tool calls took.", _durations(servers)
        )
        yield from _family("servers", "gauge", "Servers by status.", self._servers())
        running = sum(keeper.link is not None for keeper in self._hub.pool.keepers.values())
        yield from _family("servers_running", "gauge", "Servers with a link.", [("", running)])
        yield from _family("instances", "gauge", "Running servers.", self._instances())
        text = "Messages of servers that could not be attributed to a caller."
        yield from _family("unattributed_total", "counter", text, self._unattributed())
        sessions = len(self._relay.subscriptions.sessions)
        yield from _family("sessions", "gauge", "Clients with a session.", [("", sessions)])
        yield from _family("problems", "gauge", "Problems by code.", self._problems())
        dropped = self._call_log.dropped
        text = "Calls that could not be recorded."
        yield from _family("history_dropped_total", "counter", text, [("", dropped)])

    def _servers(self) -> Iterator[Sample]:
        entries = self._hub.snapshot.entries.values()
        counts = Counter(entry.status for entry in entries if entry.server.enabled)
        for status in Status:
            yield _labels(status=status.value), counts[status]

    def _instances(self) -> Iterator[Sample]:
        counts = census(self._hub.snapshot, self._hub.pool, self._hub.instances)
        for (mode, status), count in sorted(counts.items()):
            yield _labels(mode=mode, status=status), count

    def _unattributed(self) -> Iterator[Sample]:
        entries = self._hub.snapshot.entries
        for id_, keeper in self._hub.pool.keepers.items():
            if id_ in entries:
                yield _labels(server=entries[id_].alias), keeper.unattributed

    def _problems(self) -> Iterator[Sample]:
        counts = Counter(problem.code for problem in problems(self._hub.snapshot))
        for code, count in sorted(counts.items()):
            yield _labels(code=code), count


def _calls(servers: list[tuple[str, ServerCounters]]) -> Iterator[Sample]:
    for server, counts in servers:
        for outcome, count in counts.outcomes.items():
            yield _labels(server=server, outcome=outcome), count


def _durations(servers: list[tuple[str, ServerCounters]]) -> Iterator[Sample]:
    for server, counts in servers:
        so_far = 0
        bounds = [f"{bound:g}" for bound in BOUNDS]
        for bound, count in zip([*bounds, "+Inf"], list(counts.classes), strict=True):
            so_far += count
            yield "_bucket" + _labels(server=server, le=bound), so_far
        yield "_sum" + _labels(server=server), round(counts.seconds, 6)
        yield "_count" + _labels(server=server), so_far


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP toolyard_{name} {text}"
    yield f"# TYPE toolyard_{name} {kind}"
    for rest, value in samples:
        yield f"toolyard_{name}{rest} {value}"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items()) + "}"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
