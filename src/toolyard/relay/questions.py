"""The questions that servers put to clients: who may be asked what, and what waits for answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.links.pending import PendingRequest
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

NEEDS: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The capability that a client must have declared to be asked this."""
ASKED: Final = Message()
"""Stands for the answer to a call whose server has asked something first."""
Wait = tuple[float, float]
"""When a server put its first question to a client, and the seconds in which any was open."""


def is_able(capabilities: Mapping[str, Any], need: str, params: bytes) -> bool:
    """Tell whether a client has declared the capability that a question needs."""
    if not need or need not in capabilities:
        return False
    return not _lacks_part(capabilities[need], need, params)


def refuse_question(method: str, need: str) -> Message:
    """Answer a question in the place of a client that cannot be asked it."""
    if need == "roots":
        return Message(result=Raw(b'{"roots":[]}'))
    text = f"the client does not support {need}" if need else f"{method} is not known"
    return Message(error=Raw(jsonrpc.fault(era.METHOD_NOT_FOUND, text)))


def _lacks_part(capability: Any, need: str, params: bytes) -> bool:
    """Tell whether a question wants more than the client declared within a capability."""
    parts = capability if isinstance(capability, dict) else {}
    if need == "elicitation" and b'"url"' in params:
        mode = jsonrpc.fields(params).get("mode")
        return mode is not None and bytes(mode) == b'"url"' and "url" not in parts
    if need == "sampling" and b'"tools"' in params:
        return "tools" in jsonrpc.fields(params) and "tools" not in parts
    return False


class QuestionClock:
    """Measures the time in which at least one question of a call is open."""

    __slots__ = ("_began", "_open", "_seconds", "_since")

    def __init__(self) -> None:
        self._began = self._since = monotonic()
        self._seconds = 0.0
        self._open = 0

    def __enter__(self) -> None:
        if not self._open:
            self._since = monotonic()
        self._open += 1

    def __exit__(self, *_: object) -> None:
        self._open -= 1
        if not self._open:
            self._seconds += monotonic() - self._since

    def read(self) -> Wait:
        """Return the wait so far."""
        still = monotonic() - self._since if self._open else 0.0
        return self._began, self._seconds + still


class Questions:
    """The questions of a legacy server that its call by a modern client has raised."""

    def __init__(self, pending: PendingRequest) -> None:
        self.pending = pending
        self.missing = ""
        """The capability that the server asked for and the client does not have."""
        self._open: dict[str, tuple[str, bytes, asyncio.Future[Message]]] = {}
        self._number = 0

    @property
    def is_waiting(self) -> bool:
        """True if the client must be told something before the answer."""
        return bool(self._open or self.missing)

    async def put(self, method: str, params: bytes) -> Message:
        """Add a question, and wait until a later call of the client answers it.

        Raises:
            LinkError: The server has answered the call without waiting, or nobody will come back.
        """
        if self.pending.answer.done():
            raise LinkError("the call that this question belongs to is over")
        self._number += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        key = f"q{self._number}"
        self._open[key] = (method, params, answer)
        self.pending.interrupt(ASKED)
        try:
            return await answer
        finally:
            self._open.pop(key, None)

    def miss(self, capability: str) -> None:
        """The server asked for something that the client cannot do."""
        self.missing = capability
        self.pending.interrupt(ASKED)

    def answer(self, responses: Fields) -> None:
        """Hand the client's answers to the waiting questions."""
        for key, raw in responses.items():
            question = self._open.pop(key, None)
            if question is not None and not question[2].done():
                question[2].set_result(Message(result=raw))

    def listed(self) -> dict[str, dict[str, object]]:
        """The open questions, as `inputRequests` wants them."""
        return {
            key: {"method": method, "params": Raw(params)}
            for key, (method, params, _) in self._open.items()
        }

    def close(self, why: str) -> None:
        """Nobody will come back to answer."""
        for _, _, answer in self._open.values():
            if not answer.done():
                answer.set_exception(LinkError(why))
