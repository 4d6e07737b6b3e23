"""Clients of both eras that call without pause, repeat nothing, and count what happens."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.doors.doors import INITIALIZE, Answer, Doors, Json, Raw, call, mirrored, modern


@dataclass
class Outcomes:
    """The ends of all calls."""

    answered: int = 0
    initialized: int = 0
    """Sessions that were begun: one for each legacy client, if none is lost."""
    failed: Counter[str] = field(default_factory=Counter)
    """By reason."""


class ModernCaller:
    """A client of 2026-07-28: every request stands alone."""

    def __init__(self, port: int, tool: str, outcomes: Outcomes) -> None:
        self.doors = Doors(port, Path())
        self.outcomes = outcomes
        self._tool = tool
        self._number = 0
        self._raw: Raw | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Call, until told to stop."""
        try:
            while not stop.is_set():
                await self._count(f"{type(self).__name__}-{self._number}")
        finally:
            if self._raw is not None:
                await self._raw.close()

    async def call(self, text: str) -> Answer:
        """Have the tool repeat a text."""
        message = modern("tools/call", {"name": self._tool, "arguments": {"text": text}})
        headers = {**mirrored(message), "Accept": "application/json"}
        return await self.send(message, headers)

    async def send(self, message: Json, headers: dict[str, str]) -> Answer:
        """Send a message on the connection that is open, or a new one; its answer."""
        if self._raw is None:
            self._raw = Raw(*await asyncio.open_connection("127.0.0.1", self.doors.port))
        raw, self._raw = self._raw, None
        try:
            await raw.send(
                self.doors.request("POST", "/mcp", json.dumps(message).encode(), headers)
            )
            answer = await raw.answer()
        except BaseException:
            await raw.close()
            raise
        if answer.headers.get("connection") == "close":
            await raw.close()
        else:
            self._raw = raw
        return answer

    async def _count(self, text: str) -> None:
        self._number += 1
        try:
            answer = await self.call(text)
        except (OSError, EOFError) as error:
            self.outcomes.failed[type(error).__name__] += 1
            return
        if answer.status == 200 and _text(answer) == text:
            self.outcomes.answered += 1
        else:
            self.outcomes.failed[f"{answer.status} {answer.body[:200]!r}"] += 1


class LegacyCaller(ModernCaller):
    """A client of 2025-11-25: it begins a session, and a new one when that is lost."""

    _session: dict[str, str] | None = None

    async def call(self, text: str) -> Answer:
        """Have the tool repeat a text, within the session."""
        if self._session is None:
            self._session = await self._begin()
        params = {"name": self._tool, "arguments": {"text": text}}
        answer = await self.send(call("tools/call", params), self._session)
        if answer.status == 404:
            self._session = None
        return answer

    async def _begin(self) -> dict[str, str]:
        answer = await self.send(call("initialize", INITIALIZE), {})
        assert answer.status == 200, answer
        self.outcomes.initialized += 1
        session = answer.headers["mcp-session-id"]
        headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        return headers


def _text(answer: Answer) -> str:
    """The text of a result; it comes alone, or as the last event of a stream."""
    body = answer.body
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        body = [line[5:] for line in body.splitlines() if line.startswith(b"data:")][-1]
    result = json.loads(body).get("result") or {}
    parts = result.get("content") or [{}]
    return str(parts[0].get("text", ""))


@asynccontextmanager
async def calling(callers: Sequence[ModernCaller]) -> AsyncIterator[None]:
    """All of them call, until the block ends; calls under way are answered first."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for caller in callers:
            group.create_task(caller.run(stop))
        try:
            yield
        finally:
            stop.set()


async def progressed(outcomes: Outcomes, count: int, seconds: float = 120.0) -> None:
    """Wait until that many more calls have ended."""
    end = outcomes.answered + outcomes.failed.total() + count
    async with asyncio.timeout(seconds):
        while outcomes.answered + outcomes.failed.total() < end:  # noqa: ASYNC110 - a count
            await asyncio.sleep(0.02)
