"""Interceptors that are HTTP endpoints: a request each, bounded, and never redirected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.endpoint import Url
from toolyard.core.errors import LinkError
from toolyard.features.interceptors.talking import SPARE
from toolyard.wire import era, jsonrpc
from toolyard.wire.http1 import Headers, Pool, parse_address
from toolyard.wire.jsonrpc import Message
from toolyard.wire.pieces import Pieces

OK: Final = 200


class EndpointTalk:
    """An HTTP endpoint: one request each, never redirected."""

    def __init__(self, find: Callable[[], Url], largest: int) -> None:
        """Talk to an endpoint; `find` gives its address with values, and may block."""
        self._find = find
        self._limit = largest + SPARE
        self._way: tuple[Pool, bytes] | None = None
        self._number = 0
        self.trouble = ""

    async def ask(self, method: str, params: bytes) -> Message:
        """Post a request; see `Talk.ask`."""
        pool, head = self._way or await self._open()
        self._number += 1
        number = self._number
        body = jsonrpc.request(number, method, params)
        lines = b"mcp-method: %b\r\ncontent-length: %d\r\n\r\n" % (method.encode(), len(body))
        answer = _Answer(self._limit)
        connection = pool.send(head + lines + body, answer)
        try:
            return _read_post(await answer.over, answer, number)
        except (asyncio.CancelledError, LinkError):
            connection.abandon()
            raise

    async def _open(self) -> tuple[Pool, bytes]:
        url = await asyncio.to_thread(self._find)
        try:
            address = parse_address(url.url)
        except ValueError as error:
            raise LinkError(str(error)) from error
        headers = {
            "host": address.authority,
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "mcp-protocol-version": era.MODERN,
            **dict(url.headers),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST {address.target} HTTP/1.1\r\n{lines}".encode("latin-1", "replace")
        self._way = Pool(address), head
        return self._way

    async def close(self) -> None:
        """Close the connections."""
        if self._way is not None:
            await self._way[0].close()


class _Answer:
    """Collects one answer, so many bytes at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._body = Pieces()
        self.status = 0
        self.headers: Headers = {}
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def head(self, status: int, headers: Headers) -> None:
        """Note the status and the headers."""
        self.status, self.headers = status, headers
        if status != OK:
            self.lost(f"it answered with the status {status}")
        elif headers.get(b"content-encoding", b"identity").lower() != b"identity":
            self.lost("its answer is packed, which was not asked for")

    def body(self, chunk: bytes) -> None:
        """Keep a piece."""
        if self._body.size + len(chunk) > self._limit:
            self.lost(f"it answered with more than {self._limit} bytes")
        if not self.over.done():
            self._body.add(chunk)

    def done(self) -> None:
        """It is complete."""
        if not self.over.done():
            self.over.set_result(self._body.take())

    def lost(self, why: str) -> None:
        """It will not be."""
        if not self.over.done():
            self.over.set_exception(LinkError(why))


def _read_post(body: bytes, answer: _Answer, number: int) -> Message:
    kind = answer.headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    texts = _events(body) if kind == b"text/event-stream" else [body]
    for text in texts:
        try:
            message = jsonrpc.read(text)
            id_ = jsonrpc.to_python(message.id) if bytes(message.id) else None
        except jsonrpc.MalformedError as error:
            raise LinkError("its answer is no JSON-RPC") from error
        if message.is_answer and (message.result or message.error):
            if id_ != number:
                raise LinkError("it answered what nobody asked")
            return message
    raise LinkError("its answer is no JSON-RPC")


def _events(body: bytes) -> list[bytes]:
    """The messages of a stream of events."""
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")
    lines = ([line for line in event.split(b"\n") if line[:5] == b"data:"] for event in events)
    return [b"\n".join(line[5:].strip() for line in event) for event in lines if event]
