"""Runs a real hub for tests: its own process, home, token and free port."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures.forking import Forked, run
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import recorded, stub_command
from toolyard.records.directories import socket_path

TOKEN = "only-for-these-tests-0123456789"
PATIENCE = 60.0
SCRIPTED = Path(__file__).with_name("scripted.py")


@dataclass(frozen=True, slots=True)
class RunningHub:
    """Where a hub is and how to speak to it."""

    url: str
    home: Path
    process: subprocess.Popen[str]

    @property
    def mcp(self) -> str:
        """The address of its MCP door."""
        return f"{self.url}/mcp"

    @property
    def token(self) -> str:
        """The token that opens it."""
        return TOKEN

    @property
    def socket(self) -> Path:
        """The socket of its line door."""
        return Path(socket_path(str(self.home / "run")))

    @property
    def env(self) -> dict[str, str]:
        """What a process needs in its environment to find this hub."""
        return environment(self.home)

    def record(self, server: str) -> Path:
        """Where the stub of that name writes what happened to it."""
        return self.home / f"{server}.jsonl"

    async def happened(self, server: str, event: str, count: int = 1, **facts: Any) -> None:
        """Wait until a stub has recorded that many events with these facts."""
        end = time.monotonic() + PATIENCE
        while sum(facts.items() <= seen.items() for seen in self.events(server, event)) < count:
            assert time.monotonic() < end, f"no {event} {facts} in {self.events(server)[-10:]}"
            await asyncio.sleep(0.01)

    def events(self, server: str, event: str | None = None) -> list[dict[str, Any]]:
        """What a stub has recorded so far."""
        return recorded(self.record(server), event)

    def run(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """Run a command, which ends with this code; what it said on both streams."""
        done = run(toolyard(*words), env=self.env, said=stdin)
        assert done.returncode == code, (words, done)
        return done.stdout + done.stderr

    def ask(self, *words: str) -> Any:
        """Run a command that answers in JSON."""
        return json.loads(self.run("--json", *words))

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask the control door."""
        return self._send("GET", path)

    def status(self) -> dict[str, Any]:
        """How the yard is doing."""
        return json.loads(self.get("/api/v1/status")[1])

    def _send(self, method: str, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def wait_settled(self) -> None:
        """Wait until every server has been tried."""
        end, pause = time.monotonic() + PATIENCE, threading.Event()
        while self.get("/health/ready")[0] != 200:
            assert time.monotonic() < end, f"the hub did not settle: {self.status()}"
            pause.wait(0.02)


def environment(home: Path) -> dict[str, str]:
    """The whole environment of a hub's processes: nothing of the user's."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    source = str(Path(__file__).parents[2] / "src")
    places = {"HOME": str(home), "TOOLYARD_HOME": str(home), "PYTHONPATH": source}
    return {**kept, **places, "TOOLYARD_TOKEN": TOKEN, "NO_COLOR": "1"}


def toolyard(*words: str) -> list[str]:
    """The command line of our own program."""
    return [sys.executable, "-m", "toolyard", *words]


@contextmanager
def new_home() -> Iterator[Path]:
    """A home with a short path: that of a socket may have little more than 100 bytes."""
    home = Path(tempfile.mkdtemp(prefix="ty-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def running_hub(
    servers: Mapping[str, Any] | None,
    *flags: str,
    home: Path | None = None,
    env: Mapping[str, str] | None = None,
    settle: bool = True,
    within: Sequence[str] = (),
) -> Iterator[RunningHub]:
    """A hub in front of these servers, until the block ends; `flags` are those of `toolyard up`.

    A hub with a database has its servers there, and none are given. The words of `within` stand
    before its command line.
    """
    if home is None:
        with (
            new_home() as made,
            running_hub(servers, *flags, home=made, env=env, settle=settle, within=within) as h,
        ):
            yield h
        return
    config = () if servers is None else ("--config", _write_servers(home, servers))
    command = [*within, *toolyard("up", *config, "--port", str(free_port()), *flags)]
    # What says how Python starts is said to a Python that starts.
    is_loaded = not within and not any(name.startswith("PYTHON") for name in env or ())
    with open(home / "hub.err", "w") as errors:
        process = (Forked if is_loaded else subprocess.Popen)(
            command,
            env={**environment(home), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        hub = RunningHub(address_of(process, home), home, process)
        if settle:
            hub.wait_settled()
        yield hub
    finally:
        stop(process)


def _write_servers(home: Path, servers: Mapping[str, Any]) -> str:
    """Write the servers file of a hub; its path."""
    config = home / "config" / "servers.json"  # its folder is watched, so nothing else is in it
    config.parent.mkdir(mode=0o700, exist_ok=True)
    config.write_text(json.dumps({"mcpServers": dict(servers)}))
    return str(config)


def address_of(process: subprocess.Popen[str], home: Path) -> str:
    """Return where a hub that was just started listens."""
    assert process.stdout is not None
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    try:
        line = process.stdout.readline()
    finally:
        watch.cancel()
    assert "http://" in line, (home / "hub.err").read_text()
    return line[line.index("http://") :].split()[0]


def stop(process: subprocess.Popen[str]) -> None:
    """End a hub as a user would."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def stdio_stub(name: str, home: Path, *flags: str) -> dict[str, Any]:
    """The entry of a stub over stdio, which records what happens to it."""
    record = ("--record", str(home / f"{name}.jsonl"))
    return entry(stub_command("--name", name, *record, *flags))


def scripted(
    home: Path, name: str, replies: Mapping[str, str], **capabilities: Any
) -> dict[str, Any]:
    """The entry of a server whose answers are these very texts, by method."""
    script = home / f"{name}.script.json"
    script.write_text(json.dumps({"capabilities": capabilities, "replies": dict(replies)}))
    return entry([sys.executable, str(SCRIPTED), str(script)])


def entry(command: Sequence[str]) -> dict[str, Any]:
    """A command as `mcpServers` wants it."""
    return {"command": command[0], "args": list(command[1:])}
