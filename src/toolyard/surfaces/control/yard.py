"""The yard itself: status, health, logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from toolyard.core.errors import UnknownNameError
from toolyard.core.rows import YardStatus
from toolyard.hub import Hub
from toolyard.operation import Done
from toolyard.surfaces.control.api import Call, Operation, Reply
from toolyard.wire import jsonrpc

FOLLOW_SECONDS: Final = 0.25


class LogQuery(msgspec.Struct, frozen=True):
    """How much of a log, and whether to wait for more."""

    follow: bool = False


class StopOrder(msgspec.Struct, frozen=True):
    """How the hub is to stop."""

    comes_back: bool = False
    """Whether it is started again at once, so that attached clients wait for it."""


class Live(msgspec.Struct, frozen=True):
    """Whether the hub lives."""

    live: bool


class Ready(msgspec.Struct, frozen=True):
    """Whether no server is waited for: lists are complete, or their gaps explained."""

    ready: bool


class PageLink(msgspec.Struct, frozen=True):
    """A link that opens the page in a browser, once."""

    link: str


class Yard:
    """Questions and orders about the yard as a whole."""

    def __init__(
        self,
        hub: Hub,
        stopping: asyncio.Event,
        link: Callable[[], str],
        stop: Callable[[bool], None],
    ) -> None:
        self._hub = hub
        self._stopping = stopping
        self._link = link
        self._stop = stop

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        log = "/api/v1/servers/{alias}/log"
        return [
            Operation("GET", "/health/live", "Is the hub alive?", self._live, Live, tag="health"),
            Operation(
                "GET",
                "/health/ready",
                "Are its lists complete?",
                self._ready,
                Ready,
                tag="health",
                errors=(503,),
            ),
            Operation("GET", "/api/v1/status", "The whole yard", self._status, YardStatus),
            Operation(
                "GET",
                log,
                "What a server wrote to stderr",
                self._log,
                str,
                query=LogQuery,
                media="text/plain",
            ),
            Operation("POST", "/api/v1/stop", "Stop the hub", self._end, Done, body=StopOrder),
            Operation("POST", "/api/v1/link", "A link for a browser", self._give_link, PageLink),
        ]

    async def _live(self, call: Call) -> Live:
        return Live(live=True)

    async def _ready(self, call: Call) -> Any:
        ready = self._hub.readiness.is_settled()
        body = jsonrpc.encode(Ready(ready))
        return Response(body, 200 if ready else 503, media_type="application/json")

    async def _status(self, call: Call) -> Reply:
        return Reply(self._hub.status(), etag=str(self._hub.snapshot.revision))

    async def _log(self, call: Call) -> Response:
        alias = call.path["alias"]
        lines = self._hub.trace(alias)
        if call.query.follow and call.request.method != "HEAD":
            return StreamingResponse(self._follow(alias), media_type="text/plain")
        return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")

    async def _follow(self, alias: str) -> AsyncIterator[str]:
        seen: tuple[str, ...] = ()
        while not self._stopping.is_set():
            try:
                lines = self._hub.trace(alias)
            except UnknownNameError:
                return  # it was taken away
            if lines != seen:
                yield "".join(f"{line}\n" for line in _newer(seen, lines))
                seen = lines
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _end(self, call: Call) -> Done:
        asyncio.get_running_loop().call_later(0.05, self._stop, call.body.comes_back)
        return Done()

    async def _give_link(self, call: Call) -> PageLink:
        return PageLink(self._link())


def _newer(seen: tuple[str, ...], lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that were added: the tail of a ring overlaps with what was seen."""
    for size in range(min(len(seen), len(lines)), 0, -1):
        if seen[-size:] == lines[:size]:
            return lines[size:]
    return lines
