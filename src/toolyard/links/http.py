"""Carries messages over streamable HTTP: a POST each, answered by JSON or a stream of events.

A stream belongs to the request it answers, so whatever the server says on it
is attributed exactly. Legacy servers get a second, listening stream for what
they say on their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.core.model import Pairs, Url
from toolyard.links.addresses import is_loopback_name
from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.links.refusals import AuthNeededError, HttpStatusError, refusal
from toolyard.wire import jsonrpc
from toolyard.wire.http1 import Connection, Headers, HttpTarget, Pool, parse_address
from toolyard.wire.pieces import Pieces
from toolyard.wire.sse import Events, TooLongError

FAREWELL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 1.0
LISTEN_AGAIN_SECONDS: Final = 5.0
_LONGEST_CODING: Final = 20
"""Characters of a header that a message quotes."""
OWN: Final = frozenset(
    {"host", "content-length", "content-type", "accept", "connection", "transfer-encoding"}
)


class SessionLostError(LinkError):
    """The server forgot our session before it looked at the request, so it may be sent again."""


class HttpChannel:
    """One address, one session, any number of connections."""

    trace: tuple[str, ...] = ()
    pid = 0

    def __init__(self, link: Link, url: Url, limit: int) -> None:
        self.link = link
        self.limit = limit
        address = parse_address(url.url)
        self.pool = Pool(address)
        self._target = address.target
        self._host = f"host: {address.authority}\r\n"
        self._headers = url.headers
        self.credential = authorization_of(url.headers)
        """What we are let in with; empty if with nothing."""
        self.fixed = self._host + header_lines(url.headers)
        self.session = ""
        self.version = ""
        self._farewells: list[asyncio.Future[None]] = []
        self.has_listened = False
        """Whether the server ever gave us its listening stream."""
        self._post = self._get = b""
        self.settle("", "")
        link.attach(self, local_place(address))
        link.authorize = self.authorize
        link.forwards = tuple((name.lower().encode(), to.encode()) for name, to in url.forward)

    def authorize(self, value: str) -> None:
        """Show this to be let in, from the next request on."""
        self._headers = with_authorization(self._headers, value)
        self.credential = value
        self.fixed = self._host + header_lines(self._headers)
        self.settle(self.session, self.version)

    def settle(self, session: str, version: str) -> None:
        """From now on speak this revision, in this session."""
        self.session, self.version = session, version
        extra = f"mcp-session-id: {session}\r\n" if session else ""
        if version:
            extra += f"mcp-protocol-version: {version}\r\n"
        self._post = (
            f"POST {self._target} HTTP/1.1\r\n{self.fixed}{extra}content-type: application/json\r\n"
            "accept: application/json, text/event-stream\r\n"
        ).encode("latin-1")
        self._get = (
            f"GET {self._target} HTTP/1.1\r\n{self.fixed}{extra}accept: text/event-stream\r\n"
        ).encode("latin-1")

    @property
    def cancel_by_message(self) -> bool:
        """In the modern era hanging up is the cancellation."""
        return not self.link.is_modern

    def send(
        self, message: bytes, pending: PendingRequest | None, head: bytes, is_retry: bool = False
    ) -> None:
        """POST one message."""
        post = Post(self, pending)
        if self.credential:
            # Refused for an old token, it is sent once more with a new one.
            post.sent_with, post.request, post.is_retry = self.credential, (message, head), is_retry
        if pending is not None and self.link.is_modern:
            head = b"mcp-method: %b\r\n%b" % (pending.method.encode(), head)
        payload = b"%b%bcontent-length: %d\r\n\r\n%b" % (self._post, head, len(message), message)
        post.connection = self.pool.send(payload, post)
        if pending is not None:
            pending.tag = post

    def drop(self, pending: PendingRequest) -> None:
        """Hang up on the stream of a request nobody waits for."""
        if isinstance(pending.tag, Post):
            pending.tag.abandon()

    def resume(self, pending: PendingRequest, last_id: bytes) -> None:
        """Ask for the rest of a stream that ended before its answer."""
        post = Post(self, pending)
        post.last_id = last_id
        pending.tag = post
        post.connection = self.pool.send(self._get + b"last-event-id: %b\r\n\r\n" % last_id, post)

    def listen(self) -> None:
        """Open the stream on which a legacy server speaks on its own; not every server has one."""
        post = Post(self, None)
        post.listening = True
        post.connection = self.pool.send(self._get + b"\r\n", post)

    def end_session(self, session: str, version: str = "") -> None:
        """Tell the server that a session is over; `close` waits until it has heard it."""
        extra = f"mcp-protocol-version: {version}\r\n" if version else ""
        head = f"DELETE {self._target} HTTP/1.1\r\n{self.fixed}mcp-session-id: {session}\r\n{extra}"
        farewell = Farewell()
        self._farewells.append(farewell.over)
        self.pool.send(f"{head}\r\n".encode("latin-1"), farewell)

    async def close(self) -> None:
        """End the session, as a polite client does, and hang up."""
        if self.session and not self.link.is_modern:
            self.end_session(self.session, self.version)
        if self._farewells:
            await asyncio.wait(self._farewells, timeout=FAREWELL_SECONDS)
        await self.pool.close()


class Post:
    """The response to one request: a JSON body, or events until the answer is there."""

    __slots__ = (
        "_body",
        "_channel",
        "_events",
        "_pending",
        "_status",
        "connection",
        "headers",
        "is_retry",
        "last_id",
        "listening",
        "request",
        "sent_with",
    )

    def __init__(self, channel: HttpChannel, pending: PendingRequest | None) -> None:
        self._channel = channel
        self._pending = pending
        self._events: Events | None = None
        self._body: bytes | Pieces = b""
        """The body so far; most come in one piece."""
        self._status = 0
        self.headers: Headers = {}
        self.connection: Connection | None = None
        self.last_id = b""
        self.listening = self.is_retry = False
        self.sent_with = ""
        self.request: tuple[bytes, bytes] | None = None
        """The message and its header lines, if it may be sent again."""

    def head(self, status: int, headers: Headers) -> None:
        """Note how to read the body."""
        self._status, self.headers = status, headers
        if status == 200 and headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = Events(self._channel.limit)

    def body(self, chunk: bytes) -> None:
        """Collect a body, or deliver the messages of a stream."""
        if self._events is not None:
            self._deliver(self._events, chunk)
        elif not self._body and len(chunk) <= self._channel.limit:
            self._body = chunk
        else:
            self._append(chunk)

    def _append(self, chunk: bytes) -> None:
        """Collect a further piece of a body."""
        if isinstance(self._body, bytes):
            first, self._body = self._body, Pieces()
            self._body.add(first)
        self._body.add(chunk)
        if self._body.size > self._channel.limit:
            self._too_long()

    def _deliver(self, stream: Events, chunk: bytes) -> None:
        """Hand on the messages that a piece of a stream completes."""
        try:
            events = stream.feed(chunk)
        except TooLongError:
            self._too_long()
            return
        for event in events:
            self.last_id = event.id or self.last_id
            if event.type == b"message" and event.data:
                self._channel.link.receive(event.data, self._pending)

    def done(self) -> None:
        """The answer is complete; see whether it held what we wanted."""
        pending, channel = self._pending, self._channel
        self._pending = None  # it leads here, and a large answer must not wait for the collector
        self.connection = None  # from now on it may carry somebody else's request
        if self._events is None and self._body and pending is not None:
            body = self._body if isinstance(self._body, bytes) else self._body.take()
            if self._status == 200 or self._is_answer(body):
                channel.link.receive(body, pending)
        if pending is None:
            self._listened()
        elif not pending.answer.done():
            self._unanswered(pending)

    def lost(self, why: str) -> None:
        """The connection broke."""
        pending, self._pending = self._pending, None
        if pending is None:
            self._listened()
        elif not pending.answer.done():
            if self._events is not None and self.last_id and not self._channel.link.is_modern:
                self._resume_later(pending)
            else:
                self._channel.link.fail(pending, LinkError(f"{self._channel.link.name!r}: {why}"))

    def abandon(self) -> None:
        """Hang up."""
        self._pending = None
        self.listening = False
        if self.connection is not None:
            self.connection.abandon()

    def _is_answer(self, body: bytes) -> bool:
        """Return whether the body beside an error status is an answer of the protocol.

        Who is not let in is told so by the status and its challenge, whatever the body says.
        """
        is_refused = self._status == 401 or (
            self._status == 403 and b"www-authenticate" in self.headers
        )
        return not is_refused and not self._is_session_lost() and jsonrpc.is_message(body)

    def _is_session_lost(self) -> bool:
        """The status alone says so, whatever the body says."""
        return self._status == 404 and bool(self._channel.session)

    def _unanswered(self, pending: PendingRequest) -> None:
        link = self._channel.link
        if self._is_session_lost():
            link.fail(pending, SessionLostError(f"{link.name!r} forgot our session"))
            link.lose("forgot our session")
        elif self._events is not None and self.last_id and not link.is_modern:
            self._resume_later(pending)
        else:
            error = self._status_error()
            if isinstance(error, AuthNeededError):
                link.tasks.start(let_in(link, pending, error, self._send_again, self.is_retry))
            else:
                link.fail(pending, error)

    def _send_again(self, pending: PendingRequest) -> bool:
        """Send the request with what we are let in with now; false if that is nothing new."""
        if self.request is None or self.sent_with == self._channel.credential:
            return False
        message, head = self.request
        self._channel.send(message, pending, head, is_retry=True)
        return True

    def _status_error(self) -> HttpStatusError:
        name, status = self._channel.link.name, self._status
        if status in (401, 403):
            return refusal(name, status, self.headers)
        if status in (301, 302, 307, 308):
            place = self.headers.get(b"location", b"?").decode("latin-1")
            return HttpStatusError(
                f"{name!r} has moved to {place}", status, "use that address in its entry"
            )
        coding = self.headers.get(b"content-encoding", b"identity")
        if status == 200 and coding.lower() != b"identity":
            # Unpacked, a few bytes may be more than there is memory for; we never ask for it.
            text = f"{name!r} packed its answer ({coding.decode('latin-1')[:_LONGEST_CODING]})"
            return HttpStatusError(text, status, "switch compression off at the server")
        if status == 200:
            return HttpStatusError(f"{name!r} ended its answer without one", status)
        return HttpStatusError(f"{name!r} answered with HTTP {status}", status)

    def _resume_later(self, pending: PendingRequest) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(RETRY_SECONDS, self._resume, pending)

    def _resume(self, pending: PendingRequest) -> None:
        if not pending.answer.done() and not self._channel.link.closed.done():
            self._channel.resume(pending, self.last_id)

    def _listened(self) -> None:
        """A listening stream that worked is opened again; one that was refused is not."""
        self._channel.has_listened |= self._events is not None
        again = self.listening and self._channel.has_listened
        if again and not self._channel.link.closed.done():
            asyncio.get_running_loop().call_later(LISTEN_AGAIN_SECONDS, self._channel.listen)

    def _too_long(self) -> None:
        pending, link = self._pending, self._channel.link
        self._body = b""
        self.abandon()
        if pending is not None:
            link.fail(
                pending,
                LinkError(f"{link.name!r} sent a message of more than {self._channel.limit} bytes"),
            )


class Farewell:
    """Waits for any end of the last request."""

    def __init__(self) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def head(self, status: int, headers: Headers) -> None:
        """Of no interest."""

    def body(self, chunk: bytes) -> None:
        """Of no interest."""

    def done(self) -> None:
        """It is over."""
        if not self.over.done():
            self.over.set_result(None)

    def lost(self, why: str) -> None:
        """It is over too."""
        self.done()


async def let_in(
    link: Link,
    pending: PendingRequest,
    error: AuthNeededError,
    send_again: Callable[[PendingRequest], bool],
    is_retry: bool,
) -> None:
    """Send a request again that was refused, once, if there is something newer to show; or fail it.

    A request that was refused was not looked at, so this cannot do anything twice.
    """
    if not is_retry and send_again(pending):
        return  # another request was refused before, and had the token renewed
    try:
        await link.on_unauthorized(error, is_retry)
    except LinkError as failure:
        link.fail(pending, failure)
        return
    if not pending.answer.done() and (is_retry or not send_again(pending)):
        link.fail(pending, error)


def authorization_of(headers: Pairs) -> str:
    """The authorization that these headers carry; empty if none."""
    return next((value for name, value in headers if name.lower() == "authorization"), "")


def with_authorization(headers: Pairs, value: str) -> Pairs:
    """The same headers with this authorization instead of any other."""
    others = tuple(header for header in headers if header[0].lower() != "authorization")
    return (*others, ("authorization", value))


def header_lines(headers: Pairs) -> str:
    """The headers as they are sent, without those that are ours and those that cannot be."""
    return "".join(f"{k}: {v}\r\n" for k, v in headers if k.lower() not in OWN and is_safe(k, v))


def local_place(address: HttpTarget) -> tuple[str, int] | None:
    """The host and port, if they are of this machine."""
    return (address.host, address.port) if is_loopback_name(address.host) else None


def is_safe(name: str, value: str) -> bool:
    """Return whether a header can be sent as it is: nothing in it ends a line."""
    return all(" " <= c != "\x7f" for c in name + value) and (name + value).isascii()
