"""A request under way, who is behind it, and what carries it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from toolyard.wire.jsonrpc import Message


class Requester(Protocol):
    """The client behind a call, as the server may reach it."""

    @property
    def client(self) -> object:
        """Equal for two calls only if the door proves that one client made both."""
        ...

    @property
    def turn(self) -> object:
        """Equal for two calls only if a question that either raised can be put to both."""
        ...

    @property
    def lane(self) -> object:
        """Equal for two calls that stand in one lane where calls wait for a busy server.

        A claim of the client is enough for that.
        """
        ...

    def notify(self, method: str, params: bytes) -> None:
        """Pass on something the server said before its answer."""
        ...

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question of the server to the client; return its answer."""
        ...


class PendingRequest(Struct, eq=False):
    """One request under way to a server."""

    number: int
    method: str
    requester: Requester | None
    answer: asyncio.Future[Message]
    """The answer of the server, or what comes before it; see `interrupt`."""
    patience: float = 0.0
    """Seconds of silence after which it is over; 0 if it may stay open for ever."""
    began: float = 0.0
    """When it was sent, by the loop's clock, unless it may stay open for ever."""
    deadline: float = 0.0
    cap: float = 0.0
    heard: int = 0
    """Notifications that belong to it so far."""
    tag: Any = None
    """Kept by the channel for this request, e.g. its connection."""
    _on_answered: Callable[[object], None] | None = None

    def when_answered(self, call: Callable[[object], None]) -> None:
        """Call this once the server has answered, or never will."""
        self._on_answered = call
        self.answer.add_done_callback(call)

    def fail(self, error: Exception) -> None:
        """Let whoever waits know that there is no answer, unless they know already."""
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # asked for at once, since not everybody waits for the answer

    def interrupt(self, message: Message) -> None:
        """Give this to whoever waits now; the answer of the server is still to come."""
        waiting = self.answer
        if waiting.done():
            return
        self.answer = waiting.get_loop().create_future()
        if self._on_answered is not None:
            waiting.remove_done_callback(self._on_answered)
            self.answer.add_done_callback(self._on_answered)
        waiting.set_result(message)


@dataclass(frozen=True, slots=True)
class RequestUnderWay:
    """A request of a client that a server has not answered yet."""

    requester: Requester
    seconds: float
    """Since it came."""
    is_asking: bool
    """True while the server waits for an answer to a question of its own."""
    is_in_line: bool
    """True while it waits for a place at the server, which has not seen it."""


QuestionHook = Callable[[str, bool, list[Requester]], Requester | None]
"""Takes note of a question that names no call: its method, whether it concerns the process rather
than a call, so that somebody else may answer it, and whose calls are under way."""


def ignore_question(_method: str, _outside: bool, _requesters: list[Requester]) -> Requester | None:
    """Take no note, and know nobody."""
    return None


class Channel(Protocol):
    """Carries messages to a server; what comes back goes to `Link.receive`."""

    def send(self, message: bytes, pending: PendingRequest | None, head: bytes) -> None:
        """Send one message; `pending` is its request, `head` are further header lines for HTTP."""
        ...

    def drop(self, pending: PendingRequest) -> None:
        """Nobody waits for this answer any more."""
        ...

    @property
    def trace(self) -> tuple[str, ...]:
        """The last lines the server wrote to its stderr, if it has one."""
        ...

    @property
    def pid(self) -> int:
        """The process of the server; 0 if it has none of ours."""
        ...

    @property
    def cancel_by_message(self) -> bool:
        """True if the server must be told of a cancelled request; else dropping it is enough."""
        ...
