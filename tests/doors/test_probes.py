"""The door for probes: two questions, answered to anybody, and nothing else."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.doors.doors import Answer, Raw, declared, open_doors
from tests.e2e.hub import entry, stdio_stub
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import stub_command
from toolyard import app
from toolyard.core.errors import ConfigError
from toolyard.settings import read_settings

LONG = 600.0


async def probe(port: int, path: str, method: str = "GET", more: str = "") -> Answer:
    """Ask as a kubelet does: by the address of the pod, without a token."""
    raw = Raw(*await asyncio.open_connection("127.0.0.1", port))
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: 10.244.1.7:{port}\r\n{more}\r\n"
        await raw.send(head.encode())
        return await raw.answer(bodiless=method == "HEAD")
    finally:
        await raw.close()


async def test_probes_are_answered_without_host_and_token(home: Path) -> None:
    port = free_port()
    async with open_doors(home, probe_port=port) as doors:
        await doors.settled()
        for path, body in (("/health/live", {"live": True}), ("/health/ready", {"ready": True})):
            answer = await probe(port, path)
            assert (answer.status, answer.json()) == (200, body)
            assert (await probe(port, path, "HEAD")).status == 200
            assert (await probe(doors.port, path)).status == 421


async def test_nothing_else_is_served_to_probes(home: Path) -> None:
    port = free_port()
    async with open_doors(home, probe_port=port):
        for path in ("/", "/mcp", "/metrics", "/ui", "/api/v1/status", "/health/live/"):
            assert (await probe(port, path)).status == 404, path
        assert (await probe(port, "/health/live", "DELETE")).status == 405
        assert (await probe(port, "/health/live", more="Content-Length: 5\r\n")).status == 413
        chunked = "Transfer-Encoding: chunked\r\n"
        assert (await probe(port, "/health/ready", "POST", chunked)).status == 413


async def test_a_hub_is_ready_from_its_first_whole_picture_until_it_drains(home: Path) -> None:
    port = free_port()
    gate = home / "go"
    waiting = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"'
    stub = entry(["sh", "-c", waiting, str(gate), *stub_command("--tools-only")])
    async with open_doors(home, {"slow": stub}, probe_port=port, drain_delay=LONG) as doors:
        assert (await probe(port, "/health/ready")).status == 503
        assert (await probe(port, "/health/live")).status == 200
        gate.touch()
        await doors.settled()
        assert (await probe(port, "/health/ready")).status == 200
        await doors.ask("POST", "/api/v1/stop", headers={"Content-Length": "0"})

        async def is_draining() -> bool:
            return (await probe(port, "/health/ready")).status == 503

        await doors.until(is_draining)
        assert (await probe(port, "/health/live")).status == 200


async def test_a_server_that_is_added_does_not_make_a_hub_unready_for_probes(home: Path) -> None:
    port = free_port()
    async with open_doors(home, probe_port=port) as doors:
        await doors.settled()
        assert (await probe(port, "/health/ready")).status == 200
        stub = stdio_stub("never", home, "--hang", "init")
        (home / "servers.json").write_text(declared({"never": stub}))

        async def is_starting() -> bool:
            return (await doors.ask("GET", "/health/ready")).status == 503

        await doors.until(is_starting)
        assert (await probe(port, "/health/ready")).status == 200


async def test_more_probes_than_there_is_room_for_lock_nobody_out(home: Path) -> None:
    port = free_port()
    async with open_doors(home, probe_port=port):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        assert (await probe(port, "/health/live")).status == 200
        for _, writer in silent:
            writer.close()


async def test_a_port_for_probes_that_is_taken_is_one_sentence(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        settings = read_settings({}, {"TOOLYARD_HOME": str(home)})
        port = squatter.getsockname()[1]
        with pytest.raises(ConfigError, match="cannot listen for probes"):
            await app.run(replace(settings, probe_port=port))
