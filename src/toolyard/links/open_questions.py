"""Questions of one server that wait for somebody's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.links.pending import PendingRequest, Requester
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

QUESTIONS_ALLOWED: Final = 32
"""Questions of one server that may be open at once."""


class OpenQuestions:
    """Puts questions to clients, and takes their answers back to the server."""

    def __init__(self, reply: Callable[[bytes], None], tasks: Tasks) -> None:
        self.heard_outside = asyncio.Event()
        """Set once a question outside of all calls was answered."""
        self._reply = reply
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._open: dict[bytes, tuple[PendingRequest, asyncio.Task[Any]]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, id_: bytes) -> bool:
        return id_ in self._open

    def asks_for(self, pending: PendingRequest) -> bool:
        """True while a question that this call raised is open."""
        return any(call is pending for call, _ in self._open.values())

    def put(self, message: Message, pending: PendingRequest | None, requester: Requester) -> None:
        """Put a question to a client, on account of a call or outside of all."""
        id_ = bytes(message.id)
        if len(self._open) >= QUESTIONS_ALLOWED:
            self.refuse(id_, "too many open questions")
            return
        # Outside of all calls it concerns none of them: it gets a number nobody has.
        pending = pending or PendingRequest(0, "", requester, self._loop.create_future())
        task = self._tasks.start(self._put(message, pending, requester))
        if task is not None:
            self._open[id_] = (pending, task)

    async def _put(self, message: Message, pending: PendingRequest, requester: Requester) -> None:
        # The server waits for a person now; that must not use up its own time.
        pending.deadline = pending.cap
        try:
            answer = await requester.ask(pending, message.method, bytes(message.params) or b"{}")
        except LinkError as error:
            self.refuse(bytes(message.id), str(error))
            return
        finally:
            self._open.pop(bytes(message.id), None)
            if not pending.number:
                self.heard_outside.set()
            if not self.asks_for(pending):
                pending.deadline = self._loop.time() + pending.patience
        if answer.error:
            self._reply(jsonrpc.error(message.id, answer.error))
        else:
            self._reply(jsonrpc.result(message.id, answer.result or Raw(b"{}")))

    def withdraw(self, id_: bytes) -> None:
        """The server does not need an answer any more; its client is told in its own terms."""
        question = self._open.get(id_)
        if question is not None:
            question[1].cancel()

    def drop(self, pending: PendingRequest, reason: str) -> None:
        """Nobody waits for this call, so nobody will answer its questions."""
        for id_, (call, task) in list(self._open.items()):
            if call is pending:
                task.cancel()
                self.refuse(id_, reason)

    def refuse(self, id_: bytes, text: str) -> None:
        """Tell the server that its question gets no answer."""
        self._reply(jsonrpc.error(id_, jsonrpc.fault(era.SERVER_ERROR, text)))
