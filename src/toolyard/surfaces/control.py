"""The control door: a small REST interface over the hub, for the command line and programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from msgspec import Raw
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.hub import Hub
from toolyard.relay.answers import describe, unknown
from toolyard.relay.relay import Relay
from toolyard.relay.session import Exchange, Session
from toolyard.wire import jsonrpc

FOLLOW_SECONDS: Final = 0.25
LISTED: Final = 1000


class Control:
    """Questions and orders over HTTP."""

    def __init__(
        self, hub: Hub, relay: Relay, stop: Callable[[], None], link: Callable[[], str]
    ) -> None:
        self._link = link
        self._hub = hub
        self._relay = relay
        self._stop = stop

    def routes(self) -> list[Route]:
        """The routes of this door."""
        return [
            Route("/health/live", _live),
            Route("/health/ready", self._ready),
            Route("/api/v1/status", self._status),
            Route("/api/v1/tools", self._tools),
            Route("/api/v1/call", self._call, methods=["POST"]),
            Route("/api/v1/servers/{alias}/log", self._log),
            Route("/api/v1/refresh", self._refresh, methods=["POST"]),
            Route("/api/v1/stop", self._end, methods=["POST"]),
            Route("/api/v1/link", self._give_link, methods=["POST"]),
        ]

    async def _ready(self, request: Request) -> Response:
        """Ready means that no server is waited for: lists are complete, or their gaps explained."""
        ready = self._hub.is_settled()
        return Response(jsonrpc.encode({"ready": ready}), 200 if ready else 503)

    async def _status(self, request: Request) -> Response:
        return _json(self._hub.status())

    async def _tools(self, request: Request) -> Response:
        asked = request.query_params
        view = self._relay.view()
        server = asked.get("server", "")
        if server and server not in view.entries:
            raise UnknownNameError(unknown("server", server, view.entries))
        names = view.search(asked.get("query", ""), server)
        limit = asked.get("limit", "")
        most = int(limit) if limit.isdigit() and int(limit) else LISTED
        return _json({"tools": [describe(view, n) for n in names[:most]], "total": len(names)})

    async def _call(self, request: Request) -> Response:
        """Call a tool as `toolyard_call` does: lazily started, checked against its schema."""
        body = await request.body()
        try:
            asked = jsonrpc.fields(body)
        except jsonrpc.MalformedError:
            return _problem(400, "the body must be an object with server, tool and arguments")
        view = self._relay.view()
        session = Session("control", _drop)
        exchange = Exchange(session, b"0", _drop)
        fields = {"arguments": Raw(jsonrpc.encode(asked))}
        message = await self._relay.answers.call(exchange, "toolyard_call", fields, view)
        return Response(bytes(message.result), media_type="application/json")

    async def _log(self, request: Request) -> Response:
        alias = request.path_params["alias"]
        lines = self._hub.trace(alias)
        if request.query_params.get("follow"):
            return StreamingResponse(self._follow(alias), media_type="text/plain")
        return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")

    async def _follow(self, alias: str) -> AsyncIterator[str]:
        seen: tuple[str, ...] = ()
        while True:
            lines = self._hub.trace(alias)
            if lines != seen:
                yield "".join(f"{line}\n" for line in _newer(seen, lines))
                seen = lines
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _refresh(self, request: Request) -> Response:
        self._hub.refresh()
        return _json({"refreshing": len(self._hub.snapshot.entries)})

    async def _give_link(self, request: Request) -> Response:
        """A link that opens the page in a browser, once."""
        return _json({"link": self._link()})

    async def _end(self, request: Request) -> Response:
        asyncio.get_running_loop().call_later(0.05, self._stop)
        return _json({"stopping": True})


def _newer(seen: tuple[str, ...], lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that were added: the tail of a ring overlaps with what was seen."""
    for size in range(min(len(seen), len(lines)), 0, -1):
        if seen[-size:] == lines[:size]:
            return lines[size:]
    return lines


async def _live(request: Request) -> Response:
    return _json({"live": True})


def make_app(routes: list[Route]) -> Starlette:
    """The application of all doors but MCP's."""
    return Starlette(routes=routes, exception_handlers={ToolyardError: _failed})


async def _failed(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, UnknownNameError) else 502
    return _problem(status, str(error), getattr(error, "hint", ""))


def _json(value: Any) -> Response:
    return Response(jsonrpc.encode(value), media_type="application/json")


def _problem(status: int, text: str, hint: str = "") -> Response:
    body = {"title": text, "detail": text, "hint": hint, "status": status}
    return Response(jsonrpc.encode(body), status, media_type="application/problem+json")


def _drop(_message: bytes) -> None:
    return None
