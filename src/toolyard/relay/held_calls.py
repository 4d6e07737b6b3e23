"""Holds calls of modern clients while their person is asked something by the hub.

The question is the result of the call, and the client calls again with the answer. In between the
call is held: for a while, in bounded number, and only for the client that made it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from msgspec import Raw

from toolyard.relay.handles import Handles
from toolyard.relay.parking import PURPOSE, digest_of
from toolyard.relay.session import ClientRequest
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

HELD_CALLS: Final = 1000
HELD_PER_CLIENT: Final = 64
ROUND: Final = ("inputResponses", "requestState")
"""Members of a call that say which round of questions it is."""
METHOD: Final = "elicitation/create"
About = TypeVar("About")


@dataclass(frozen=True, slots=True)
class HeldCall(Generic[About]):
    """A call whose client is to come back with an answer."""

    handle: str
    about: About
    principal: str
    digest: bytes
    timer: asyncio.TimerHandle
    when_over: Callable[[], None]


def _nothing() -> None:
    """Nobody wants to hear that a call is held no more."""


class HeldCalls:
    """Every held call, by its handle."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._calls: dict[str, HeldCall[object]] = {}

    def hold(
        self,
        request: ClientRequest,
        fields: Fields,
        about: object,
        question: tuple[str, dict[str, object]],
        seconds: float,
        when_over: Callable[[], None] = _nothing,
    ) -> Message | None:
        """Hold a call; return what its client is told, None if too many are held.

        Args:
            question: The key of the question, and its params.
            when_over: Hears that the call is held no more, whatever the reason.
        """
        handle = self._handles.make(PURPOSE, request.session, secrets.token_urlsafe(24))
        if not self.keep(handle, request, fields, about, seconds, when_over):
            return None
        key, params = question
        body = {
            "resultType": "input_required",
            "inputRequests": {key: {"method": METHOD, "params": params}},
            "requestState": handle,
        }
        return Message(result=Raw(jsonrpc.encode(body)))

    def keep(
        self,
        handle: str,
        request: ClientRequest,
        fields: Fields,
        about: object,
        seconds: float,
        when_over: Callable[[], None] = _nothing,
    ) -> bool:
        """Hold a call under a handle that its client has; False if too many are held."""
        principal = request.session.principal
        theirs = sum(1 for call in self._calls.values() if call.principal == principal)
        if theirs >= HELD_PER_CLIENT or len(self._calls) >= HELD_CALLS or handle in self._calls:
            return False
        timer = asyncio.get_running_loop().call_later(seconds, self.forget, handle)
        digest = digest_of(request.method, without_round(fields))
        self._calls[handle] = HeldCall(handle, about, principal, digest, timer, when_over)
        return True

    def find(
        self, request: ClientRequest, fields: Fields, kind: type[About]
    ) -> HeldCall[About] | None:
        """Return the call that goes on: of the client that made it, with its arguments."""
        handle = jsonrpc.text(fields.get("requestState")) if request.is_modern else ""
        held = self._calls.get(handle) if handle else None
        if held is None or held.principal != request.session.principal:
            return None
        if held.digest != digest_of(request.method, without_round(fields)):
            return None
        # What a call is about tells its type, but not to mypy.
        return held if isinstance(held.about, kind) else None  # type: ignore[return-value]

    def forget(self, handle: str) -> None:
        """Hold a call no more: its client came back, or will not."""
        held = self._calls.pop(handle, None)
        if held is not None:
            held.timer.cancel()
            held.when_over()

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could go on with its calls."""
        for handle in [key for key, call in self._calls.items() if call.principal == principal]:
            self.forget(handle)


def without_round(fields: Fields) -> Fields:
    """A call as it was in its first round."""
    return {key: value for key, value in fields.items() if key not in ROUND}


def answer_to(fields: Fields, key: str) -> Message:
    """The answer that a call brings to the question of this key; an empty one if it has none."""
    try:
        answers = jsonrpc.fields(fields.get("inputResponses", Raw(b"{}")))
    except jsonrpc.MalformedError:
        return Message(result=Raw(b"{}"))
    return Message(result=answers.get(key, Raw(b"{}")))


def action_of(answer: Message) -> str:
    """The word with which a person answered a question; empty if it was none."""
    if answer.error or not answer.result:
        return ""
    try:
        return jsonrpc.text(jsonrpc.fields(answer.result).get("action"))
    except jsonrpc.MalformedError:
        return ""
