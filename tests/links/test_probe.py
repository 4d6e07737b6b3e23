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
    with urllib.request.urlopen(url.replace("/mcp/", "/sessions"), timeout=10) as answer:
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


async def test_200_probes_leave_no_session_in_a_server_of_the_sdk() -> None:
    with sdk_server() as url:
        for _ in range(SCANS // 10):
            peers = await asyncio.gather(*(probe(url, 10.0) for _ in range(10)))
            assert {peer.name for peer in peers} == {"Yardstick of the SDK"}
        counted = sessions(url)
    assert counted["begun"] >= SCANS
    assert counted["open"] == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--status", "503"), "it answers with HTTP 503"),
        (("--status", "404"), "it answers with HTTP 404"),
        (("--token", "secret"), "it answers with HTTP 401"),
        (("--hang", "all"), "it did not answer within 0.5 s"),
    ],
)
async def test_what_is_no_server_is_described(flags: tuple[str, ...], said: str) -> None:
    with running_http_stub(*flags) as url, pytest.raises(ToolyardError, match=said):
        await probe(url, 0.5)


async def test_nobody_there_is_an_error_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ToolyardError, match="cannot connect"):
        await probe(f"http://127.0.0.1:{port}/mcp", 1.0)
