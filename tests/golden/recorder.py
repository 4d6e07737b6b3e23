"""A whole hub that is asked, and a record of what was asked and what came back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.control.company import send
from tests.control.watching import Watching
from tests.doors.doors import Answer, Doors, Json, open_doors

JSON = "application/json"


class Yard:
    """The control door of a running hub; each call is recorded with its answer."""

    def __init__(self, doors: Doors, calls: list[Json]) -> None:
        self.doors = doors
        self._calls = calls

    async def ask(self, method: str, path: str, body: Any = None, **head: str) -> Any:
        """Ask once; what came back."""
        answer = await send(self.doors, method, path, body, **head)
        is_json = "json" in answer.headers["content-type"]
        said = answer.json() if is_json else answer.body.decode().splitlines()
        self._record(method, path, body, head, answer, said)
        return said

    @asynccontextmanager
    async def watch(self, method: str, path: str, body: Any = None) -> AsyncIterator[Events]:
        """Ask for a stream of events; those that are read are recorded."""
        data = b"" if body is None else json.dumps(body).encode()
        async with self.doors.connected() as raw:
            await raw.send(self.doors.request(method, path, data))
            status, headers = await raw.head()
            events = Events(Watching(raw))
            yield events
        self._record(method, path, body, {}, Answer(status, headers, b""), events.read)

    def _record(
        self, method: str, path: str, body: Any, head: Mapping[str, str], answer: Answer, said: Any
    ) -> None:
        call: Json = {"call": f"{method} {path}"}
        if body is not None:
            call["body"] = body
        if head:
            call["head"] = dict(head)
        call["status"] = answer.status
        if answer.headers["content-type"] != JSON:
            call["type"] = answer.headers["content-type"]
        if "etag" in answer.headers:
            call["etag"] = True
        self._calls.append({**call, "answer": said})


class Events:
    """Events of a stream, kept as they are read."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self.read: list[tuple[str, Any]] = []

    async def wait(self, kind: str) -> Any:
        """Read until an event of that kind; what it says."""
        while (event := await self._watching.next()) is not None:
            self.read.append(event)
            if event[0] == kind:
                return event[1]
        raise AssertionError(f"the stream ended without {kind!r}")

    async def end(self) -> None:
        """Read until the stream ends."""
        while (event := await self._watching.next()) is not None:
            self.read.append(event)


class Recorder:
    """The calls of one topic, made on hubs of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calls: list[Json] = []

    @asynccontextmanager
    async def yard(
        self, servers: Mapping[str, Any] | None = None, **settings: Any
    ) -> AsyncIterator[Yard]:
        """A hub in front of these servers, once each of them was tried."""
        async with open_doors(self.home, servers, **settings) as doors:
            await doors.settled()
            yield Yard(doors, self.calls)
