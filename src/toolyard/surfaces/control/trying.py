"""Calls that a person makes and watches: progress, questions and the result, as they come.

The answer is a stream of events. Who hangs up has cancelled the call.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.operation import Done
from toolyard.relay.relay import Relay
from toolyard.relay.session import Outlet, Session
from toolyard.stores.inputs import InputsFile
from toolyard.surfaces.control.api import Call, Operation
from toolyard.wire import jsonrpc

MEDIA: Final = "text/event-stream"
CAPABILITIES: Final[dict[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
"""What a person in front of a page can be asked; of models there are none here."""
WAITING: Final = 1000
"""Events that may wait for a slow reader; progress beyond that is left out."""
HEARTBEAT_SECONDS: Final = 15.0
_KINDS: Final = {
    "notifications/progress": "progress",
    "notifications/message": "log",
    "notifications/cancelled": "withdrawn",
}


class Try(msgspec.Struct, frozen=True):
    """Which tool to call, and with what."""

    server: str
    tool: str
    arguments: dict[str, Any] = {}
    input: str = ""
    """The saved input to call it with; `arguments` go over it."""


class Told(msgspec.Struct, frozen=True):
    """One event of a call that is watched; its `data` is JSON."""

    event: Literal[
        "begun", "progress", "log", "question", "withdrawn", "result", "refused", "cancelled"
    ]
    data: str


class PersonSaid(msgspec.Struct, frozen=True):
    """What a person answers to a question of the server."""

    question: int
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = {}


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

    def tell(self, kind: str, said: Any) -> None:
        """Queue an event; one too many is left out, but never the last."""
        if self.events.full() and kind == "result":
            self.events.get_nowait()
        if not self.events.full():
            self.events.put_nowait(_event(kind, jsonrpc.encode(said)))

    def _hear(self, raw: bytes) -> None:
        """The server says something before its answer."""
        message = jsonrpc.decode(raw)
        if message.is_request:
            said = {"question": message.id, "method": message.method, "params": message.params}
            self.tell("question", said)
        elif message.method in _KINDS:
            self.tell(_KINDS[message.method], message.params or Raw(b"{}"))

    def answer(self, said: PersonSaid) -> None:
        """Pass an answer on.

        Raises:
            UnknownNameError: The question is not open.
        """
        key = b"%d" % said.question
        if key not in self.session.asks:
            raise UnknownNameError(f"question {said.question} is not open", "it was withdrawn")
        body: dict[str, Any] = {"action": said.action}
        if said.action == "accept":
            body["content"] = said.content
        self.session.answered(jsonrpc.Message(id=Raw(key), result=Raw(jsonrpc.encode(body))))


class TryingDoor:
    """Starts calls that are watched, and takes what a person says while they run."""

    def __init__(self, relay: Relay, inputs: InputsFile, stopping: asyncio.Event) -> None:
        self._relay = relay
        self._inputs = inputs
        self._stopping = stopping
        self._trials: dict[str, WatchedCall] = {}

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        top = "/api/v1/calls"
        tag: dict[str, Any] = {"tag": "tools"}
        return [
            Operation(
                "POST", top, "Call a tool, and watch", self._try, Told, Try, media=MEDIA, **tag
            ),
            Operation(
                "POST", top + "/{id}/answer", "Answer it", self._answer, Done, PersonSaid, **tag
            ),
            Operation("DELETE", top + "/{id}", "Cancel it", self._cancel, Done, **tag),
        ]

    async def _try(self, call: Call) -> Response:
        asked: Try = call.body
        arguments = asked.arguments
        if asked.input:
            saved = await asyncio.to_thread(self._inputs.get, asked.server, asked.tool, asked.input)
            arguments = saved | arguments
        named = {"server": asked.server, "tool": asked.tool, "arguments": arguments}
        return Watched(self, Raw(jsonrpc.encode(named)))

    async def _answer(self, call: Call) -> Done:
        self._trial(call.path["id"]).answer(call.body)
        return Done()

    async def _cancel(self, call: Call) -> Done:
        self._trial(call.path["id"]).cancelled.set()
        return Done()

    def _trial(self, id_: str) -> WatchedCall:
        if id_ not in self._trials:
            raise UnknownNameError(f"no call {id_!r} is under way", "it has ended")
        return self._trials[id_]

    async def watch(self, arguments: Raw, receive: Receive, send: Send) -> None:
        """Make a call and tell of it, until it ends or nobody wants it any more."""
        trial = WatchedCall()
        self._trials[trial.id] = trial
        trial.tell("begun", {"id": trial.id})
        try:
            async with asyncio.TaskGroup() as group:
                calling = group.create_task(self._call(trial, arguments))
                ends = (_left(receive), trial.cancelled.wait(), self._stopping.wait())
                watching = [group.create_task(_end(each, calling)) for each in ends]
                await _tell(trial, calling, send)
                for task in watching:
                    task.cancel()
        finally:
            del self._trials[trial.id]
            trial.session.close()

    async def _call(self, trial: WatchedCall, arguments: Raw) -> None:
        meta = {"progressToken": Raw(b"1")}
        try:
            message = await self._relay.call(trial.session, arguments, trial.responder, meta=meta)
        except ToolyardError as error:
            trial.tell("refused", {"text": str(error), "hint": error.hint})
            return
        except asyncio.CancelledError:
            trial.tell("cancelled", {})
            raise
        if message.error:
            fault = jsonrpc.read_fault(message.error)
            trial.tell("refused", {"text": fault.message, "hint": f"code {fault.code}"})
        else:
            trial.tell("result", message.result)


class Watched(Response):
    """The answer to a call that is watched."""

    media_type = MEDIA

    def __init__(self, door: TryingDoor, arguments: Raw) -> None:
        super().__init__(b"", 200, {"cache-control": "no-cache, no-transform"})
        self._door = door
        self._arguments = arguments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._door.watch(self._arguments, receive, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _tell(trial: WatchedCall, calling: asyncio.Task[None], send: Send) -> None:
    """Send events until the call is over and all of them are sent."""
    calling.add_done_callback(lambda _task: _wake(trial))
    while not (calling.done() and trial.events.empty()):
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                event = await trial.events.get()
        except TimeoutError:
            event = b": still here\n\n"
        await send({"type": "http.response.body", "body": event, "more_body": True})


def _wake(trial: WatchedCall) -> None:
    if not trial.events.full():
        trial.events.put_nowait(b": over\n\n")


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(wish: Any, calling: asyncio.Task[None]) -> None:
    """End a call once a wish comes true."""
    await wish
    calling.cancel()


def _event(kind: str, said: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), said)
