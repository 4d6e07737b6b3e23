"""Clients of both eras that work without pause, repeat nothing, and count what happens.

Each message may reach another replica than the last: answers to questions, the rounds of a call
that waits for them, and requests about tasks as much as calls.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from tests.doors.doors import Doors, Json, Raw, call, mirrored, modern
from tests.e2e.talk import ANSWERS

OLD, NEW = "old", "new"
"""Servers of either era."""
ECHOES = 24
"""Plain calls, for each round of the others."""
QUESTIONS = [(tool, server) for tool in ("ask", "sample", "progress") for server in (OLD, NEW)]
CAPABILITIES: Json = {"elicitation": {"form": {}}, "sampling": {}}
PATIENCE = 60.0
"""Seconds after which something hangs."""


class FailedCallError(Exception):
    """A call that was not answered as it should be."""


@dataclass
class Outcomes:
    """The ends of all calls."""

    answered: Counter[str] = field(default_factory=Counter)
    """By what was done."""
    failed: Counter[str] = field(default_factory=Counter)
    """By what was done, and why it failed."""
    initialized: int = 0
    """Sessions that were begun: one for each legacy client, if none is lost."""

    @property
    def calls(self) -> int:
        """All that have ended."""
        return self.answered.total() + self.failed.total()

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self.answered.items()))
        failed = "".join(f"\n  failed {n} x {why}" for why, n in self.failed.most_common(20))
        ends = f"{self.calls} calls, {self.failed.total()} failed, {self.initialized} sessions"
        return f"{ends} ({kinds}){failed}"


class Caller:
    """A client that calls, answers what it is asked, and follows its tasks."""

    def __init__(self, name: str, where: int | Doors, outcomes: Outcomes) -> None:
        """Call at a port of this machine, or elsewhere."""
        self.name = name
        self.doors = where if isinstance(where, Doors) else Doors(where, Path())
        self.outcomes = outcomes
        self.heard: list[Json] = []
        """What it was told while its last call was under way."""
        self._numbers = count(1)
        self._idle: list[Raw] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Work, until told to stop."""
        works = self.works()
        try:
            while not stop.is_set():
                tool, server = works[next(self._numbers) % len(works)]
                await self.attempt(tool, server)
        finally:
            await self.close()

    async def close(self) -> None:
        """Hang up."""
        while self._idle:
            await self._idle.pop().close()

    def works(self) -> list[tuple[str, str]]:
        """All that it does over and over: a tool, and whose."""
        echoes = [("echo", server) for server in (OLD, NEW)] * (ECHOES // 2)
        return [*echoes, *QUESTIONS]

    async def attempt(self, tool: str, server: str) -> None:
        """Do something, and count what became of it."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.work(tool, server)
        except (OSError, EOFError, TimeoutError, FailedCallError) as error:
            self.outcomes.failed[f"{tool} {server}: {type(error).__name__} {error}"] += 1
        else:
            self.outcomes.answered[tool] += 1

    async def work(self, tool: str, server: str) -> None:
        """Call a tool, and see that it did what it was told.

        Raises:
            FailedCallError: It did not.
        """
        text = f"{self.name}-{next(self._numbers)}"
        arguments = {"text": text, "n": 3, "question": text, "prompt": text}
        result = await self.call(f"{server}__{tool}", arguments, progressToken=text)
        steps = [note["params"] for note in self.heard if note["method"].endswith("/progress")]
        expected = {"echo": text, "ask": '"Ada"', "sample": '"hello"', "progress": "3 steps"}
        told = [step["progress"] for step in steps if step["progressToken"] == text]
        if expected[tool] not in text_of(result) or told != ([1, 2, 3] * (tool == "progress")):
            raise FailedCallError(f"wrong answer: {result}, told {steps}")

    async def call(self, tool: str, arguments: Json, **meta: str) -> Json:
        """Call a tool until it is done, whatever is asked meanwhile; its result."""
        params: Json = {"name": tool, "arguments": arguments, "_meta": meta}
        return await self.request("tools/call", params)

    async def request(self, method: str, params: Json) -> Json:
        """Send a request that must succeed; its result."""
        self.heard.clear()
        response = await self.send(self.message(method, params))
        if "result" not in response:
            raise FailedCallError(str(response)[:300])
        result: Json = response["result"]
        return result

    async def send(self, message: Json) -> Json:
        """Send a message on the next free connection; what is answered to it at last."""
        raw = await self.connect()
        try:
            headers = await self.post(raw, message)
            response: Json = {}
            async for part in messages(raw, headers):
                if "method" not in part:
                    response = part
                elif "id" in part:
                    await self.answer(part)
                else:
                    self.heard.append(part)
        except BaseException:
            await raw.close()
            raise
        if headers.get("connection") == "close":
            await raw.close()
        else:
            self._idle.append(raw)
        return response

    async def connect(self) -> Raw:
        """A connection that nobody uses."""
        if self._idle:
            return self._idle.pop()
        return Raw(*await asyncio.open_connection(self.doors.address, self.doors.port))

    async def post(self, raw: Raw, message: Json) -> dict[str, str]:
        """Send a message; the headers of what comes back."""
        body, headers = json.dumps(message).encode(), self.headers(message)
        await raw.send(self.doors.request("POST", "/mcp", body, headers))
        status, got = await raw.head()
        if status >= 400:
            await self.refused(status, got, raw)
        return got

    async def refused(self, status: int, headers: dict[str, str], raw: Raw) -> None:
        """Fail, with what the hub says of it."""
        length = int(headers.get("content-length", 0))
        raise FailedCallError(f"{status} {(await raw.reader.readexactly(length))[:300]!r}")

    async def answer(self, question: Json) -> None:
        """Answer a question, over another connection."""
        result = ANSWERS[question["method"]]
        await self.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def message(self, method: str, params: Json) -> Json:
        """A request of its era."""
        raise NotImplementedError

    def headers(self, message: Json) -> dict[str, str]:
        """The headers that its era wants."""
        raise NotImplementedError

    @asynccontextmanager
    async def following(self, uri: str) -> AsyncIterator[AsyncIterator[Json]]:
        """Follow a resource; gives what is said on the stream for it."""
        raise NotImplementedError
        yield


class ModernCaller(Caller):
    """A client of 2026-07-28: every request stands alone."""

    async def call(self, tool: str, arguments: Json, **meta: str) -> Json:
        params: Json = {"name": tool, "arguments": arguments, "_meta": meta}
        result = await self.request("tools/call", params)
        while result["resultType"] == "input_required":
            answers = {key: ANSWERS[q["method"]] for key, q in result["inputRequests"].items()}
            rounds = {"inputResponses": answers, "requestState": result["requestState"]}
            result = await self.request("tools/call", {**params, **rounds})
        return result

    def message(self, method: str, params: Json) -> Json:
        marks = params.get("_meta", {})
        made = modern(method, params, clientCapabilities=CAPABILITIES, clientInfo=self._info)
        made["params"]["_meta"] |= marks
        return {**made, "id": next(self._numbers)}

    @property
    def _info(self) -> Json:
        return {"name": self.name, "version": "1"}

    def headers(self, message: Json) -> dict[str, str]:
        return mirrored(message)

    @asynccontextmanager
    async def following(self, uri: str) -> AsyncIterator[AsyncIterator[Json]]:
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        raw = await self.connect()
        try:
            headers = await self.post(raw, self.message("subscriptions/listen", wanted))
            yield messages(raw, headers)
        finally:
            await raw.close()


class LegacyCaller(Caller):
    """A client of 2025-11-25: it begins a session, and a new one when that is lost."""

    _session: dict[str, str] | None = None

    def works(self) -> list[tuple[str, str]]:
        return [*super().works(), ("task", OLD)]

    async def work(self, tool: str, server: str) -> None:
        if self._session is None:
            await self._begin()
        if tool == "task":
            await self._follow_task(server)
        else:
            await super().work(tool, server)

    async def _follow_task(self, server: str) -> None:
        text = f"{self.name}-{next(self._numbers)}"
        params = {"name": f"{server}__echo", "arguments": {"text": text}, "task": {"ttl": 600_000}}
        task = {"taskId": (await self.request("tools/call", params))["task"]["taskId"]}
        state = await self.request("tasks/get", task)
        result = await self.request("tasks/result", task)
        if state["taskId"] != task["taskId"] or text_of(result) != text:
            raise FailedCallError(f"wrong task: {state} {result}")

    async def _begin(self) -> None:
        info = {"name": self.name, "version": "1"}
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": CAPABILITIES,
            "clientInfo": info,
        }
        self._session = {}
        raw = await self.connect()
        try:
            headers = await self.post(raw, call("initialize", hello))
            self._session = {
                "Mcp-Session-Id": headers["mcp-session-id"],
                "MCP-Protocol-Version": "2025-11-25",
            }
        finally:
            self._session = self._session or None
            await raw.close()
        self.outcomes.initialized += 1
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def message(self, method: str, params: Json) -> Json:
        return call(method, params, next(self._numbers))

    def headers(self, message: Json) -> dict[str, str]:
        return self._session or {}

    async def refused(self, status: int, headers: dict[str, str], raw: Raw) -> None:
        if status == 404:
            self._session = None
        await super().refused(status, headers, raw)

    @asynccontextmanager
    async def following(self, uri: str) -> AsyncIterator[AsyncIterator[Json]]:
        if self._session is None:
            await self._begin()
        await self.request("resources/subscribe", {"uri": uri})
        raw = await self.connect()
        try:
            accept = {**(self._session or {}), "Accept": "text/event-stream"}
            await raw.send(self.doors.request("GET", "/mcp", b"", accept))
            status, headers = await raw.head()
            if status >= 400:
                await self.refused(status, headers, raw)
            yield messages(raw, headers)
        finally:
            await raw.close()


async def messages(raw: Raw, headers: dict[str, str]) -> AsyncIterator[Json]:
    """The messages of an answer: none, one, or those of a stream, as they come."""
    if "content-length" in headers:
        body = await raw.reader.readexactly(int(headers["content-length"]))
        if body:
            yield json.loads(body)
        return
    rest = b""
    async for chunk in raw.chunks():
        *events, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            data = [line[5:] for line in event.split(b"\n") if line.startswith(b"data:")]
            if data and data[0].strip():
                yield json.loads(b"\n".join(data))


def text_of(result: Json) -> str:
    """The text of a tool's result."""
    parts = result.get("content") or [{}]
    return str(parts[0].get("text", ""))


class Worker(Protocol):
    """A client that works until it is told to stop."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work, until told to stop."""


@asynccontextmanager
async def calling(workers: Sequence[Worker]) -> AsyncIterator[None]:
    """All of them work, until the block ends; calls under way are answered first."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.run(stop))
        try:
            yield
        finally:
            stop.set()


async def progressed(outcomes: Outcomes, calls: int) -> None:
    """Wait until that many more calls have ended; that none ends for long is a hang."""
    end = outcomes.calls + calls
    while outcomes.calls < end:
        before = outcomes.calls
        async with asyncio.timeout(2 * PATIENCE):
            while outcomes.calls == before:  # noqa: ASYNC110 - a count
                await asyncio.sleep(0.02)
