"""What is announced in a project is for the clients of that project."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import pytest

from tests.doors.doors import modern
from tests.e2e.hub import RunningHub, environment, new_home, running_hub, toolyard
from tests.e2e.talk import Talk, talking, text_of
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import STUB, stub_command
from toolyard.announce import Announcements, user_path

PATIENCE = 60.0


@contextmanager
def announced(folder: Path, file: Path, name: str = "adder") -> Iterator[int]:
    """A server that runs in a folder and is in an announce file; gives its process."""
    port = free_port()
    command = [sys.executable, str(STUB), "http", "--port", str(port), "--only", "where"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        http = {"enabled": True, "url": f"http://127.0.0.1:{port}/mcp"}
        entry = {"name": name, "pid": process.pid, "http": http, "cwd": str(folder)}
        Announcements(file).register_server(f"{name}_{process.pid}", entry)
        try:
            yield process.pid
        finally:
            process.kill()


def place(project: Path) -> Path:
    return project / ".nisaba" / "mcp_servers.json"


@pytest.fixture
def projects(tmp_path: Path) -> tuple[Path, Path]:
    both = tmp_path / "one", tmp_path / "two"
    for project in both:
        (project / ".git").mkdir(parents=True)
        (project / "deep").mkdir()
    return both


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    with new_home() as home, running_hub({}, home=home) as running:
        yield running


async def sees(client: Talk, *servers: str) -> None:
    """Wait until these are the servers whose tools a client is offered."""
    async with asyncio.timeout(PATIENCE):
        while True:
            tools = (await client.request("tools/list"))["result"]["tools"]
            named = {tool["name"].partition("__")[0] for tool in tools if "__" in tool["name"]}
            if named == set(servers):
                return
            await asyncio.sleep(0.02)


def attached(hub: RunningHub, folder: Path) -> AbstractAsyncContextManager[Talk]:
    """A client that works in a folder, as `toolyard mcp` attaches it."""
    return talking(hub, cwd=str(folder))


async def test_clients_of_two_projects_each_see_their_own_server_by_its_own_name(
    hub: RunningHub, projects: tuple[Path, Path]
) -> None:
    one, two = projects
    with announced(one, place(one)), announced(two, place(two)):
        async with attached(hub, one / "deep") as first, attached(hub, two) as second:
            for client, project in ((first, one), (second, two)):
                await sees(client, "adder")
                assert str(project) in text_of(await client.call("adder__where"))
                order = {"server": "adder", "tool": "where", "arguments": {}}
                assert str(project) in text_of(await client.call("toolyard_destroy", order))
                assert text_of(await client.call("toolyard_status")).count("adder") == 1


async def test_a_client_that_comes_from_another_hub_is_offered_what_its_project_announces_at_once(
    hub: RunningHub, projects: tuple[Path, Path]
) -> None:
    one, _ = projects
    with announced(one, place(one)):
        async with talking(hub, cwd=str(one), again=True) as client:
            tools = (await client.request("tools/list"))["result"]["tools"]
            assert "adder__where" in {tool["name"] for tool in tools}


async def test_a_client_with_a_hub_of_its_own_is_offered_what_its_project_announces(
    projects: tuple[Path, Path],
) -> None:
    one, _ = projects
    with new_home() as home, announced(one, place(one)):
        process = await asyncio.create_subprocess_exec(
            *toolyard("mcp", "--standalone"),
            cwd=one,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                while "adder__where" not in await listed_by(process):
                    pass
        finally:
            await process.communicate(b"")


async def listed_by(process: asyncio.subprocess.Process) -> set[str]:
    """The tools that a modern client is offered by a hub of its own."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(modern("tools/list")).encode() + b"\n")
    while True:
        message = json.loads(await process.stdout.readline())
        if "result" in message:
            return {tool["name"] for tool in message["result"]["tools"]}


async def test_a_client_of_no_project_sees_what_the_user_announced_and_nothing_else(
    hub: RunningHub, projects: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_HOME", str(hub.home))
    one, _ = projects
    with announced(one, place(one)), announced(tmp_path, user_path(), "mine"):
        async with attached(hub, one) as insider, attached(hub, tmp_path) as outsider:
            await sees(insider, "adder", "mine")
            await sees(outsider, "mine")
            async with talking(hub, door="http") as over_http:
                await sees(over_http, "mine")


async def test_a_name_that_everybody_has_stays_theirs_in_a_project_too(
    hub: RunningHub, projects: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_HOME", str(hub.home))
    one, _ = projects
    with announced(tmp_path, user_path()):
        async with attached(hub, one) as client:
            await sees(client, "adder")
            with announced(one, place(one)):
                await sees(client, "adder", "adder-2")


async def test_a_server_that_is_written_down_for_a_project_is_for_its_clients_alone(
    projects: tuple[Path, Path],
) -> None:
    one, two = projects
    command, *args = stub_command("--only", "where")
    servers = {"notes": {"command": command, "args": args, "cwd": str(one), "project": f"{one}/"}}
    with new_home() as home, running_hub(servers, home=home) as hub:
        async with attached(hub, one / "deep") as insider, attached(hub, two) as outsider:
            await sees(insider, "notes")
            assert str(one) in text_of(await insider.call("notes__where"))
            await sees(outsider)
            async with talking(hub, door="http") as over_http:
                await sees(over_http)
