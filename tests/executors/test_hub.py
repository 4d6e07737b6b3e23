"""A whole hub with servers on this machine, in containers and on a host over ssh."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import TOKEN, RunningHub, new_home, running_hub, toolyard
from tests.executors.docker.site import IMAGE, daemon_here
from tests.executors.ssh.site import need_sshd, running
from toolyard.executors.probe_server import probe_command

pytestmark = pytest.mark.executors

KILLS = 50
SCRIPT = [word.replace("${", "$${") for word in probe_command().argv]
"""As one writes it into a file, where `${` begins a reference."""
NAMES = ("here", "boxed", "there")


@dataclass(frozen=True)
class Places:
    """Two real places, and a word that is in the command line of everything started for us."""

    docker: str
    ssh: str
    ssh_options: tuple[str, ...]
    mark: str

    def servers(self) -> dict[str, Any]:
        entry = {"command": SCRIPT[0], "args": [*SCRIPT[1:], self.mark]}
        return {
            "here": entry,
            "boxed": entry | {"executor": {"name": "engine", "image": IMAGE, "memory": 64}},
            "there": entry | {"executor": "box"},
        }

    def running(self) -> list[int]:
        """The processes of all these servers; those in containers are seen from here too."""
        found = []
        for folder in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"sh") and self.mark.encode() in words:
                    found.append(int(folder.name))
        return found

    def name(self, hub: RunningHub) -> None:
        """Tell a hub of both places."""
        docker = ("executor", "add", "engine", "--type", "docker", "--host", self.docker)
        ssh = ("executor", "add", "box", "--type", "ssh", "--host", self.ssh, *self.ssh_options)
        for words in (docker, ssh):
            subprocess.run(toolyard(*words), env=hub.env, check=True, capture_output=True)


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    need_sshd()
    with ExitStack() as stack:
        daemon = stack.enter_context(daemon_here())
        sshd = stack.enter_context(running())
        site = sshd.site()
        options = [word for key, value in site.options for word in ("-o", f"{key}={value}")]
        host = f"unix://{daemon.socket}"
        yield Places(host, site.host, tuple(options), f"mark-{uuid.uuid4().hex}")


@contextmanager
def prepared(places: Places, home: Path, *, settle: bool = True) -> Iterator[RunningHub]:
    """A hub that was told of both places in an earlier life, in front of the three servers."""
    if not (home / "state" / "toolyard.db").exists():
        with running_hub({}, home=home) as hub:
            places.name(hub)
    with running_hub(places.servers(), home=home, settle=settle) as hub:
        yield hub


def run(hub: RunningHub, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        toolyard(*words), env=hub.env, capture_output=True, text=True, check=False, timeout=120
    )


def ping(url: str, server: str) -> None:
    """Call a server, whatever becomes of the hub meanwhile."""
    body = json.dumps({"server": server, "tool": "ping", "arguments": {}})
    head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("POST", "/api/v1/call", body, head)
        connection.getresponse().read()


def wait_for(places: Places, count: int, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while len(places.running()) != count:
        assert time.monotonic() < end, f"{len(places.running())} run, not {count}"
        threading.Event().wait(0.05)


def test_servers_run_where_their_entries_say(places: Places) -> None:
    with new_home() as home, prepared(places, home) as hub:
        for name in NAMES:
            done = run(hub, "call", name, "ping")
            assert "pong" in done.stdout, (name, done.stdout, done.stderr)
        wait_for(places, 3)
        tried = run(hub, "executor", "test", "engine", "--image", IMAGE)
        assert tried.returncode == 0, tried.stderr
        assert "the hub is reached from there" in tried.stdout
        tried = run(hub, "executor", "test", "box")
        assert tried.returncode == 0, tried.stderr
        assert "the hub is reached from there" in tried.stdout
        wait_for(places, 3)
    wait_for(places, 0)


def test_an_agent_at_a_place_has_its_processes_there(places: Places) -> None:
    with new_home() as home, running_hub({}, home=home) as hub:
        places.name(hub)
        words = [*SCRIPT[1:], places.mark]
        said = {"enabled": True, "servers": {"tiny": {"command": "sh", "args": words}}}
        subprocess.run(
            toolyard("agent", "set", "codex", "-"),
            env=hub.env,
            input=json.dumps(said),
            text=True,
            check=True,
        )
        wait_for(places, 0)
        why = run(hub, "agent", "why", "codex", "tiny", "--executor", "box", "--json")
        assert why.returncode == 0, why.stderr
        command = toolyard("mcp", "--agent", "codex", "--executor", "box")
        talk = subprocess.Popen(
            command, env=hub.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with talk:
            assert talk.stdin is not None
            assert talk.stdout is not None
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "x"},
            }
            ask = {"name": "tiny__ping", "arguments": {}}
            for number, (method, params) in enumerate(
                (("initialize", hello), ("tools/call", ask)), 1
            ):
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                talk.stdin.write(json.dumps(message) + "\n")
                talk.stdin.flush()
                while json.loads(line := talk.stdout.readline()).get("id") != number:
                    pass
            assert "pong" in line
            rows = json.loads(hub.get("/api/v1/instances")[1])["instances"]
            [row] = [each for each in rows if each["server"].startswith("tiny")]
            assert "127.0.0.1" in row["where"], row
            wait_for(places, 1)
            talk.stdin.close()
        wait_for(places, 0, 60.0)


@pytest.mark.timeout(600)
def test_a_hub_that_is_killed_again_and_again_leaves_and_doubles_nothing(places: Places) -> None:
    chance = random.Random(20)
    with new_home() as home:
        for _ in range(KILLS):
            with prepared(places, home, settle=False) as hub:
                calls = [threading.Thread(target=ping, args=(hub.url, name)) for name in NAMES]
                for call in calls:
                    call.start()
                threading.Event().wait(chance.uniform(0.0, 2.0))
                os.kill(hub.process.pid, signal.SIGKILL)
                hub.process.wait()
                for call in calls:
                    call.join(60)
        with prepared(places, home) as hub:
            for name in NAMES:
                assert "pong" in run(hub, "call", name, "ping").stdout
            wait_for(places, 3, 60.0)
        wait_for(places, 0)
