"""Servers that run on this machine: found, taken into the list, and found again elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, environment, new_home, running_hub, toolyard
from tests.e2e.talk import talking, text_of
from tests.fixtures.forking import run as run_forked
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import STUB, recorded, running_http_stub

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who listens")


def run(home: Path, *words: str) -> tuple[int, str, str]:
    done = run_forked(toolyard(*words), env=environment(home))
    return done.returncode, done.stdout, done.stderr


def scanned(home: Path, *ports: int) -> list[dict[str, Any]]:
    words = [word for port in ports for word in ("--port", str(port))]
    code, out, err = run(home, "scan", "--json", *words)
    assert code == 0, err
    servers: list[dict[str, Any]] = json.loads(out)["servers"]
    return servers


def port_of(url: str) -> int:
    return int(url.split(":")[2].split("/")[0])


@pytest.fixture
def program() -> Iterator[Path]:
    """An interpreter of our own, so that no other server on the machine has its executable."""
    with new_home() as folder:
        copy = folder / "our-python"
        shutil.copy(os.path.realpath(sys.executable), copy)
        yield copy


@contextmanager
def serving(program: Path, port: int, *flags: str) -> Iterator[None]:
    command = [str(program), str(STUB), "http", "--port", str(port), *flags]
    env = {**os.environ, "PYTHONHOME": sys.base_prefix}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        try:
            yield
        finally:
            process.kill()


def until(holds: Callable[[], bool], within: float = 60.0) -> None:
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)  # noqa: TID251 - there is nothing to wait on from outside


def test_servers_of_every_kind_are_found_with_their_process(tmp_path: Path) -> None:
    record = tmp_path / "old.jsonl"
    with (
        new_home() as home,
        running_http_stub("--name", "old", "--era", "legacy", "--record", str(record)) as old,
        running_http_stub("--name", "my new", "--era", "modern") as new,
        running_http_stub("--name", "oldest", "--era", "legacy", "--http-sse") as oldest,
        running_http_stub("--status", "404") as web,
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):
        ports = [port_of(url) for url in (old, new, oldest, web)]
        found = {each["name"]: each for each in scanned(home, *ports, silent.getsockname()[1])}
        assert set(found) == {"old", "my-new", "oldest"}
        assert (found["old"]["era"], found["old"]["url"]) == ("legacy", old)
        assert (found["my-new"]["era"], found["my-new"]["server"]) == ("modern", "my new")
        assert (found["oldest"]["transport"], found["oldest"]["url"]) == ("sse", oldest)
        assert "echo" in found["old"]["tools"]
        assert found["old"]["executable"] == os.path.realpath(sys.executable)
        assert len(recorded(record, "session deleted")) == len(recorded(record, "initialize")) == 1
        code, out, _ = run(home, "scan", "--port", str(port_of(new)))
        assert code == 0
        assert "my-new" in out
        assert "NAME" in out.splitlines()[0]


def test_two_of_one_name_are_told_apart_by_port() -> None:
    with (
        new_home() as home,
        running_http_stub("--name", "twin") as one,
        running_http_stub("--name", "twin") as two,
    ):
        ports = [port_of(one), port_of(two)]
        names = sorted(each["name"] for each in scanned(home, *ports))
        assert names == sorted(f"twin-{port}" for port in ports)


def test_nothing_found_is_said_and_adopting_it_is_an_error() -> None:
    with new_home() as home:
        port = free_port()
        code, out, _ = run(home, "scan", "--port", str(port))
        assert (code, out) == (0, "no MCP server was found on a port of yours\n")
        code, _, err = run(home, "scan", "adopt", str(port))
        assert code == 4
        assert f"no running server '{port}' was found" in err


async def test_an_adopted_server_is_found_again_on_another_port(program: Path) -> None:
    first, second = free_port(), free_port()
    flags = ("--name", "wanderer", "--era", "legacy")
    with new_home() as home:
        with serving(program, first, *flags):
            code, _, err = run(home, "scan", "adopt", str(first))
            assert code == 0, err
            assert run(home, "scan", "adopt", str(first))[0] == 5
            assert run(home, "scan", "adopt", str(first), "--as", "copy")[0] == 0
            servers = json.loads((home / "servers.json").read_text())["mcpServers"]
            assert servers["wanderer"]["found"] == {
                "executable": str(program),
                "name": "wanderer",
            }
        with (
            running_hub({"wanderer": servers["wanderer"]}, home=home, settle=False) as hub,
            serving(program, second, *flags),
        ):
            until(lambda: _status(hub) == "ready")
            async with talking(hub) as client:
                result = await client.call("wanderer__echo", {"text": "here"})
                assert text_of(result) == "here"


async def test_a_stranger_on_the_port_of_an_adopted_server_is_not_it(program: Path) -> None:
    port = free_port()
    identity = {"executable": str(program), "name": "wanderer"}
    entry = {"url": f"http://127.0.0.1:{port}/mcp", "found": identity}
    with (
        running_http_stub("--name", "wanderer", "--port", str(port)),
        running_hub({"wanderer": entry}) as hub,
    ):
        (problem,) = hub.status()["problems"]
        assert f"port {port} now belongs to" in problem["text"]
        assert _status(hub) == "failing"


def _status(hub: RunningHub) -> str:
    return next(str(s["status"]) for s in hub.status()["servers"] if s["name"] == "wanderer")
