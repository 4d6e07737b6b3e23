"""Holds calls of modern clients while their legacy server waits for an answer to a question.

The server has asked and waits; the client has got the question as the result of
its call, with a handle, and will call again. In between the call is parked:
for a while, in bounded number, and only for the client that made it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from typing import Final

from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.links.link import HARD_CAP_SECONDS, Link
from toolyard.links.pending import PendingRequest
from toolyard.relay.session import Exchange
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

PARKED_PER_CLIENT: Final = 64
PARKED_SECONDS: Final = HARD_CAP_SECONDS


class Parked:
    """One call to a legacy server, and the questions it has raised."""

    def __init__(
        self, lot: Parking, exchange: Exchange, pending: PendingRequest, link: Link, digest: bytes
    ) -> None:
        self.pending = pending
        self.link = link
        self.principal = exchange.session.principal
        self.digest = digest
        self.exchange = exchange
        self.handle = ""
        self.missing = ""
        self._lot = lot
        self._open: dict[str, tuple[str, bytes, asyncio.Future[Message]]] = {}
        self._number = 0
        exchange.parked = self

    async def put(self, method: str, params: bytes) -> Message:
        """Add a question, and wait until a later call of the client answers it."""
        self._number += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        key = f"q{self._number}"
        self._open[key] = (method, params, answer)
        self._wake()
        try:
            return await answer
        finally:
            self._open.pop(key, None)

    def miss(self, capability: str) -> None:
        """The server asked for something that the client cannot do."""
        self.missing = capability
        self._wake()

    def _wake(self) -> None:
        asked = self.exchange.asked
        if asked is not None and not asked.done():
            asked.set_result(None)

    def answer(self, responses: Fields) -> None:
        """Hand the client's answers to the waiting questions."""
        for key, raw in responses.items():
            found = self._open.pop(key, None)
            if found is not None and not found[2].done():
                found[2].set_result(Message(result=raw))

    async def wait(self) -> Message:
        """The server's answer, or an `input_required` result that holds its open questions."""
        answer = self.pending.answer
        if not self._open and not self.missing:
            asked = self.exchange.asked = asyncio.get_running_loop().create_future()
            await asyncio.wait((answer, asked), return_when=asyncio.FIRST_COMPLETED)
            self.exchange.asked = None
        if self.missing:
            # The server was refused and may have answered meanwhile; that must not decide.
            self.link.cancel(self.pending, f"the client does not support {self.missing}")
            return _missing(self.missing)
        if answer.done():
            return answer.result()
        return self._lot.park(self)

    def questions(self) -> dict[str, dict[str, object]]:
        """The open questions, as `inputRequests` wants them."""
        return {
            key: {"method": method, "params": Raw(params)}
            for key, (method, params, _) in self._open.items()
        }

    def end(self) -> None:
        """The call is over: let go of its last request, so that neither keeps the other."""
        self.exchange.parked = None

    def expire(self, why: str = "the client did not answer in time") -> None:
        """Nobody will come back."""
        self.end()
        self.link.cancel(self.pending, why)
        for _, _, answer in self._open.values():
            if not answer.done():
                answer.set_exception(LinkError(why))


class Parking:
    """Every parked call, by its handle."""

    def __init__(self) -> None:
        self._parked: dict[str, tuple[Parked, asyncio.TimerHandle]] = {}

    def begin(
        self, exchange: Exchange, pending: PendingRequest, link: Link, digest: bytes
    ) -> Parked:
        """Follow a call that may raise questions."""
        return Parked(self, exchange, pending, link, digest)

    def park(self, parked: Parked) -> Message:
        """Keep the call under a fresh handle; return what the client is told."""
        mine = sum(1 for other, _ in self._parked.values() if other.principal == parked.principal)
        if mine >= PARKED_PER_CLIENT:
            parked.expire()
            return _fault(era.SERVER_ERROR, "too many calls wait for this client's answers")
        # A person may take longer than a server's usual patience.
        parked.pending.deadline = parked.pending.cap
        handle = secrets.token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(PARKED_SECONDS, self._expire, handle)
        self._parked[handle] = (parked, timer)
        body = {
            "resultType": "input_required",
            "inputRequests": parked.questions(),
            "requestState": handle,
        }
        return Message(result=Raw(jsonrpc.encode(body)))

    def take(self, handle: str, exchange: Exchange, digest: bytes) -> Parked | None:
        """The call parked under a handle, once, for the client and arguments it was made with."""
        found = self._parked.get(handle)
        if found is None:
            return None
        parked, timer = found
        if parked.principal != exchange.session.principal or parked.digest != digest:
            return None
        del self._parked[handle]
        timer.cancel()
        parked.exchange = exchange
        parked.pending.requester = exchange
        exchange.parked = parked
        return parked

    def leave(self, principal: str) -> None:
        """A client is gone: nobody will answer for its calls."""
        for handle, (parked, timer) in list(self._parked.items()):
            if parked.principal == principal:
                timer.cancel()
                del self._parked[handle]
                parked.expire("the client went away")

    def _expire(self, handle: str) -> None:
        parked, _ = self._parked.pop(handle)
        parked.expire()


def digest_of(method: str, fields: Fields) -> bytes:
    """What two rounds of the same call have in common."""
    same = {k: v for k, v in fields.items() if k not in ("_meta", "inputResponses", "requestState")}
    return hashlib.sha256(method.encode() + b"\0" + jsonrpc.encode(same)).digest()


def _missing(capability: str) -> Message:
    text = f"this call needs a client that supports {capability}"
    return _fault(era.MISSING_CAPABILITY, text, {"requiredCapabilities": {capability: {}}})


def _fault(code: int, text: str, details: object = None) -> Message:
    return Message(error=Raw(jsonrpc.fault(code, text, details)))
