"""The least HTTP/1.1 that works, both ways: what the upstream, the relay and the load share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httptools

REASONS = {
    200: b"200 OK",
    202: b"202 Accepted",
    400: b"400 Bad Request",
    404: b"404 Not Found",
    405: b"405 Method Not Allowed",
}
ANSWER = b"HTTP/1.1 %b\r\n%b%bcontent-length: %d\r\n\r\n%b"
JSON_TYPE = b"content-type: application/json\r\n"


class Door(asyncio.Protocol):
    """The server's end of a connection; subclasses answer in `on_request`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.parser = httptools.HttpRequestParser(self)
        self.session = b""
        self.parts: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) == 14 and name.lower() == b"mcp-session-id":
            self.session = value

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)

    def on_message_complete(self) -> None:
        body = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        session, self.session, self.parts = self.session, b"", []
        self.on_request(self.parser.get_method(), session, body)

    def on_request(self, method: bytes, session: bytes, body: bytes) -> None:
        """Answer one whole request."""
        raise NotImplementedError

    def reply(self, status: int, body: bytes = b"", session: bytes = b"") -> None:
        """Send a whole answer, with the id of a session if one was opened."""
        kind = JSON_TYPE if body else b""
        opened = b"mcp-session-id: %b\r\n" % session if session else b""
        if not self.transport.is_closing():
            self.transport.write(ANSWER % (REASONS[status], kind, opened, len(body), body))


async def listen(door: Callable[[], Door], port: int) -> int:
    """Serve on loopback; gives the port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(door, "127.0.0.1", port, backlog=2048)
    number: int = server.sockets[0].getsockname()[1]
    return number


Heard = Callable[[int, dict[bytes, bytes], bytes], None]


class Line(asyncio.Protocol):
    """The client's end of a connection: one request at a time, its answer goes to a callback."""

    def __init__(self, idle: Callable[[Line], None] | None = None) -> None:
        self.idle = idle
        self.parser = httptools.HttpResponseParser(self)
        self.headers: dict[bytes, bytes] = {}
        self.parts: list[bytes] = []
        self.heard: Heard | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes, heard: Heard) -> None:
        """Send a request; `heard` gets status, headers and body (status 0: connection lost)."""
        self.heard = heard
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)

    def on_message_complete(self) -> None:
        if self.parser.get_status_code() < 200:
            return
        body = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        headers, self.headers, self.parts = self.headers, {}, []
        heard, self.heard = self.heard, None
        if self.idle is not None:
            self.idle(self)
        if heard is not None:
            heard(self.parser.get_status_code(), headers, body)

    def connection_lost(self, exc: Exception | None) -> None:
        heard, self.heard = self.heard, None
        if heard is not None:
            heard(0, {}, str(exc).encode())


def head(verb: str, host: str, path: str, extra: str = "") -> bytes:
    """The first lines of a request, up to the length of its body."""
    lines = [f"{verb} {path} HTTP/1.1", f"host: {host}", "content-type: application/json"]
    lines.append("accept: application/json, text/event-stream")
    return ("\r\n".join(lines) + f"\r\n{extra}content-length: ").encode()
