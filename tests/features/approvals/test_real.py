"""Servers that others wrote: verified, written down, and called, without a network."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.e2e.talk import Talk, talking, text_of
from tests.features.approvals import servers
from tests.features.approvals.yard import Json, ask, command, described
from toolyard.features.catalog.store import Catalog

pytestmark = [
    pytest.mark.timeout(servers.PATIENCE + 60),  # the first run fetches
    pytest.mark.xdist_group("real servers"),
]
PAGE = b"<html><body><h1>A page</h1><p>of this very machine</p></body></html>"


class _Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def website() -> Iterator[str]:
    """A page to fetch, on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def define(home: Path, name: str, argv: list[str], env: Json | None = None) -> None:
    """Put a server into the catalog, and from there into the yard."""
    catalog = Catalog(home / "data" / "catalog")
    runtime = {"command": argv[0], "args": argv[1:], "env": env or {}}
    catalog.put(json.dumps({"name": name, "runtime": runtime}).encode())
    catalog.add(name)


def on_file(hub: RunningHub, name: str) -> Json:
    """What the catalog has of a server."""
    return json.loads((hub.home / "data" / "catalog" / "custom" / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def pythons() -> Iterator[RunningHub]:
    """A hub in front of servers from PyPI."""
    box = servers.python_servers()
    with new_home() as home:
        repository = home / "repository"
        subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
        (repository / "new.txt").write_text("something")
        arguments = {
            "time": ("--local-timezone", "UTC"),
            "git": ("--repository", str(repository)),
            "fetch": ("--ignore-robots-txt", "--allow-private-ips"),
            "sqlite": ("--db-path", str(home / "some.db")),
        }
        for name, more in arguments.items():
            define(home, name, servers.python_command(box, name, *more))
        with running_hub({}, home=home, settle=False) as hub:
            yield hub


@pytest.fixture(scope="module")
def nodes() -> Iterator[RunningHub]:
    """A hub in front of servers from npm."""
    node, box = servers.node_servers()
    with new_home() as home:
        files = home / "files"
        files.mkdir()
        (files / "note.txt").write_text("a note")
        for name in servers.NODE_NAMES:
            more = (str(files),) if name == "filesystem" else ()
            env = {"MEMORY_FILE_PATH": str(home / "memory.jsonl")} if name == "memory" else {}
            define(home, name, servers.node_command(node, box, name, *more), env)
        with running_hub({}, home=home, settle=False) as hub:
            yield hub


def verify_all(hub: RunningHub, names: tuple[str, ...]) -> None:
    """Verify every server at once; each must be on file afterwards, as it said it."""
    done = command(hub.home, "verify", "--all", "--json", "--timeout", "45")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["failed"]) == (0, []), done.stdout
    found = {each["server"]: each for each in answer["verified"]}
    assert set(found) == set(names)
    for name, each in found.items():
        assert each["tools"] and each["schema_tokens"] > 0 and each["first_answer_ms"] > 0
        assert {change["kind"] for change in each["changes"]} == {"new"}
        said = on_file(hub, name)
        assert [tool["name"] for tool in said["tools"]] == each["tools"]
        assert each["verified_at"] in json.dumps(said)
        assert described(hub, name)["server_version"] == each["server_version"] != ""
    again = ask(hub, "POST", f"/api/v1/servers/{names[0]}/verify", {})[1]
    assert again["changes"] == []


def call(hub: RunningHub, server: str, tool: str, **arguments: Any) -> str:
    """Call a tool through the hub; the text of its answer."""
    body = {"server": server, "tool": tool, "arguments": arguments}
    status, answer = ask(hub, "POST", "/api/v1/call", body)
    assert status == 200 and not answer.get("isError"), answer
    return "\n".join(part.get("text", "") for part in answer["content"])


def test_servers_from_pypi_are_verified_and_called(pythons: RunningHub) -> None:
    verify_all(pythons, servers.PYTHON_NAMES)
    assert "UTC" in call(pythons, "time", "get_current_time", timezone="UTC")
    repository = str(pythons.home / "repository")
    assert "new.txt" in call(pythons, "git", "git_status", repo_path=repository)
    call(pythons, "sqlite", "create_table", query="create table t (n integer)")
    call(pythons, "sqlite", "write_query", query="insert into t values (42)")
    assert "42" in call(pythons, "sqlite", "read_query", query="select n from t")
    with website() as url:
        assert "of this very machine" in call(pythons, "fetch", "fetch", url=url)


def test_servers_from_npm_are_verified_and_called(nodes: RunningHub) -> None:
    verify_all(nodes, servers.NODE_NAMES)
    assert "hello" in call(nodes, "everything", "echo", message="hello")
    note = str(nodes.home / "files" / "note.txt")
    assert "a note" in call(nodes, "filesystem", "read_text_file", path=note)
    ada = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    call(nodes, "memory", "create_entities", entities=[ada])
    assert "Ada" in call(nodes, "memory", "read_graph")
    thought = {"thought": "so", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    assert call(nodes, "sequential-thinking", "sequentialthinking", **thought)


async def test_the_filesystem_server_has_the_folders_of_the_client_it_serves() -> None:
    node, box = servers.node_servers()
    with new_home() as home:
        for name in ("one", "two"):
            (home / name).mkdir()
        entry = servers.node_command(node, box, "filesystem")
        with running_hub({"fs": {"command": entry[0], "args": entry[1:]}}, home=home) as hub:
            wait_until_asked(hub)
            async with at_work_in(hub, home / "one") as one, at_work_in(hub, home / "two") as two:
                for talk, own, others in ((one, "one", "two"), (two, "two", "one")):
                    # It answers calls before it has read what it was told of folders.
                    told = ""
                    while str(home / own) not in told:
                        told = text_of(await talk.call("fs__list_allowed_directories"))
                        assert str(home / others) not in told


def wait_until_asked(hub: RunningHub) -> None:
    """Wait until the hub has seen that the server asks for folders."""
    end, pause = time.monotonic() + 30, threading.Event()
    while not hub.status()["servers"][0]["asks"]:
        assert time.monotonic() < end, hub.status()
        pause.wait(0.05)


@asynccontextmanager
async def at_work_in(hub: RunningHub, folder: Path) -> AsyncIterator[Talk]:
    """A client that works in a folder."""
    answers = {"roots/list": {"roots": [{"uri": folder.as_uri()}]}}
    async with talking(hub, name=folder.name, answers=answers) as talk:
        yield talk


def test_a_server_for_an_older_sdk_is_recognised_and_the_cure_is_offered() -> None:
    box = servers.python_servers()
    argv = servers.broken_command()
    assert argv[0] == sys.executable
    env = {"PYTHONPATH": str(box / "bare")}
    with new_home() as home:
        define(home, "old", argv, env)
        before = (home / "data" / "catalog" / "custom" / "old.json").read_bytes()
        with running_hub({}, home=home, settle=False) as hub:
            failed = command(hub.home, "verify", "old", "--timeout", "30")
            assert failed.returncode == 1
            assert "mcp<2" in failed.stdout and "has no attribute" in failed.stdout
        assert (home / "data" / "catalog" / "custom" / "old.json").read_bytes() == before
