"""Clients that start `toolyard mcp`, and the hub in the background that they share."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.hub import TOKEN, environment, new_home, toolyard
from tests.e2e.talk import ALL, ANSWERS, Json, LineTalk
from tests.fixtures.forking import run as run_forked
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import recorded
from toolyard.records.runfile import HubState, RunDir

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Background:
    """The hub that clients start, and start again."""

    home: Path
    env: dict[str, str]

    @property
    def state(self) -> HubState | None:
        """The hub that runs."""
        return RunDir(self.home / "run").read()

    @property
    def pid(self) -> int:
        """The process of the hub that runs."""
        state = self.state
        assert state is not None
        return state.pid

    def run(self, *words: str) -> str:
        """Run a command to its end; what it said."""
        done = run_forked(toolyard(*words), env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """End the hub that runs, and see it gone; its pid."""
        state = self.state
        assert state is not None
        os.kill(state.pid, number)
        await until(lambda: not state.is_alive)
        return state.pid

    def wait_settled(self) -> None:
        """Wait until every server has been tried."""
        state, pause = self.state, threading.Event()
        assert state is not None
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        ready = urllib.request.Request(f"{state.url}/health/ready", headers=bearer)
        for _ in range(int(PATIENCE / 0.05)):
            try:
                with urllib.request.urlopen(ready, timeout=PATIENCE):
                    return
            except urllib.error.HTTPError as error:
                assert error.code == 503, error
                pause.wait(0.05)
        raise AssertionError("the hub did not settle")

    def events(self, server: str, event: str) -> list[Json]:
        """What a stub has recorded."""
        return recorded(self.home / f"{server}.jsonl", event)


@contextmanager
def background(
    make: Callable[[Path], Mapping[str, Any]],
    env: Mapping[str, str] | None = None,
    *,
    settle: bool = True,
) -> Iterator[Background]:
    """A hub in the background that knows its servers; `make` gives these, for a home."""
    with new_home() as home:
        (home / "servers.json").write_text(json.dumps({"mcpServers": dict(make(home))}))
        own = {"TOOLYARD_PORT": str(free_port()), **(env or {})}
        yard = Background(home, {**environment(home), **own})
        try:
            yard.run("up", "--detach")
            if settle:
                yard.wait_settled()
            yield yard
        finally:
            run_forked(toolyard("down"), env=yard.env)


class EntryTalk(LineTalk):
    """A client whose server is `toolyard mcp`."""

    process: asyncio.subprocess.Process

    @asynccontextmanager
    async def started(self, yard: Background, *words: str) -> AsyncIterator[None]:
        self.waiting = {}
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *toolyard("mcp", *words), env=yard.env, stdin=pipe, stdout=pipe, limit=1 << 24
        )
        assert self.process.stdin and self.process.stdout
        self.reader, self.writer = self.process.stdout, self.process.stdin
        running = self.group.create_task(self.run())
        try:
            async with asyncio.timeout(PATIENCE):
                await self.greet()
            yield
        finally:
            running.cancel()
            self.writer.close()
            async with asyncio.timeout(PATIENCE):
                assert await self.process.wait() == 0

    async def request(self, *args: Any, **more: Any) -> Json:
        """Send a request; the hub may have to be started first."""
        async with asyncio.timeout(PATIENCE):
            return await self.exchange(self.message(*args, **more))


@asynccontextmanager
async def attached(
    yard: Background, era: str = "legacy", *words: str, answers: Mapping[str, Any] | None = None
) -> AsyncIterator[EntryTalk]:
    """A client that was started in this yard."""
    talk = EntryTalk(era, "talk", ALL, {**ANSWERS, **(answers or {})})
    async with talk.group, talk.started(yard, *words):
        yield talk


async def until(holds: Callable[[], object]) -> None:
    """Wait for what nothing tells of."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)
