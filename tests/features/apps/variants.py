"""Variants of an app as real processes on ports of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.fixtures.ports import free_ports
from tests.fixtures.stub_run import STUB
from toolyard.core.apps import App
from toolyard.core.model import Report, ServerId
from toolyard.core.watches import settle
from toolyard.features.apps.scanner import Scan
from toolyard.links.probe import probe

SQUATTER = STUB.with_name("squatter.py")
NAMES = ("legacy", "stable", "unstable", "dev", "local", "e2e")


class Process:
    """A variant that can be killed and started again on its port."""

    def __init__(self, port: int, *flags: str) -> None:
        self.port = port
        self._flags = flags
        self._process: subprocess.Popen[str] | None = None

    def start(self, *flags: str) -> None:
        """Start it and wait until it listens."""
        command = [sys.executable, str(STUB), "http", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, *(flags or self._flags)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the variant did not start"

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextmanager
def variants(*names: str, record: Path | None = None) -> Iterator[dict[str, Process]]:
    """Processes that are not started yet, of alternating era; killed in the end."""
    made: dict[str, Process] = {}
    for at, (name, port) in enumerate(zip(names, free_ports(len(names)), strict=True)):
        flags = ["--name", f"The Yardstick ({name})", "--era", ("legacy", "modern")[at % 2]]
        if record is not None:
            flags += ["--record", str(record / f"{name}.jsonl")]
        made[name] = Process(port, *flags)
    try:
        yield made
    finally:
        for each in made.values():
            each.kill()


@contextmanager
def squatter(port: int, uid: int) -> Iterator[subprocess.Popen[str]]:
    """Another user's process that listens on a port."""
    command = [sys.executable, str(SQUATTER), str(port), str(uid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        try:
            yield process
        finally:
            process.kill()


class Watcher:
    """What a scan posted and whom it saw replaced, to be waited for."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.replaced: list[tuple[ServerId, str]] = []
        self._wake = asyncio.Event()
        self.scan: Scan

    def post(self, report: Report) -> None:
        self.reports.append(report)
        self._wake.set()

    def note(self, id_: ServerId, why: str, since: float) -> None:
        self.replaced.append((id_, why))

    @property
    def names(self) -> list[str]:
        return [server.id.name for server in self.reports[-1].servers]

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.reports[-1].problems]

    async def until(self, holds: Callable[[], bool], within: float = 60.0) -> None:
        async with asyncio.timeout(within):
            while not self.reports or not holds():
                self._wake.clear()
                await self._wake.wait()


def an_app(processes: dict[str, Process]) -> App:
    """An app whose variants are these."""
    ports = tuple((name, process.port) for name, process in processes.items())
    return App("yardstick", "yardstick", ports, title="Yardstick")


@asynccontextmanager
async def scanning(app: App, interval: int = 100, **env: str) -> AsyncIterator[Watcher]:
    """A scan that runs for as long as the block lasts."""
    watcher = Watcher()
    watch, problems = settle(app, {"TOOLYARD_YARDSTICK_SCAN_INTERVAL": str(interval), **env})
    watcher.scan = Scan(watch, problems, probe, watcher.note)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watcher.scan.run(watcher.post))
        try:
            yield watcher
        finally:
            task.cancel()
