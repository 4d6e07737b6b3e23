"""Carries messages over HTTP+SSE, the transport of 2024-11-05: one stream in, POSTs out.

The stream's first event names the address for the POSTs; every answer comes on
the stream.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

from toolyard.core.errors import LinkError, StartError
from toolyard.core.model import Url
from toolyard.links.http import (
    Farewell,
    authorization_of,
    header_lines,
    let_in,
    local_place,
    with_authorization,
)
from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.links.refusals import AuthNeededError, HttpStatusError, refusal
from toolyard.wire.http1 import Connection, Headers, Pool, parse_address
from toolyard.wire.sse import Events, ServerEvent, TooLongError


class EventStreamChannel:
    """One listening stream, and POSTs to the address it named."""

    trace: tuple[str, ...] = ()
    pid = 0
    cancel_by_message = True

    def __init__(self, link: Link, url: Url, limit: int) -> None:
        self.link = link
        self._url = url.url
        address = parse_address(url.url)
        self._pool = Pool(address)
        self._host = f"host: {address.authority}\r\n"
        self._headers = url.headers
        self.credential = authorization_of(url.headers)
        """What we are let in with; empty if with nothing."""
        lines = self._host + header_lines(url.headers)
        self._get = f"GET {address.target} HTTP/1.1\r\n{lines}accept: text/event-stream\r\n\r\n"
        self._target = ""
        self._post = b""
        self._events = Events(limit)
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._stream: Connection | None = None
        self._status = 0
        link.attach(self, local_place(address))
        link.authorize = self.authorize

    def authorize(self, value: str) -> None:
        """Show this to be let in, from the next message on."""
        self._headers = with_authorization(self._headers, value)
        self.credential = value
        self._post = self._head()

    def _head(self) -> bytes:
        lines = self._host + header_lines(self._headers)
        return (
            f"POST {self._target} HTTP/1.1\r\n{lines}content-type: application/json\r\n"
            "accept: application/json, text/event-stream\r\n"
        ).encode("latin-1")

    async def open(self, seconds: float) -> None:
        """Open the stream and learn where to send.

        Raises:
            StartError: There is no such stream at the address.
        """
        self._stream = self._pool.send(self._get.encode("latin-1"), self)
        try:
            async with asyncio.timeout(seconds):
                place = await self._endpoint
        except TimeoutError:
            raise StartError(f"{self.link.name!r} named no endpoint within {seconds:g} s") from None
        own, endpoint = urlsplit(self._url), urlsplit(urljoin(self._url, place))
        if (own.scheme, own.netloc) != (endpoint.scheme, endpoint.netloc):
            # A server may not send us, with our headers, to somebody else.
            raise StartError(
                f"{self.link.name!r} named an endpoint at another address, {endpoint.netloc!r}"
            )
        self._target = parse_address(endpoint.geturl()).target
        self._post = self._head()

    def send(
        self, message: bytes, pending: PendingRequest | None, head: bytes, is_retry: bool = False
    ) -> None:
        """POST one message."""
        payload = b"%b%bcontent-length: %d\r\n\r\n%b" % (self._post, head, len(message), message)
        self._pool.send(payload, Receipt(self, (message, head), pending, is_retry))

    def drop(self, pending: PendingRequest) -> None:
        """Nothing to hang up: the stream is everybody's."""

    async def close(self) -> None:
        """Hang up."""
        await self._pool.close()

    # The listening stream.

    def head(self, status: int, headers: Headers) -> None:
        """See whether this is a stream of events at all."""
        kind = headers.get(b"content-type", b"")
        if status != 200 or not kind.startswith(b"text/event-stream"):
            text = f"{self.link.name!r} offers no event stream (HTTP {status})"
            denied = status in (401, 403)
            name = self.link.name
            self._refuse(
                refusal(name, status, headers) if denied else HttpStatusError(text, status)
            )

    def body(self, chunk: bytes) -> None:
        """Deliver the events that a chunk completes."""
        try:
            events = self._events.feed(chunk)
        except TooLongError as error:
            self.link.lose(str(error))
            return
        for event in events:
            self._deliver(event)

    def done(self) -> None:
        """The server ended the stream."""
        self.lost("ended its event stream")

    def lost(self, why: str) -> None:
        """Without the stream nothing can be answered."""
        self._refuse(LinkError(f"{self.link.name!r}: {why}"))
        self.link.lose(why)

    def _deliver(self, event: ServerEvent) -> None:
        if event.type == b"endpoint":
            if not self._endpoint.done():
                self._endpoint.set_result(event.data.decode("utf-8", "replace"))
        elif event.type == b"message":
            self.link.receive(event.data)

    def _refuse(self, error: LinkError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
            self._endpoint.exception()


class Receipt(Farewell):
    """Sees that a POST was accepted; its answer comes on the stream."""

    def __init__(
        self,
        channel: EventStreamChannel,
        request: tuple[bytes, bytes],
        pending: PendingRequest | None,
        is_retry: bool,
    ) -> None:
        super().__init__()
        self._channel = channel
        self._request = request
        self._pending = pending
        self._is_retry = is_retry
        self._sent_with = channel.credential

    def head(self, status: int, headers: Headers) -> None:
        """A refused POST will never be answered."""
        pending, link = self._pending, self._channel.link
        if status < 400 or pending is None:
            return
        error = HttpStatusError(f"{link.name!r} answered with HTTP {status}", status)
        if status in (401, 403):
            error = refusal(link.name, status, headers)
        if isinstance(error, AuthNeededError):
            link.tasks.start(let_in(link, pending, error, self._send_again, self._is_retry))
        else:
            link.fail(pending, error)

    def _send_again(self, pending: PendingRequest) -> bool:
        """Send the message with what we are let in with now; false if that is nothing new."""
        if self._sent_with == self._channel.credential:
            return False
        message, head = self._request
        self._channel.send(message, pending, head, is_retry=True)
        return True

    def lost(self, why: str) -> None:
        """Nor will one that never arrived."""
        if self._pending is not None:
            link = self._channel.link
            link.fail(self._pending, LinkError(f"{link.name!r}: {why}"))
        self.done()
