"""The processes of the benchmark: how each is started, found ready, measured and stopped."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
from load import LoadError, Target

HERE = Path(__file__).parent
UPSTREAM = str(HERE / "upstream.py")
TOKEN = "bench-token-bench-token-bench-token"


def stdio_upstream(tools: int = 0) -> list[str]:
    """The command line of a server over stdio."""
    return [sys.executable, UPSTREAM, "stdio", "--tools", str(tools)]


def hub_command(config: Path, port: int, python: str = sys.executable) -> list[str]:
    """How the hub is started: the one place that knows."""
    up = ["up", "--config", str(config), "--port", str(port)]
    return [python, "-m", "toolyard", *up]


def attach_command(python: str = sys.executable) -> list[str]:
    """How a client's stdio entry is started; it finds the hub that runs in the same home."""
    return [python, "-m", "toolyard", "mcp"]


def surroundings(home: Path) -> dict[str, str]:
    """An environment in which the hub reads and writes nothing of the user's."""
    places = {
        f"XDG_{kind}": str(home / kind.lower())
        for kind in ("CONFIG_HOME", "STATE_HOME", "CACHE_HOME", "DATA_HOME", "RUNTIME_DIR")
    }
    for place in places.values():
        Path(place).mkdir(mode=0o700, exist_ok=True)
    # Whatever the shell says, Python keeps what it compiled: we measure no compiler.
    kept = {"PYTHONDONTWRITEBYTECODE": ""}
    return {**os.environ, **places, **kept, "HOME": str(home), "TOOLYARD_TOKEN": TOKEN}


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


Contestant = TypeVar("Contestant")


def in_turn(contestants: Sequence[Contestant], round_number: int) -> Sequence[Contestant]:
    """The contestants in the order of this round: every other round begins with the last."""
    return contestants[::-1] if round_number % 2 else contestants


@dataclass
class Running:
    """A relay or hub under test."""

    process: subprocess.Popen[str]
    target: Target
    began: float
    environment: dict[str, str] | None = None
    is_relay: bool = False

    def cpu(self) -> float:
        """CPU seconds, user and system, of it and all it started except servers."""
        return sum(cpu_of(process) for process in self._own())

    def pids(self) -> list[int]:
        """It and all it started except servers."""
        return [process.pid for process in self._own()]

    def rss(self) -> float:
        """Memory in MB: resident of the process, and what its children alone take besides.

        A child of ours runs the same Python; the pages it shares are counted once.
        """
        root, *children = self._own()
        alone = sum(child.memory_full_info().uss for child in children)
        return float(root.memory_info().rss + alone) / 1e6

    def most_rss(self) -> float:
        """Memory in MB at its highest since the start, of the process; of its children, now."""
        root, *children = self._own()
        alone = sum(child.memory_full_info().uss for child in children)
        return highest_rss(root) + alone / 1e6

    def _own(self) -> list[psutil.Process]:
        root = psutil.Process(self.process.pid)
        return [root, *(child for child in root.children(True) if not is_upstream(child))]


def is_upstream(process: psutil.Process) -> bool:
    """Is this one of the servers, whose cost is not the hub's?"""
    try:
        return UPSTREAM in process.cmdline()
    except psutil.Error:
        return True


def highest_rss(process: psutil.Process) -> float:
    """The most memory that a process has had resident, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("\nVmHWM:")[2].split()[0]) * 1024 / 1e6


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds of a process: from the scheduler where it says so, which is finer than ticks."""
    try:
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (OSError, IndexError):
        times = process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def stopped_after(process: subprocess.Popen[str]) -> Iterator[None]:
    """Stop a process in the end, gently first so that it can stop its own children."""
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def http_upstreams(servers: int, tools: int) -> Iterator[list[str]]:
    """Servers over HTTP, all in one process; gives their addresses."""
    command = [sys.executable, UPSTREAM, "http", "--servers", str(servers), "--tools", str(tools)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with stopped_after(process):
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())


@contextmanager
def relay(urls: list[str], commands: list[list[str]]) -> Iterator[Running]:
    """The bare relay in front of these servers, called s00, s01 and so on."""
    argv = [sys.executable, str(HERE / "relay.py")]
    for number, url in enumerate(urls):
        argv += ["--http", f"s{number:02}={url}"]
    for number, command in enumerate(commands, len(urls)):
        argv += ["--stdio", f"s{number:02}={shlex.join(command)}"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    with stopped_after(process):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        target = Target(url, prefix="s00__")
        yield Running(process, target, time.perf_counter(), is_relay=True)


@contextmanager
def explained(log: Path) -> Iterator[None]:
    """Add what the hub said last to whatever goes wrong."""
    try:
        yield
    except Exception as error:
        said = log.read_text(errors="replace").splitlines()[-15:]
        error.add_note("\n".join(["the hub's last lines:", *said]))
        raise


@contextmanager
def hub(
    urls: list[str],
    commands: list[list[str]],
    python: str = sys.executable,
    start_with: Callable[[list[str]], list[str]] = list,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """The hub in front of these servers; it may not have opened its door yet.

    `python` is that of another checkout, for a hub to compare with; `start_with` turns the hub's
    command into the one that is carried out; `settings` are variables for it.
    """
    with tempfile.TemporaryDirectory(prefix="ty-") as name:
        home = Path(name)
        servers: list[dict[str, object]] = [{"url": url} for url in urls]
        servers += [{"command": argv[0], "args": argv[1:]} for argv in commands]
        named = {f"s{number:02}": server for number, server in enumerate(servers)}
        config, port = home / "servers.json", free_port()
        config.write_text(json.dumps({"mcpServers": named}))
        environment = surroundings(home) | dict(settings or {})
        with (home / "out").open("w+") as out:
            began = time.perf_counter()
            argv = start_with(hub_command(config, port, python))
            process = subprocess.Popen(argv, env=environment, stdout=out, stderr=out, text=True)
            target = Target(f"http://127.0.0.1:{port}/mcp", TOKEN, "s00__")
            with stopped_after(process), explained(home / "out"):
                yield Running(process, target, began, environment)


async def door_opens(running: Running, seconds: float = 15) -> None:
    """Wait until it accepts connections.

    Raises:
        TimeoutError: It does not, or it has ended.
    """
    async with asyncio.timeout(seconds):
        while True:
            try:
                (await running.target.connect()).transport.close()
                return
            except OSError:
                if running.process.poll() is not None:
                    raise TimeoutError(f"it ended with {running.process.returncode}") from None
                await asyncio.sleep(0.002)


async def tools_arrive(running: Running, count: int, seconds: float = 30) -> None:
    """Wait until at least that many tools of servers are listed.

    Raises:
        TimeoutError: They do not arrive.
    """
    line = await running.target.connect()
    session = await running.target.open(line)
    async with asyncio.timeout(seconds):
        while True:
            with suppress(LoadError):  # the list changed between two of its pages
                names = await running.target.tools(line, session)
                if sum(name.startswith("s") and "__" in name for name in names) >= count:
                    break
            await asyncio.sleep(0.01)
    await running.target.close(line, session)
    line.transport.close()
