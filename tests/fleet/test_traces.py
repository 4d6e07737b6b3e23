"""A call is one trace, whichever replicas it passes on its way to its server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hub import stdio_stub
from tests.e2e.talk import Json
from tests.fixtures.collector import Collector, SeenSpan, collecting
from tests.fixtures.postgres import PostgresServer
from tests.fleet.fleet import SharedHub, running_shared_fleet, wandering

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLERS = "b7ad6b7169203331"
META = {"traceparent": f"00-{TRACE}-{CALLERS}-01"}
SERVER = "seen"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector, for every hub."""
    with collecting() as started:
        yield started


@pytest.fixture
def fleet(home: Path, collector: Collector, postgres: PostgresServer) -> Iterator[list[SharedHub]]:
    """Two hubs that know each other and export traces; one of them runs each server."""
    servers = {SERVER: stdio_stub(SERVER, home, "--era", "legacy", "--record-all")}
    exports = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    with running_shared_fleet(postgres.new_yard(), 2, servers, **exports) as hubs:
        yield hubs


async def spans_of(collector: Collector, count: int) -> list[SeenSpan]:
    """So many spans of the caller's trace, once they have arrived; each after its parent."""

    def find() -> list[SeenSpan]:
        by_parent = {span.parent: span for span in collector.spans if span.trace == TRACE}
        chain, parent = list[SeenSpan](), CALLERS
        while parent in by_parent:
            chain.append(by_parent[parent])
            parent = chain[-1].id
        return chain if len(chain) == count else []

    spans: list[SeenSpan] = await asyncio.to_thread(collector.wait, find)
    collector.spans.clear()
    return spans


async def test_a_call_that_another_replica_goes_on_with_is_one_trace(
    fleet: list[SharedHub], collector: Collector
) -> None:
    first, second = fleet
    params = {"name": "old__ask", "arguments": {}}
    async with wandering(first.hub, "modern") as client:
        asked = await client.result("tools/call", params)
        answers = {key: {"action": "decline"} for key in asked["inputRequests"]}
        again = {**params, "requestState": asked["requestState"], "inputResponses": answers}
        client.go(second.hub)
        await client.result("tools/call", again, meta=META)
    spans = await spans_of(collector, 2)
    assert [(span.instance, span.kind, span.name) for span in spans] == [
        (second.name, "server", "tools/call old__ask"),
        (first.name, "server", "tools/call old__ask"),
    ]


async def test_a_server_that_another_replica_runs_has_the_trace_of_the_call(
    fleet: list[SharedHub], collector: Collector, home: Path
) -> None:
    for hub in fleet:
        async with wandering(hub.hub, "modern") as client:
            params = {"name": f"{SERVER}__echo", "arguments": {"text": "x"}}
            await client.result("tools/call", params, meta=META)
        spans = await spans_of(collector, 2)
        assert [(span.instance, span.kind) for span in spans] == [
            (hub.name, "server"),
            (hub.name, "client"),
        ]
        (call,) = calls_of(home)[-1:]
        assert call["params"]["_meta"]["traceparent"] == f"00-{TRACE}-{spans[-1].id}-01"
    starts = [event for event in events_of(home) if event["event"] == "start"]
    assert (len(starts), len(calls_of(home))) == (1, 2), "one process has served both hubs"


def events_of(home: Path) -> list[Json]:
    """Everything that happened to the server."""
    return [json.loads(line) for line in (home / f"{SERVER}.jsonl").read_text().splitlines()]


def calls_of(home: Path) -> list[Json]:
    """The calls that reached the server."""
    messages = [event["message"] for event in events_of(home) if event["event"] == "message"]
    return [message for message in messages if message.get("method") == "tools/call"]
