"""One client on a line: a message on each, in either era."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Raw

from toolyard.doors.stdio.wishes import Wishes
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest, Session
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.envelope import Envelope, EnvelopeError, read_envelope, unfit_for_modern
from toolyard.wire.jsonrpc import Message
from toolyard.wire.lines import Lines

HOLDING: Final = "toolyard/holding"
LISTEN: Final = "subscriptions/listen"
_numbers = itertools.count(1)


class LineClient:
    """One client on a line: both eras, told apart request by request."""

    def __init__(
        self,
        relay: Relay,
        write: Callable[[bytes], None],
        limit: int,
        wishes: Wishes,
    ) -> None:
        self._relay = relay
        self._write = write
        self._lines = Lines(limit, self._take, self._skip, self._endless)
        self._tasks = Tasks()
        self._limit = limit
        # Not its address in memory: that of one that left may come back as another's.
        principal = f"line {next(_numbers)}"
        view_key = wishes.view_key(relay.views.usual_key)
        self._legacy = Session(
            principal, self.send, view_key=view_key, questions_asked=wishes.asked
        )
        self._modern = Session(principal, self.send, view_key=view_key, is_modern=True)
        self.feed = self._lines.feed
        self.holds = False
        """True once it has said that it holds further requests back."""

    def send(self, message: bytes) -> None:
        """Write one message."""
        self._write(jsonrpc.one_line(message) + b"\n")

    # The way back for each of its requests.

    emit = send
    takes_stream = True

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer to a request."""
        self.send(message)

    def cancelled(self, id_: bytes) -> None:
        """On a line, whoever took a request back expects no answer."""

    def dismiss(self) -> None:
        """The hub stops: whoever still waits for an answer is told so."""
        fault = jsonrpc.fault(era.SERVER_ERROR, "the hub is stopping; try again in a moment")
        for request in self._waiting():
            self.send(jsonrpc.error(request.id, fault))

    @property
    def is_busy(self) -> bool:
        """True while an answer is waited for."""
        return any(self._waiting())

    def _waiting(self) -> Iterator[ClientRequest]:
        """Its requests under way, but for those that last as long as the connection does."""
        requests = (*self._legacy.requests.values(), *self._modern.requests.values())
        return (request for request in requests if request.method != LISTEN)

    async def finish(self, seconds: float) -> None:
        """Wait until every request is answered, so long at most."""
        await self._tasks.settle(seconds)

    async def close(self) -> None:
        """The client is gone: its work stops."""
        self._lines.close()
        self._relay.leave(self._legacy)
        self._relay.leave(self._modern)
        await self._tasks.close()

    def _take(self, line: bytes) -> None:
        try:
            envelope = read_envelope(line)
        except jsonrpc.MalformedError:
            self._refuse(b"", era.PARSE_ERROR, "this line is no JSON-RPC message")
            return
        except EnvelopeError as error:
            self._refuse(error.id, error.code, str(error))
            return
        message = envelope.message
        if envelope.id:
            self._serve(envelope)
        elif message.is_answer:
            self._legacy.answered(message)
        else:
            self.holds |= message.method == HOLDING
            for session in (self._legacy, self._modern):
                self._relay.noticed(session, message)

    def _serve(self, envelope: Envelope) -> None:
        session = self._session(envelope)
        if session.is_modern and envelope.version != era.MODERN:
            error = unfit_for_modern(envelope)
            self._refuse(envelope.id, error.code, str(error), error.details)
            return
        request = ClientRequest(
            session,
            envelope.message.method,
            envelope.id,
            envelope.params,
            envelope.meta,
            self,
            name=envelope.name,
        )
        self._relay.start(request, self._tasks)

    def _session(self, envelope: Envelope) -> Session:
        """A request with a modern envelope is modern; all others are legacy."""
        method = envelope.message.method
        if method == "initialize":
            return self._legacy
        if method == "server/discover" or era.META_VERSION in envelope.meta:
            return self._modern
        return self._legacy

    def _refuse(self, id_: bytes, code: int, text: str, details: Any = None) -> None:
        self.send(jsonrpc.error(id_, jsonrpc.fault(code, text, details)))

    def _skip(self, head: bytes, tail: bytes | None) -> bool:
        """A message was too long to be read: whoever waits for what it says is told so."""
        if tail is None:
            return False
        glimpse = jsonrpc.glimpse(head, tail)
        text = f"the message is larger than {self._limit} bytes"
        fault = jsonrpc.fault(era.INVALID_REQUEST, text)
        if glimpse.is_answer:
            self._legacy.answered(Message(id=Raw(glimpse.id), error=Raw(fault)))
        else:
            self.send(jsonrpc.error(glimpse.id, fault))
        return True

    def _endless(self) -> None:
        text = "the message does not end; nothing more is read"
        self.send(jsonrpc.error(b"", jsonrpc.fault(era.INVALID_REQUEST, text)))
