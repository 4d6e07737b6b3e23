"""Serves an ASGI application on a connection: for the doors where calls do not flow."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import unquote

from toolyard.core.caller import CALLER_KEY
from toolyard.doors.http.late_app import UnloadableError
from toolyard.doors.http.reply import PROBLEM, HttpReply, Request, header_lines
from toolyard.wire import jsonrpc

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Scope

log = logging.getLogger(__name__)


async def serve_app(app: ASGIApp, request: Request, reply: HttpReply) -> None:
    """Run the application for one request."""
    call = _Call(reply, request.body)
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query,
        "root_path": "",
        "headers": request.headers,
        "client": (reply.writer.client_host, 0),
        CALLER_KEY: request.caller,
    }
    try:
        await app(scope, call.receive, call.send)
    except UnloadableError as error:
        body = {"title": str(error), "status": 503, "detail": str(error), "hint": error.hint}
        reply.respond(503, jsonrpc.encode(body), PROBLEM)
        return
    except Exception:
        log.exception("a page failed", extra={"path": request.path})
        if not call.started:
            reply.respond(500, b'{"title":"something went wrong; see the log of the hub"}')
            return
    call.end()


class _Call:
    """One request as an application sees it."""

    def __init__(self, reply: HttpReply, body: bytes) -> None:
        self._reply = reply
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self.started = False
        reply.on_gone = self._gone.set

    async def receive(self) -> Message:
        """The body, and after it the news that the client is gone."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """A head, or a piece of the answer."""
        if message["type"] == "http.response.start":
            headers = [
                (k, v) for k, v in message.get("headers", ()) if k.lower() != b"content-length"
            ]
            self._head = (message["status"], headers)
            return
        assert self._head is not None
        status, headers = self._head
        body, more = message.get("body", b""), message.get("more_body", False)
        if not self.started and not more:
            self.started = True
            self._reply.respond(status, body, header_lines(headers))
            return
        self.started = True
        self._reply.start(status, header_lines(headers))
        self._reply.write(body)
        if not more:
            self._reply.finish()
        await self._reply.drained()

    def end(self) -> None:
        """The application has returned; nothing more will come."""
        self._reply.finish()
