"""The HTTP server behind the doors: uvicorn, with our own limits around it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolyard.surfaces.gate import Gate
from toolyard.surfaces.stream import Send, respond
from toolyard.wire import jsonrpc

HEADER_SECONDS: Final = 10.0
KEEP_ALIVE_SECONDS: Final = 30
DRAIN_SECONDS: Final = 10

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Doors:
    """One address, several doors: everything passes the gate first."""

    def __init__(self, gate: Gate, mcp: App, rest: App) -> None:
        self._gate = gate
        self._mcp = mcp
        self._rest = rest

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        refusal = self._gate.check(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
        elif scope["path"] == "/mcp":
            await self._mcp(scope, receive, send)
        else:
            await self._rest(scope, receive, send)


async def _refuse(send: Send, status: int, text: str) -> None:
    headers = [(b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    body = jsonrpc.encode({"title": text, "status": status})
    await respond(send, status, body, headers)


class PatientProtocol(HttpToolsProtocol):
    """Hangs up on whoever takes too long over the head of a request."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock with the connection."""
        super().connection_made(transport)
        self._limit = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def on_headers_complete(self) -> None:
        """The head is there; the next one of this connection is under the keep-alive's clock."""
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._limit is not None:
            self._limit.cancel()
        super().connection_lost(exc)

    def _too_slow(self) -> None:
        self.transport.close()


class HttpServer(uvicorn.Server):
    """uvicorn without its own view of signals: the app decides when to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def make_server(app: App, connections: int) -> HttpServer:
    """A server for our doors; give it bound sockets to serve."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        loop="none",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        limit_concurrency=connections,
        backlog=1024,
    )
    return HttpServer(config)


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; it listens once it is served, so an open door is one that answers.

    Raises:
        OSError: The address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
