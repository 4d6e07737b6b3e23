"""Requests to the MCP door of a hub elsewhere, as somebody who has logged in there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from toolyard.core.errors import LinkError
from toolyard.links.refusals import AuthNeededError
from toolyard.wire import jsonrpc
from toolyard.wire.http1 import Headers, Pool, parse_address
from toolyard.wire.pieces import Pieces
from toolyard.wire.sse import Events, TooLongError

LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a message of the hub; a hub sends none as large."""

Bearer = Callable[[str], Awaitable[str]]
"""Returns a token that lets us in; another one than that which it is given as refused."""
Deliver = Callable[[bytes], None]


class RemoteReply(NamedTuple):
    """The answer of a hub, without the events that were delivered."""

    status: int
    headers: Headers
    body: bytes

    @property
    def reason(self) -> str:
        """The reason for a refusal, in the hub's words (RFC 9457); empty if it gave none."""
        try:
            return jsonrpc.text(jsonrpc.fields(self.body).get("detail"))[:400]
        except jsonrpc.MalformedError:
            return ""


class RemoteHttp:
    """The connections to one path of a hub's MCP door."""

    def __init__(self, hub: str, door: str, bearer: Bearer) -> None:
        """Go to `door`, with what `bearer` gives; people know the hub by its address, `hub`."""
        self._hub = hub
        self._address = parse_address(door)
        self._pool = Pool(self._address)
        self._bearer = bearer

    async def send(
        self, method: str, lines: str, deliver: Deliver, body: bytes = b""
    ) -> RemoteReply:
        """Send one request with these header lines; its events go to `deliver` as they come.

        A token that is refused is renewed once: the hub has not looked at the request.

        Raises:
            AuthNeededError: A person has to log in.
            ToolyardError: The hub cannot be reached, or the login not be used now.
        """
        token = await self._bearer("")
        reply = await self._send(method, lines, deliver, body, token)
        if reply.status == 401:
            token = await self._bearer(token)
            reply = await self._send(method, lines, deliver, body, token)
        if reply.status == 401:
            text = f"{self._hub} does not accept your login: {reply.reason or 'no reason given'}"
            raise AuthNeededError(text, 401, f"run: toolyard login {self._hub}")
        return reply

    async def _send(
        self, method: str, lines: str, deliver: Deliver, body: bytes, token: str
    ) -> RemoteReply:
        head = (
            f"{method} {self._address.target} HTTP/1.1\r\nhost: {self._address.authority}\r\n"
            f"authorization: Bearer {token}\r\naccept: application/json, text/event-stream\r\n"
            f"{lines}"
        )
        if method == "POST":
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        answer = _RemoteAnswer(self._hub, deliver)
        connection = self._pool.send(f"{head}\r\n".encode("latin-1") + body, answer)
        try:
            return await answer.over
        finally:
            if not answer.is_over:
                connection.abandon()  # nobody waits any more, and the hub is to know it

    async def close(self) -> None:
        """Hang up."""
        await self._pool.close()


class _RemoteAnswer:
    """One answer: a body, or events that are delivered as they come."""

    def __init__(self, hub: str, deliver: Deliver) -> None:
        self.over: asyncio.Future[RemoteReply] = asyncio.get_running_loop().create_future()
        self.is_over = False
        self._hub = hub
        self._deliver = deliver
        self._status = 0
        self._headers: Headers = {}
        self._body = Pieces()
        self._events: Events | None = None

    def head(self, status: int, headers: Headers) -> None:
        """Note how to read the body."""
        self._status, self._headers = status, headers
        if status == 200 and headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = Events(LIMIT)

    def body(self, chunk: bytes) -> None:
        """Deliver the events that a piece completes, or keep it."""
        if self._events is None:
            self._body.add(chunk)
            if self._body.size > LIMIT:
                self.lost(f"it answers with more than {LIMIT} bytes")
            return
        try:
            events = self._events.feed(chunk)
        except TooLongError as error:
            self.lost(str(error))
            return
        for event in events:
            if event.type == b"message" and event.data and not self.over.done():
                self._deliver(event.data)

    def done(self) -> None:
        """The answer is complete."""
        self.is_over = True
        if not self.over.done():
            self.over.set_result(RemoteReply(self._status, self._headers, self._body.take()))

    def lost(self, why: str) -> None:
        """There will be no more of it."""
        if not self.over.done():
            hint = "check the network, or ask whoever runs the hub"
            self.over.set_exception(LinkError(f"{self._hub} is away: {why}", hint))
