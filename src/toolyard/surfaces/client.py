"""One client at the HTTP door: its session, and the way back to each of its requests."""

from __future__ import annotations

from typing import Final

from toolyard.relay.view_key import ViewKey
from toolyard.relay.session import Exchange, Session
from toolyard.surfaces.gate import Caller
from toolyard.surfaces.reply import Reply
from toolyard.surfaces.stream import Stream

UNHEARD: Final = 64
"""Messages kept for a client that has not opened its listening stream yet."""
JSON: Final = (b"content-type", b"application/json")


class Client:
    """A legacy session on this door: with a listening stream, and a time it was last seen."""

    __slots__ = ("caller", "hung_up", "listening", "seen", "session", "unheard")

    def __init__(self, principal: str, caller: Caller, view_key: ViewKey | None) -> None:
        self.caller = caller
        """Who opened it; nobody else may use it."""
        self.hung_up: set[Exchange] = set()
        """Requests under way whose connections have ended."""
        self.session = Session(principal, self.push)
        self.session.caller = caller.name
        self.session.view_key = self.session.base = view_key
        self.session.account = caller.account
        self.listening: Stream | None = None
        self.unheard: list[bytes] = []
        self.seen = 0.0

    def push(self, message: bytes) -> None:
        """Say something unasked; kept for a while if nobody listens yet."""
        if self.listening is not None:
            self.listening.put(message)
        elif len(self.unheard) < UNHEARD:
            self.unheard.append(message)

    @property
    def is_idle(self) -> bool:
        """Whether neither a stream nor a request of it is under way."""
        return self.listening is None and not self.session.exchanges

    def left(self) -> None:
        """A connection has ended; if it was the last one, nobody waits for the answers."""
        waiting = self.session.exchanges.values()
        if self.listening is None and self.hung_up.issuperset(waiting):
            for exchange in list(waiting):
                exchange.abandon()


class Back:
    """The way back to one request: JSON, unless something has to be said before the answer."""

    __slots__ = ("_reply", "stream")

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.stream: Stream | None = None

    def emit(self, message: bytes) -> None:
        """Say something before the answer: from here on it is a stream."""
        if self.stream is None:
            self.stream = Stream(self._reply)
        self.stream.put(message)

    def answer(self, message: bytes, status: int) -> None:
        """Say the last thing."""
        if self.stream is not None:
            self.stream.finish(message)
        else:
            self._reply.respond(status, message, (JSON,))
