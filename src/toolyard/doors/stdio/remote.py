"""A client on stdin and stdout whose hub is elsewhere, behind its HTTP door.

Messages pass as they are. What is added is what HTTP wants beside them: the session of a legacy
client and the stream on which it hears of changes, the headers of a modern one, and the token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.errors import LinkError, ToolyardError
from toolyard.doors.stdio.attached import (
    LONGEST,
    LineCutter,
    aside,
    complain,
    read_stdin,
    write_stdout,
)
from toolyard.doors.stdio.conversation import (
    LISTEN,
    Json,
    is_request,
    key_of,
    read,
    refusal,
    within,
)
from toolyard.doors.stdio.remote_http import Bearer, RemoteHttp, RemoteReply
from toolyard.doors.stdio.remote_modern import ModernRequests, is_modern
from toolyard.doors.stdio.remote_session import RemoteSession
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc

FAREWELL: Final = 10.0
"""Seconds that the hub has for its last answers after the client closed its side."""
CANCEL_PAUSES: Final = (0.1, 0.4, 1.6, 6.4)
"""Seconds after which the hub is told again that a request was taken back."""
_ENDED: Final = "the hub ended its answer without one; whether it was carried out is not known"


class RemoteClient:
    """Takes the lines of one client to a hub, and the hub's messages back."""

    def __init__(
        self, http: RemoteHttp, write: Callable[[bytes], None], warn: Callable[[str, str], None]
    ) -> None:
        """Write messages for the client by `write`, and what people should know by `warn`."""
        self._write = write
        self._warn = warn
        self._warned = ""
        self._http = http
        self._session = RemoteSession(http, self._deliver)
        self._modern = ModernRequests(http, self._deliver)
        self._requests = Tasks()
        self._listeners = Tasks()
        """What does not end by itself."""
        self._under_way: dict[bytes, tuple[asyncio.Task[None], Json]] = {}
        """Requests by id."""
        self._cancelled: set[bytes] = set()
        """The ids of legacy ones that the client does not want any more."""

    async def take(self, line: bytes) -> None:
        """Take one line; returns when the next may follow."""
        message = read(line)
        method = message.get("method")
        if is_request(message):
            await self._begin(message, line)
        elif method == "notifications/cancelled":
            await self._cancel(message, line)
        elif method is not None:
            await self._tell(message, line)
            if method == "notifications/initialized" and self._session.is_open:
                self._listeners.start(self._session.hear())
        else:
            self._requests.start(self._tell(message, line))

    async def close(self) -> None:
        """Wait for the last answers, for a while, and end the session."""
        await self._listeners.close()
        await self._requests.settle(FAREWELL)
        await self._requests.close()
        await self._session.close()
        await self._http.close()

    async def _begin(self, message: Json, line: bytes) -> None:
        owner = self._listeners if message["method"] == LISTEN else self._requests
        task = owner.start(self._answer(message, line))
        if task is None:
            return
        key = key_of(message["id"])
        self._under_way[key] = task, message
        task.add_done_callback(lambda _: self._forget(key, task))
        if message["method"] == "initialize":
            await asyncio.wait([task])  # what follows belongs to the session that it begins

    def _forget(self, key: bytes, task: asyncio.Task[None]) -> None:
        if self._under_way.get(key, (None,))[0] is task:
            del self._under_way[key]
            self._cancelled.discard(key)

    async def _answer(self, message: Json, line: bytes) -> None:
        """Get the answer to a request, and write one in any case."""
        send = self._modern.send if is_modern(message) else self._session.send
        try:
            reply = await send(message, line)
        except ToolyardError as error:
            self._refuse(message, error)
            return
        if reply is not None:
            self._finish(message, reply)

    def _finish(self, message: Json, reply: RemoteReply) -> None:
        """Write the answer that was no event."""
        if jsonrpc.is_message(reply.body):
            self._deliver(_addressed(reply.body, message))
        elif reply.status in (200, 202):
            self._refuse(message, LinkError(_ENDED))
        else:
            text = reply.reason or f"the hub answered with HTTP {reply.status}"
            self._refuse(message, LinkError(text))

    def _refuse(self, message: Json, error: ToolyardError) -> None:
        text = f"{error}; {error.hint}" if error.hint else str(error)
        if text != self._warned:
            self._warned = text
            self._warn(str(error), error.hint)
        self._deliver(refusal(message, text).rstrip())

    async def _cancel(self, message: Json, line: bytes) -> None:
        """Take a request back: a modern one by hanging up, a legacy one by telling the hub."""
        key = key_of(within(message, "params", "requestId"))
        if key not in self._under_way:
            return
        task, request = self._under_way[key]
        if is_modern(request):
            task.cancel()
        else:
            self._cancelled.add(key)
            await self._tell(message, line)
            self._listeners.start(self._insist(task, message, line))

    async def _insist(self, task: asyncio.Task[None], message: Json, line: bytes) -> None:
        """Tell the hub again for as long as the request is under way.

        What it was told came on a connection of its own, and may have overtaken the request.
        """
        for pause in CANCEL_PAUSES:
            await asyncio.wait([task], timeout=pause)
            if task.done():
                return
            await self._tell(message, line)

    async def _tell(self, message: Json, line: bytes) -> None:
        """Pass on what is no request; in the modern era nobody waits for it."""
        if message and not self._session.is_open:
            return
        try:
            reply = await self._session.send(message, line)
        except ToolyardError as error:
            self._warn(str(error), error.hint)
            return
        if not message and reply is not None and jsonrpc.is_message(reply.body):
            self._deliver(reply.body)  # the hub says what is wrong with such a line

    def _deliver(self, message: bytes) -> None:
        """Write one message, unless it answers what the client has taken back."""
        if self._cancelled and _answered(message) in self._cancelled:
            return
        self._write(jsonrpc.one_line(message) + b"\n")


def _answered(message: bytes) -> bytes:
    """Return the id of the request that a message answers; empty if it answers none."""
    fields = read(message)
    return b"" if "method" in fields else key_of(fields.get("id"))


def _addressed(body: bytes, message: Json) -> bytes:
    """Return an answer with the id of its request, which a hub that did not read it leaves out."""
    answer = jsonrpc.decode(body)
    if bytes(answer.id) not in (b"", b"null") or not answer.error:
        return body
    return jsonrpc.error(key_of(message["id"]), answer.error)


async def serve(hub: str, door: str, bearer: Bearer) -> None:
    """Serve the client on stdin and stdout from a door of a hub, until it leaves."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def write(line: bytes) -> None:
        try:
            write_stdout(line)
        except BrokenPipeError:
            lines.put_nowait(None)  # nobody reads any more: the client is gone

    def receive() -> None:
        cutter = LineCutter(LONGEST)
        while data := read_stdin():
            for line in cutter.cut(data):
                loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, cutter.rest())
        loop.call_soon_threadsafe(lines.put_nowait, None)

    client = RemoteClient(RemoteHttp(hub, door, bearer), write, complain)
    aside(receive)
    try:
        while (line := await lines.get()) is not None:
            if line.strip():
                await client.take(line.strip())
    finally:
        await client.close()
