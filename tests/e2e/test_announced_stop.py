"""Servers that are told to stop do so while a hub is attached; announced ones withdraw first."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.entries import until
from tests.e2e.hub import RunningHub, running_hub
from tests.e2e.talk import talking
from tests.fixtures.ports import free_port

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "sdk_server.py": "adder__add",
    "asgi_lifespan.py": "greeter__greet",
    "plain_asgi.py": "pinger__ping_me",
    "server.mjs": "noder__ping_me",
}


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with running_hub({}) as hub:
        yield hub


@contextmanager
def example(name: str, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("node") if name.endswith(".mjs") else sys.executable
    if program is None or shutil.which("flock") is None:
        pytest.skip("node or flock(1) is not installed")
    with subprocess.Popen(
        [program, str(ROOT / "examples" / "announce" / name), str(port)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_announced_server_withdraws_first_and_can_stop(
    hub: RunningHub, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    file, port, tool = tmp_path / ".nisaba" / "mcp_servers.json", free_port(), EXAMPLES[name]
    async with talking(hub, cwd=str(tmp_path)) as talk:

        async def sees(expected: bool) -> None:
            async with asyncio.timeout(60):
                while expected != (tool in str(await talk.result("tools/list"))):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

        with example(name, tmp_path, port) as process:
            await sees(True)
            await talk.call(tool, {"a": 1, "b": 2, "name": "Ada"})

            process.send_signal(number)
            await until(lambda: not accepts(port))
            assert json.loads(file.read_bytes())["servers"] == {}
            assert await asyncio.to_thread(process.wait, 60) is not None
        await sees(False)


PLAIN = """
import sys, threading
from pathlib import Path
from mcp.server import MCPServer
server = MCPServer("plain")
@server.tool()
def wait(folder: str) -> str:
    Path(folder, "began").touch()
    while not Path(folder, "go").exists():
        threading.Event().wait(0.02)
    return "finished"
server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response=True)
"""


@contextmanager
def plain_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server that announces nothing, and waits for its clients before it ends."""
    command = [sys.executable, "-c", PLAIN, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_a_server_that_stops_listening_is_let_go_of_when_its_calls_have_ended(
    tmp_path: Path,
) -> None:
    port = free_port()
    with plain_server(port) as process:
        await until(lambda: accepts(port))
        with running_hub({"plain": {"url": f"http://localhost:{port}/mcp"}}) as hub:
            async with talking(hub) as talk:
                call = talk.group.create_task(talk.call("plain__wait", {"folder": str(tmp_path)}))
                await until((tmp_path / "began").exists)
                process.terminate()
                await until(lambda: not accepts(port))
                (tmp_path / "go").touch()
                assert "finished" in str(await call)
                assert await asyncio.to_thread(process.wait, 60) is not None
