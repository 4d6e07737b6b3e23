"""Holds calls of modern clients while their legacy server waits for an answer to a question.

The server has asked and waits; the client has got the question as the result of
its call, with a handle, and will call again. In between the call is parked:
for a while, in bounded number, and only for the client that made it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from toolyard.links.link import HARD_CAP_SECONDS, Link
from toolyard.relay.handles import Handles
from toolyard.relay.questions import Questions
from toolyard.relay.session import ClientRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

PARKED_PER_CLIENT: Final = 64
PARKED_SECONDS: Final = HARD_CAP_SECONDS
PURPOSE: Final = "request state"
_ROUND: Final = ("_meta", "inputResponses", "requestState")
"""Members of a call that differ from round to round."""


@dataclass(frozen=True, slots=True)
class Parked:
    """A call that waits for its client to come back."""

    questions: Questions
    link: Link
    principal: str
    digest: bytes
    timer: asyncio.TimerHandle

    def expire(self, why: str) -> None:
        """Nobody will come back."""
        self.timer.cancel()
        give_up(self.link, self.questions, why)


class Parking:
    """Every parked call, by its handle."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._parked: dict[str, Parked] = {}

    def park(self, request: ClientRequest, questions: Questions, link: Link, key: bytes) -> Message:
        """Keep a call under a fresh handle; return what its client is told.

        `key` is what `digest_of` says of it.
        """
        principal = request.session.principal
        mine = sum(1 for other in self._parked.values() if other.principal == principal)
        if mine >= PARKED_PER_CLIENT:
            give_up(link, questions, "the client did not answer in time")
            return _fault(era.SERVER_ERROR, "too many calls wait for this client's answers")
        # A person may take longer than a server's usual patience.
        questions.pending.deadline = questions.pending.cap
        handle = self._handles.make(PURPOSE, request.session, secrets.token_urlsafe(24))
        timer = asyncio.get_running_loop().call_later(PARKED_SECONDS, self._expire, handle)
        self._parked[handle] = Parked(questions, link, principal, key, timer)
        body = {
            "resultType": "input_required",
            "inputRequests": questions.listed(),
            "requestState": handle,
        }
        return Message(result=Raw(jsonrpc.encode(body)))

    def take(self, state: Raw, request: ClientRequest, key: bytes) -> Parked | None:
        """Give a parked call to a request, once: of the client and with the arguments it had."""
        handle = jsonrpc.to_python(state)
        parked = self._parked.get(handle) if isinstance(handle, str) else None
        if parked is None or parked.principal != request.session.principal or parked.digest != key:
            return None
        del self._parked[handle]
        parked.timer.cancel()
        parked.questions.pending.requester = request
        request.questions = parked.questions
        return parked

    def leave(self, principal: str) -> None:
        """A client is gone: nobody will answer for its calls."""
        for handle, parked in list(self._parked.items()):
            if parked.principal == principal:
                del self._parked[handle]
                parked.expire("the client went away")

    def _expire(self, handle: str) -> None:
        self._parked.pop(handle).expire("the client did not answer in time")


def give_up(link: Link, questions: Questions, why: str) -> None:
    """End a call whose questions nobody will answer."""
    pending = questions.pending
    link.cancel(pending, why)
    pending.requester = None  # it leads back here: neither shall keep the other
    questions.close(why)


def digest_of(method: str, fields: Fields) -> bytes:
    """Return what two rounds of the same call have in common."""
    same = {k: v for k, v in fields.items() if k not in _ROUND}
    return hashlib.sha256(method.encode() + b"\0" + jsonrpc.encode(same)).digest()


def missing(capability: str) -> Message:
    """The answer to a call whose server asks for what its client cannot do."""
    text = f"this call needs a client that supports {capability}"
    return _fault(era.MISSING_CAPABILITY, text, {"requiredCapabilities": {capability: {}}})


def unknown_state() -> Message:
    """The refusal of a call that goes on with what is not parked for it."""
    return _fault(era.INVALID_PARAMS, "this requestState is unknown, used, or not yours")


def _fault(code: int, text: str, details: object = None) -> Message:
    return Message(error=Raw(jsonrpc.fault(code, text, details)))
