"""Calls that a person makes and watches: progress, questions and the result, as they come."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from msgspec import Raw

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.relay.relay import Relay
from toolyard.relay.session import Outlet, Session
from toolyard.wire import jsonrpc

CAPABILITIES: Final[JsonObject] = {"elicitation": {"form": {}, "url": {}}}
"""The questions that a person in front of a page can answer; there is no model here."""
WAITING: Final = 1000
"""Events that may wait for a slow reader; progress beyond that is left out."""
HEARTBEAT_SECONDS: Final = 15.0
_KINDS: Final = {
    "notifications/progress": "progress",
    "notifications/message": "log",
    "notifications/cancelled": "withdrawn",
}


class WatchedCall:
    """One call under way, and what is to be told of it."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self.events: asyncio.Queue[bytes] = asyncio.Queue(WAITING)
        self.session = Session(
            f"page {self.id}",
            self._hear,
            agent="page",
            caller="page",
            capabilities=CAPABILITIES,
            raw_capabilities=jsonrpc.encode(CAPABILITIES),
        )
        self.responder = Outlet(self._hear)
        self.cancelled = asyncio.Event()

    def tell(self, kind: str, data: Any) -> None:
        """Queue an event; one too many is left out, but never the last."""
        if self.events.full() and kind == "result":
            self.events.get_nowait()
        if not self.events.full():
            self.events.put_nowait(_event(kind, jsonrpc.encode(data)))

    def wake(self) -> None:
        """Let whoever waits for an event look whether the call is over."""
        if not self.events.full():
            self.events.put_nowait(b": over\n\n")

    def answer(
        self,
        question: int,
        action: Literal["accept", "decline", "cancel"],
        content: JsonObject,
    ) -> None:
        """Pass an answer to a question of the server on.

        Raises:
            UnknownNameError: The question is not open.
        """
        key = b"%d" % question
        if key not in self.session.asks:
            raise UnknownNameError(f"question {question} is not open", "it was withdrawn")
        body: dict[str, object] = {"action": action}
        if action == "accept":
            body["content"] = content
        self.session.answered(jsonrpc.Message(id=Raw(key), result=Raw(jsonrpc.encode(body))))

    def _hear(self, raw: bytes) -> None:
        """The server says something before its answer."""
        message = jsonrpc.decode(raw)
        if message.is_request:
            question = {"question": message.id, "method": message.method, "params": message.params}
            self.tell("question", question)
        elif message.method in _KINDS:
            self.tell(_KINDS[message.method], message.params or Raw(b"{}"))


class WatchedCalls:
    """The watched calls that are under way, by their ids."""

    def __init__(self) -> None:
        self._calls: dict[str, WatchedCall] = {}

    def get(self, id_: str) -> WatchedCall:
        """Return a call that is under way.

        Raises:
            UnknownNameError: There is none of that id.
        """
        if id_ not in self._calls:
            raise UnknownNameError(f"no call {id_!r} is under way", "it has ended")
        return self._calls[id_]

    async def watch(
        self, relay: Relay, arguments: Raw, stopping: asyncio.Event
    ) -> AsyncIterator[bytes]:
        """Make a call and tell of it, until it ends or nobody wants it any more."""
        with self._begun() as call:
            async with asyncio.TaskGroup() as group:
                calling = group.create_task(_make(call, relay, arguments))
                calling.add_done_callback(lambda _task: call.wake())
                ends = (call.cancelled.wait(), stopping.wait())
                enders = [group.create_task(_end(wish, calling)) for wish in ends]
                while not (calling.done() and call.events.empty()):
                    yield await _next_event(call)
                for task in enders:
                    task.cancel()

    @contextmanager
    def _begun(self) -> Iterator[WatchedCall]:
        call = WatchedCall()
        self._calls[call.id] = call
        call.tell("begun", {"id": call.id})
        try:
            yield call
        finally:
            del self._calls[call.id]
            call.session.close()


async def _make(call: WatchedCall, relay: Relay, arguments: Raw) -> None:
    meta = {"progressToken": Raw(b"1")}
    try:
        message = await relay.call(call.session, arguments, call.responder, meta=meta)
    except ToolyardError as error:
        call.tell("refused", {"text": str(error), "hint": error.hint})
        return
    except asyncio.CancelledError:
        call.tell("cancelled", {})
        raise
    if message.error:
        fault = jsonrpc.read_fault(message.error)
        call.tell("refused", {"text": fault.message, "hint": f"code {fault.code}"})
    else:
        call.tell("result", message.result)


async def _next_event(call: WatchedCall) -> bytes:
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            return await call.events.get()
    except TimeoutError:
        return b": still here\n\n"


async def _end(wish: Awaitable[object], calling: asyncio.Task[None]) -> None:
    """End a call once a wish comes true."""
    await wish
    calling.cancel()


def _event(kind: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
