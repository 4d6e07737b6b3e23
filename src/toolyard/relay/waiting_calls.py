"""Calls that wait for a person's yes, for whoever shows and answers them."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.errors import BusyError, ConflictError, UnknownNameError

WAITING_CALLS: Final = 1000
WAITING_PER_CLIENT: Final = 64


@dataclass(frozen=True, slots=True)
class CallQuestion:
    """A call that a person is asked about, and all that a yes to it is bound to."""

    principal: str
    caller: str
    """The name of whoever calls."""
    member: str
    """The key of the member who calls; empty for the hub's owner and for agents."""
    agent: str
    server: str
    """The full name of the server."""
    alias: str
    tool: str
    arguments: bytes
    digest: str
    """The mark of the arguments."""
    tool_mark: str
    """The mark of the tool as it was approved when the question was put."""
    rule: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class WaitingCall:
    """A question that is open."""

    id: str
    question: CallQuestion
    since: float
    expires: float
    in_client: bool
    """The client shows the question; the call goes on when that has the answer."""
    verdict: asyncio.Future[bool] = field(repr=False)


class WaitingCalls:
    """Every open question about a call at this hub, by its id."""

    def __init__(self) -> None:
        self._calls: dict[str, WaitingCall] = {}
        self.revision = 0
        """Another number as soon as another question is open, here or elsewhere."""
        self.elsewhere: dict[str, tuple[str, ...]] = {}
        """The members whose calls wait at other replicas, by replica; empty for who is none."""
        self.on_change: Callable[[], None] | None = None
        """Hears that another question is open here."""

    def __iter__(self) -> Iterator[WaitingCall]:
        return iter(list(self._calls.values()))

    def put(self, question: CallQuestion, *, in_client: bool = False) -> WaitingCall:
        """Open a question.

        Raises:
            BusyError: Too many are open.
        """
        theirs = sum(c.question.principal == question.principal for c in self._calls.values())
        if theirs >= WAITING_PER_CLIENT or len(self._calls) >= WAITING_CALLS:
            raise BusyError("too many calls wait for a yes", "answer some: toolyard rule waiting")
        now = time.time()
        verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        id_, expires = secrets.token_hex(6), now + question.seconds
        call = WaitingCall(id_, question, now, expires, in_client, verdict)
        self._calls[id_] = call
        self._changed()
        return call

    @contextmanager
    def waiting(self, question: CallQuestion) -> Iterator[WaitingCall]:
        """Open a question for as long as somebody waits for the answer."""
        call = self.put(question)
        try:
            yield call
        finally:
            self.close(call.id)

    def close(self, id_: str) -> None:
        """Nobody waits for the answer any more."""
        call = self._calls.pop(id_, None)
        if call is not None:
            call.verdict.cancel()
            self._changed()

    def hear(self, replica: str, members: tuple[str, ...]) -> None:
        """Another replica tells whose calls wait there now."""
        self.elsewhere[replica] = members
        self.revision += 1

    def _changed(self) -> None:
        self.revision += 1
        if self.on_change is not None:
            self.on_change()

    def answer(self, id_: str, yes: bool, *, member: str = "") -> WaitingCall:
        """Give the answer, once; a member may answer for their own calls alone.

        Raises:
            UnknownNameError: No such call waits, or it is another member's.
            ConflictError: Only the client can answer, or somebody has.
        """
        call = self._calls.get(id_)
        if call is None or (member and call.question.member != member):
            text = f"no call {id_[:40]!r} waits for an answer here"
            raise UnknownNameError(
                text, "it was answered, or has expired; see: toolyard rule waiting"
            )
        if call.in_client:
            raise ConflictError(f"the client was asked about {id_!r}", "answer there")
        if call.verdict.done():
            raise ConflictError(f"somebody has answered {id_!r} already", "look again")
        call.verdict.set_result(yes)
        return call
