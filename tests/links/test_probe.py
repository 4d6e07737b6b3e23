"""Asking an address who it is, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.stub_run import recorded, running_http_stub
from tests.links.company import talking
from toolyard.core.errors import ToolyardError
from toolyard.core.model import Url
from toolyard.links.probe import inspect, probe

SDK = Path(__file__).parents[1] / "fixtures" / "sdk_sessions.py"
SCANS = 200


@contextmanager
def sdk_server() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(SDK)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def sessions(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.replace("/mcp/", "/sessions"), timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    ("flags", "era"),
    [
        (("--era", "legacy"), "legacy"),
        (("--era", "modern"), "modern"),
        (("--era", "dual"), "modern"),
        (("--era", "legacy", "--sse"), "legacy"),
        (("--era", "modern", "--sse"), "modern"),
        (("--era", "legacy", "--sse-lines"), "legacy"),
        (("--era", "legacy", "--page", "2"), "legacy"),
    ],
)
async def test_both_eras_and_every_form_of_body_are_understood(
    flags: tuple[str, ...], era: str
) -> None:
    with running_http_stub("--name", "who", "--tools", "3", *flags) as url:
        peer = await probe(url, 3.0)
        assert (peer.era, peer.name, peer.release) == (era, "who", "1.0")
        again, offers = await inspect(Url(url), 3.0)
        assert again == peer
        assert len(offers.tools) > 3


async def test_a_legacy_session_is_ended(tmp_path: Path) -> None:
    record = tmp_path / "who.jsonl"
    with running_http_stub("--era", "legacy", "--record", str(record)) as url:
        await probe(url, 3.0)
    assert len(recorded(record, "initialize")) == 1
    assert len(recorded(record, "session deleted")) == 1


@pytest.mark.slow
async def test_200_probes_leave_no_session_in_a_server_of_the_sdk() -> None:
    with sdk_server() as url:
        for _ in range(SCANS // 10):
            peers = await asyncio.gather(*(probe(url, 10.0) for _ in range(10)))
            assert {peer.name for peer in peers} == {"Yardstick of the SDK"}
        counted = sessions(url)
    assert counted["begun"] >= SCANS
    assert counted["open"] == 0


class OldSessions:
    """Begins a session for whatever it is asked without one, as the SDK 1.13 does."""

    def __init__(self) -> None:
        self.begun = 0
        self.open: set[str] = set()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, *lines = head.rstrip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            writer.write(self.answer(method.split()[0], headers, json.loads(body or b"{}")))

    def answer(self, method: str, headers: dict[str, str], message: dict[str, Any]) -> bytes:
        session = headers.get("mcp-session-id", "")
        if headers.get("mcp-protocol-version", "2025-06-18") > "2025-06-18" and session:
            return self.reply(400, session, self.refusal("Unsupported protocol version"))
        if method == "DELETE":
            self.open.remove(session)
            return self.reply(200, session, {})
        if method != "POST":
            return self.reply(405, "", {})
        if session:
            return self.reply(202, session, {})
        self.begun += 1
        session = f"session-{self.begun}"
        self.open.add(session)
        if message["method"] != "initialize":
            return self.reply(400, session, self.refusal("Missing session ID"))
        info = {"name": "old", "version": "1.13"}
        said = {"protocolVersion": "2025-06-18", "serverInfo": info, "capabilities": {}}
        return self.reply(200, session, {"jsonrpc": "2.0", "id": message["id"], "result": said})

    def refusal(self, text: str) -> dict[str, Any]:
        error = {"code": -32600, "message": f"Bad Request: {text}"}
        return {"jsonrpc": "2.0", "id": "server-error", "error": error}

    def reply(self, status: int, session: str, message: dict[str, Any]) -> bytes:
        raw = json.dumps(message).encode() if message else b""
        extra = f"mcp-session-id: {session}\r\n" if session else ""
        kind = f"content-type: application/json\r\ncontent-length: {len(raw)}\r\n"
        return f"HTTP/1.1 {status} X\r\n{extra}{kind}\r\n".encode() + raw


async def test_a_session_that_an_older_server_began_for_the_probe_is_ended_too() -> None:
    server = OldSessions()
    async with talking(server.talk) as address:
        peer = await probe(f"{address}/mcp", 5.0)

        assert (peer.era, peer.name) == ("legacy", "old")
        assert (server.begun, server.open) == (2, set())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--status", "503"), "it answers with HTTP 503"),
        (("--status", "404"), "it answers with HTTP 404"),
        (("--token", "secret"), "it answers with HTTP 401"),
    ],
)
async def test_what_is_no_server_is_described(flags: tuple[str, ...], said: str) -> None:
    with running_http_stub(*flags) as url, pytest.raises(ToolyardError, match=said):
        await probe(url, 60)


async def test_a_server_that_never_answers_is_given_up() -> None:
    said = "it did not answer within 0.5 s"
    with running_http_stub("--hang", "all") as url, pytest.raises(ToolyardError, match=said):
        await probe(url, 0.5)


async def test_nobody_there_is_an_error_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ToolyardError, match="cannot connect"):
        await probe(f"http://127.0.0.1:{port}/mcp", 1.0)
