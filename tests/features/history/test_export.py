"""Calls and orders go elsewhere as they happen; nobody waits for whoever takes them."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.features.history.calls import keeping, record
from toolyard.core.errors import ConfigError
from toolyard.core.model import Report
from toolyard.features.history.export.exporter import Exporter
from toolyard.features.history.export.sinks import LARGEST_DATAGRAM, open_sink
from toolyard.features.history.export.source import ExportSource
from toolyard.features.history.store import History
from toolyard.records.audit import note_change, ordering
from toolyard.records.audit_trail import AuditTrail
from toolyard.records.calls import SqliteCalls
from toolyard.records.database import Database
from toolyard.settings import read_settings

HANG = 60.0
HEADER = re.compile(
    rb"<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ toolyard \d+ (call|order) - "
)


class Collector:
    """A collector behind HTTP, which can be told to refuse, or to hold on to what it got."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.status = 200
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.got = threading.Semaphore(0)
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.goes_on.wait(HANG)
                if collector.status == 200:
                    collector.bodies.append(body)
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()
                collector.got.release()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/in"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for body in self.bodies for line in body.splitlines()]

    def close(self) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(HANG)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with closing(Collector()) as opened:
        yield opened


@pytest.fixture
def trail(home: Path, database: Database) -> AuditTrail:
    return AuditTrail(home / "toolyard.db", None, database)


@contextmanager
def exporting(address: str, trail: AuditTrail, **bounds: Any) -> Iterator[Exporter]:
    exporter = Exporter(open_sink(address), trail, pause_seconds=0.01, **bounds)
    exporter.start()
    trail.listeners.append(exporter.note_order)
    try:
        yield exporter
    finally:
        exporter.close()


def call(exporter: Exporter, *tools: str) -> History:
    history = keeping(None)
    history.log.listeners.append(exporter.add)
    for tool in tools:
        record(history, tool=tool, caller="ci", origin=("anna", "", "10.0.0.7"))
    history.log.flush()
    return history


async def test_calls_and_orders_are_appended_to_a_file(home: Path, trail: AuditTrail) -> None:
    with exporting(f"file://{home}/out.jsonl", trail) as exporter:
        call(exporter, "one", "two")
        with ordering(trail.order("page", "10.0.0.8")):
            note_change("note", "a", None, {"text": "first"})

    lines = [json.loads(line) for line in (home / "out.jsonl").read_text().splitlines()]
    calls = [line for line in lines if line["log"] == "call"]
    (order,) = [line for line in lines if line["log"] == "order"]
    assert [(line["tool"], line["agent"], line["caller"]) for line in calls] == [
        ("one", "codex", "ci"),
        ("two", "codex", "ci"),
    ]
    assert (calls[0]["member"], calls[0]["address"]) == ("anna", "10.0.0.7")
    assert (order["by"], order["key"], order["after"]) == ("page", "a", {"text": "first"})
    assert (home / "out.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["udp", "unix"])
async def test_syslog_gets_a_datagram_for_each(home: Path, trail: AuditTrail, kind: str) -> None:
    family = socket.AF_INET if kind == "udp" else socket.AF_UNIX
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as daemon:
        daemon.settimeout(HANG)
        daemon.bind(("127.0.0.1", 0) if kind == "udp" else f"{home}/log")
        address = f"syslog+unix://{home}/log"
        if kind == "udp":
            address = f"syslog+udp://127.0.0.1:{daemon.getsockname()[1]}"
        with exporting(address, trail) as exporter:
            call(exporter, "one", "two")
            messages = [daemon.recv(65536) for _ in range(2)]
            with ordering(trail.order("page")):
                note_change("note", "a", None, {"text": "x" * LARGEST_DATAGRAM})
            order = daemon.recv(65536)

    for message, tool in zip(messages, ("one", "two"), strict=True):
        header = HEADER.match(message)
        assert header is not None
        assert json.loads(message[header.end() :])["tool"] == tool
    header = HEADER.match(order)
    assert header is not None
    fields = json.loads(order[header.end() :])
    assert (header[1], fields["key"], fields["cut"]) == (b"order", "a", True)


async def test_syslog_over_tcp_says_how_long_each_message_is(trail: AuditTrail) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as daemon:
        daemon.settimeout(HANG)
        with exporting(f"syslog+tcp://127.0.0.1:{daemon.getsockname()[1]}", trail) as exporter:
            call(exporter, "one", "two")
            connection, _ = daemon.accept()
        with closing(connection), connection.makefile("rb") as stream:
            raw = stream.read()

    tools = []
    while raw:
        length, _, rest = raw.partition(b" ")
        message, raw = rest[: int(length)], rest[int(length) :]
        header = HEADER.match(message)
        assert header is not None
        tools.append(json.loads(message[header.end() :])["tool"])
    assert tools == ["one", "two"]


async def test_a_collector_gets_lines_over_http(trail: AuditTrail, collector: Collector) -> None:
    with exporting(collector.address, trail) as exporter:
        call(exporter, "one", "two")
        assert collector.got.acquire(timeout=HANG)

    assert [line["tool"] for line in collector.lines] == ["one", "two"]


async def test_a_collector_that_refuses_gets_everything_once_it_takes_it(
    trail: AuditTrail, collector: Collector
) -> None:
    collector.status = 503
    with exporting(collector.address, trail) as exporter:
        call(exporter, "one")
        assert collector.got.acquire(timeout=HANG)
        collector.status = 200
        call(exporter, "two")

    tools = [line["tool"] for line in collector.lines]
    assert tools == ["one", "two"]
    assert (exporter.lost, exporter.failure) == (0, "")


async def test_calls_go_on_while_a_collector_is_slow_and_what_is_too_much_is_counted(
    trail: AuditTrail, collector: Collector
) -> None:
    collector.goes_on.clear()
    with exporting(collector.address, trail, most=10) as exporter:
        for _ in range(3):
            call(exporter, *("tool",) * 5)  # returns, though the collector holds on to the first
        assert exporter.lost == 5
        collector.goes_on.set()

    assert len(collector.lines) == 10


async def test_a_place_that_is_away_is_a_problem_until_it_is_back(
    home: Path, database: Database, trail: AuditTrail
) -> None:
    history = keeping(SqliteCalls(database))
    path = home / "away" / "out.jsonl"
    source = ExportSource(history.log, trail, f"file://{path}", 0.0, 0.01)
    reports: asyncio.Queue[Report] = asyncio.Queue()
    async with asyncio.timeout(HANG), asyncio.TaskGroup() as group:
        task = group.create_task(source.run(reports.put_nowait))
        await asyncio.sleep(0)  # from now on it listens
        record(history)
        history.log.flush()
        (problem,) = (await reports.get()).problems
        assert problem.code == "history-export"
        path.parent.mkdir()
        assert (await reports.get()).problems == ()
        task.cancel()
    assert len(path.read_text().splitlines()) == 1
    assert not history.log.listeners


@pytest.mark.parametrize("address", ["out.jsonl", "syslog://host", "http://", "file://host/path"])
def test_a_place_that_cannot_be_understood_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(ConfigError, match="TOOLYARD_HISTORY_EXPORT"):
        read_settings({}, {"TOOLYARD_HISTORY_EXPORT": address, "HOME": "/nowhere"})
