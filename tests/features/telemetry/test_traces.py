"""Traces and metrics reach a collector, and every span has the parent that caused it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import entry
from tests.doors.doors import TOKEN, Doors, call, mirrored, modern, open_doors
from tests.fixtures.collector import OTELCOL, Collector, SeenSpan, collecting, passing_on
from tests.fixtures.stub_run import running_http_stub

FIXTURES = Path(__file__).parents[2] / "fixtures"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NOT_A_TRACE = ("hello", 7, f"00-{'0' * 32}-{'0' * 16}-01", "x" * 5000)
QUICK = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector, and an environment that names it."""
    with collecting() as started:
        name_in_environment(started, monkeypatch)
        yield started


@pytest.fixture
def real_collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """The collector of the OpenTelemetry project, which passes on to ours what it has read."""
    if not Path(OTELCOL).exists():
        pytest.skip("otelcol is not there; build it: scripts/collector.sh")
    with collecting() as started, passing_on(started) as passed_on:
        name_in_environment(passed_on, monkeypatch)
        yield passed_on


def name_in_environment(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hub and what it starts export to a collector."""
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **QUICK}.items():
        monkeypatch.setenv(name, value)


def chain(collector: Collector, service: str) -> list[SeenSpan]:
    """The span of a call at a service, and all that lead to it; empty if one is not there yet."""
    by_id = {span.id: span for span in collector.spans}
    spans = [span for span in collector.spans if span.service == service and "call" in span.name][
        -1:
    ]
    while spans and spans[-1].parent:
        if spans[-1].parent not in by_id:
            return []
        spans.append(by_id[spans[-1].parent])
    return spans


async def take_turn(doors: Doors, collector: Collector, mode: str, tool: str) -> str:
    """Have an agent take a turn; the `traceparent` that the server got."""
    program = [sys.executable, str(FIXTURES / "traced_client.py")]
    process = await asyncio.create_subprocess_exec(
        *(*program, f"http://127.0.0.1:{doors.port}/mcp", TOKEN, mode, tool),
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "agent"},
        stdout=subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    told: str = json.loads(out)["traceparent"]
    return told


@pytest.mark.slow
@pytest.mark.parametrize("where", ["collector", "real_collector"])
@pytest.mark.parametrize(("mode", "server"), [("legacy", "modern"), ("2026-07-28", "legacy")])
async def test_a_turn_of_an_agent_is_one_trace(
    home: Path, request: pytest.FixtureRequest, where: str, mode: str, server: str
) -> None:
    collector: Collector = request.getfixturevalue(where)
    program = {"command": sys.executable, "args": [str(FIXTURES / "traced_server.py"), server]}
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "server"}
    async with open_doors(home, {"s": {**program, "env": env}}, start_timeout=120.0) as doors:
        await doors.settled()
        told = await take_turn(doors, collector, mode, "s__seen")
        spans = await asyncio.to_thread(collector.wait, lambda: chain(collector, "server"))
    assert [(span.service, span.kind, span.name) for span in spans] == [
        ("server", "server", "tools/call seen"),
        ("toolyard", "client", "tools/call seen"),
        ("toolyard", "server", "tools/call s__seen"),
        ("agent", "client", "MCP send tools/call s__seen"),
        ("agent", "", "turn"),
    ]
    assert len({span.trace for span in spans}) == 1
    _, client, hub, agent, _ = spans
    assert told.startswith(f"00-{client.trace}-{client.id}-")
    assert client.facts["mcp.protocol.version"] == VERSIONS[server]
    assert hub.facts["mcp.protocol.version"] == (VERSIONS["legacy"] if mode == "legacy" else mode)
    assert hub.facts["jsonrpc.request.id"] == agent.facts["jsonrpc.request.id"]
    assert ("mcp.session.id" in hub.facts) == (mode == "legacy")


async def ask(doors: Doors, tool: str, header: str = "", **meta: Any) -> Any:
    """Call a tool as a modern client, with this `_meta`, and this header."""
    message = modern("tools/call", {"name": tool, "arguments": {}})
    message["params"]["_meta"] |= meta
    head = {**mirrored(message), "Accept": "application/json"}
    return (await doors.post(message, {**head, "traceparent": header} if header else head)).json()


async def span_of(collector: Collector, kind: str, name: str) -> SeenSpan:
    """The next span of that kind and name; those before it are forgotten."""

    def find() -> SeenSpan | None:
        spans = (span for span in collector.spans if (span.kind, span.name) == (kind, name))
        return next(spans, None)

    span: SeenSpan = await asyncio.to_thread(collector.wait, find)
    collector.spans.clear()
    return span


async def test_spans_have_the_parent_that_a_client_names_and_tell_how_calls_ended(
    home: Path, collector: Collector
) -> None:
    servers = {"s": entry("s", "--only", "echo,fail,error", "--era", "legacy")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        await ask(doors, "s__echo", OTHER, traceparent=PARENT, tracestate="a=b")
        span = await span_of(collector, "server", "tools/call s__echo")
        assert f"00-{span.trace}-{span.parent}-01" == PARENT
        assert span.links == [OTHER.split("-")[2]]
        assert span.facts["gen_ai.operation.name"] == "execute_tool"
        await ask(doors, "s__echo", OTHER)
        span = await span_of(collector, "server", "tools/call s__echo")
        assert f"00-{span.trace}-{span.parent}-01" == OTHER
        for value in NOT_A_TRACE:
            await ask(doors, "s__echo", traceparent=value, tracestate=" , " * 5000)
            assert not (await span_of(collector, "server", "tools/call s__echo")).parent
        await ask(doors, "s__fail")
        span = await span_of(collector, "server", "tools/call s__fail")
        assert (span.failed, span.facts["error.type"]) == (True, "tool_error")
        await ask(doors, "s__error")
        span = await span_of(collector, "server", "tools/call s__error")
        assert span.facts["error.type"] == span.facts["rpc.response.status_code"] == "-32000"
        await ask(doors, "nowhere")
        span = await span_of(collector, "server", "tools/call nowhere")
        assert span.facts["error.type"] == "-32602"
        await doors.post(modern("odd/method"), mirrored(modern("odd/method")))
        span = await span_of(collector, "server", "_OTHER")
        assert span.facts["mcp.method.name"] == "_OTHER"
        await asyncio.to_thread(collector.wait, lambda: "-32601" in kinds(collector))
        points = collector.points["mcp.server.operation.duration"]
        named = {point.get("gen_ai.tool.name") for point in points}
        assert named == {"s__echo", "s__fail", "s__error", None}, "no name that leads nowhere"
        assert {"-32602", "-32000", "tool_error"} <= kinds(collector)
        tools = {p["gen_ai.tool.name"] for p in collector.points["mcp.client.operation.duration"]}
        assert tools == {"echo", "fail", "error"}
        assert collector.units["mcp.client.operation.duration"] == "s"
        assert {"status": "ready"} in collector.points["toolyard.servers"]
        assert {"mode": "shared", "status": "ready"} in collector.points["toolyard.instances"]


def kinds(collector: Collector) -> set[str]:
    """The classes of errors among the durations."""
    points = collector.points.get("mcp.server.operation.duration", [])
    return {point.get("error.type", "") for point in points}


def is_sampled(head: dict[str, str]) -> bool:
    """Tell whether a trace is kept, by the last flag that headers name."""
    return bool(int(head["traceparent"][-2:], 16) & 1)


async def test_a_server_behind_http_has_the_hop_in_its_headers_whatever_the_sampler_says(
    home: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    with running_http_stub("--only", "headers", "--era", "legacy") as url:
        async with open_doors(home, {"web": {"url": url}}) as doors:
            await doors.settled()
            session = await doors.initialize()
            message = call("tools/call", {"name": "web__headers", "arguments": {}})
            answer = (await doors.post(message, session)).json()
            head = json.loads(answer["result"]["content"][0]["text"])
            assert not is_sampled(head)
            answer = (await doors.post(message, {**session, "traceparent": PARENT})).json()
            head = json.loads(answer["result"]["content"][0]["text"])
            span = await span_of(collector, "client", "tools/call headers")
            assert head["traceparent"] == f"00-{PARENT.split('-')[1]}-{span.id}-01"
            assert span.facts["network.transport"] == "tcp"
            order = json.dumps({"server": "web", "tool": "headers", "arguments": {}}).encode()
            answer = (await doors.ask("POST", "/api/v1/call", order)).json()
            assert not is_sampled(json.loads(answer["content"][0]["text"]))
