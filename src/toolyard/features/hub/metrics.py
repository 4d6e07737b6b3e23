"""The hub in numbers, in the text format that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final

from toolyard import __version__
from toolyard.core.model import Snapshot, Status
from toolyard.features.history.call_counters import BOUNDS, ServerCounters
from toolyard.features.history.call_log import CallLog
from toolyard.features.servers.instances import census
from toolyard.features.servers.picture import problems
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.relay.relay import Relay
from toolyard.yard import Yard

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[str, float]
"""Labels in braces, or what follows the name, and a value."""


async def write_metrics(yard: Yard) -> AsyncIterator[bytes]:
    """Give every number there is, as it is now."""
    yard.part(CallLog).flush()
    yield "\n".join([*_lines(yard), ""]).encode()


def _lines(yard: Yard) -> Iterator[str]:
    call_log, pool = yard.part(CallLog), yard.part(LinkPool)
    servers = sorted(call_log.counters.servers.items())
    yield from _family("info", "gauge", "The version.", [(_labels(version=__version__), 1)])
    yield from _family("calls_total", "counter", "Tool calls that are over.", _calls(servers))
    yield from _family(
        "call_duration_seconds", "histogram", "How long tool calls took.", _durations(servers)
    )
    yield from _family("servers", "gauge", "Servers by status.", _statuses(yard.snapshot))
    running = sum(keeper.link is not None for keeper in pool.keepers.values())
    yield from _family("servers_running", "gauge", "Servers with a link.", [("", running)])
    counts = census(yard.snapshot, pool, yard.part(Instances))
    yield from _family("instances", "gauge", "Running servers.", _instances(counts))
    text = "Messages of servers that could not be attributed to a caller."
    yield from _family("unattributed_total", "counter", text, _unattributed(yard.snapshot, pool))
    sessions = len(yard.part(Relay).subscriptions.sessions)
    yield from _family("sessions", "gauge", "Clients with a session.", [("", sessions)])
    yield from _family("problems", "gauge", "Problems by code.", _problems(yard.snapshot))
    text = "Calls that could not be recorded."
    yield from _family("history_dropped_total", "counter", text, [("", call_log.dropped)])


def _statuses(snapshot: Snapshot) -> Iterator[Sample]:
    entries = snapshot.entries.values()
    counts = Counter(entry.status for entry in entries if entry.server.enabled)
    for status in Status:
        yield _labels(status=status.value), counts[status]


def _instances(counts: Mapping[tuple[str, str], int]) -> Iterator[Sample]:
    for (mode, status), count in sorted(counts.items()):
        yield _labels(mode=mode, status=status), count


def _unattributed(snapshot: Snapshot, pool: LinkPool) -> Iterator[Sample]:
    for id_, keeper in pool.keepers.items():
        if id_ in snapshot.entries:
            yield _labels(server=snapshot.entries[id_].alias), keeper.unattributed


def _problems(snapshot: Snapshot) -> Iterator[Sample]:
    counts = Counter(problem.code for problem in problems(snapshot))
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
