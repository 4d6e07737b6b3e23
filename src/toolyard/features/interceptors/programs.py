"""Interceptors that are programs: started once and kept, a line of JSON-RPC for each message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

from toolyard import __version__
from toolyard.core.endpoint import Command
from toolyard.core.errors import LinkError, ToolyardError
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.executors.local import Local
from toolyard.features.interceptors.talking import SPARE
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message
from toolyard.wire.lines import Lines

PAUSE_SECONDS: Final = 1.0
"""The least time between two starts of a program."""
GREET_SECONDS: Final = 30.0
UNSENT: Final = 8 << 20
"""Bytes that may wait for a program that does not read."""


class ProgramTalk:
    """A program, started once and kept; one that ended is started again by the next call."""

    def __init__(
        self,
        local: Local,
        name: str,
        find: Callable[[], Command],
        largest: int,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """Talk to a program; `find` gives its command with values, and may block."""
        self._local, self._name, self._find = local, name, find
        self._limit = largest + SPARE
        self._pause = pause
        self._tasks = Tasks()
        self._opening: asyncio.Future[_Lines] | None = None
        self._began = 0.0
        self.trouble = ""

    async def ask(self, method: str, params: bytes) -> Message:
        """Ask the program; see `Talk.ask`."""
        opening = self.start()
        await asyncio.wait([opening])
        lines = opening.result()
        return await lines.ask(method, params)

    def start(self) -> asyncio.Future[_Lines]:
        """Have the program run; give what waits for it."""
        if self._opening is not None:
            return self._opening
        opening: asyncio.Future[_Lines] = asyncio.get_running_loop().create_future()
        if self._began and monotonic() - self._began < self._pause:
            return _fail(opening, self.trouble or "it has just ended")
        self._opening, self._began = opening, monotonic()
        if self._tasks.start(self._run(opening)) is None:
            self._opening = None
            return _fail(opening, "the hub stops")
        return opening

    async def _run(self, opening: asyncio.Future[_Lines]) -> None:
        """Live with one process, from its start to its end."""
        try:
            command = await asyncio.to_thread(self._find)
            async with self._local.open(Run(f"interceptor-{self._name}", command)) as pipes:
                assert not isinstance(pipes, Address)
                lines = _Lines(pipes, self._limit)
                async with asyncio.timeout(GREET_SECONDS):
                    await lines.greet()
                self.trouble = ""
                opening.set_result(lines)
                self.trouble = await lines.over
        except TimeoutError:
            self.trouble = f"it did not answer 'initialize' within {GREET_SECONDS:g} s"
        except ToolyardError as error:
            self.trouble = str(error)
        finally:
            self._opening = None
            if not opening.done():
                _fail(opening, self.trouble or "the hub stops")

    async def close(self) -> None:
        """End the program."""
        await self._tasks.close()


class _Lines:
    """JSON-RPC over the pipes of a process: a line each."""

    def __init__(self, pipes: Pipes, limit: int) -> None:
        self._pipes = pipes
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._number = 0
        self._limit = limit
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Set to the reason why it cannot go on."""
        self._lines = Lines(limit, self._take, self._skip, self._overflow)
        pipes.connect(self._lines.feed, self._end)

    async def greet(self) -> None:
        """Begin as MCP does; a program that knows nothing of it says so, and is asked all the same.

        Raises:
            LinkError: It ends, or does not keep to JSON-RPC.
        """
        client = {"name": "toolyard", "version": __version__}
        opening = {"protocolVersion": era.LATEST_LEGACY, "capabilities": {}, "clientInfo": client}
        answer = await self.ask("initialize", jsonrpc.encode(opening))
        if answer.result:
            self._write(jsonrpc.notification("notifications/initialized"))

    async def ask(self, method: str, params: bytes) -> Message:
        """Ask something, and wait for the answer."""
        if self.over.done():
            raise LinkError(self.over.result())
        if self._pipes.unsent > UNSENT:
            raise LinkError("it does not read its input")
        self._number += 1
        number = self._number
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._write(jsonrpc.request(number, method, params))
        try:
            return await answer
        except asyncio.CancelledError:
            about = jsonrpc.encode({"requestId": number})
            self._write(jsonrpc.notification("notifications/cancelled", about))
            raise
        finally:
            del self._waiting[number]

    def _write(self, message: bytes) -> None:
        self._pipes.write(jsonrpc.one_line(message) + b"\n")

    def _take(self, line: bytes) -> None:
        try:
            message = jsonrpc.read(line)
            number = jsonrpc.to_python(message.id) if bytes(message.id) else None
        except jsonrpc.MalformedError:
            self._end("it wrote a line that is no JSON-RPC")
            return
        if message.is_request:
            self._write(_reply(message))
        elif message.is_answer:
            self._answer(number, message)

    def _answer(self, number: object, message: Message) -> None:
        if not isinstance(number, int) or not 0 < number <= self._number:
            self._end("it answered what nobody asked")
        elif (answer := self._waiting.get(number)) is not None and not answer.done():
            answer.set_result(message)

    def _skip(self, head: bytes, tail: bytes | None) -> bool:
        self._overflow()
        return True

    def _overflow(self) -> None:
        self._end(f"it wrote a line of more than {self._limit} bytes")

    def _end(self, why: str) -> None:
        self._lines.close()
        if not self.over.done():
            self.over.set_result(why)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LinkError(why))


def _reply(message: Message) -> bytes:
    """Answer a question of the program: it may ask whether we are there."""
    if message.method == "ping":
        return jsonrpc.result(message.id, b"{}")
    text = f"{message.method[:80]} is not known"
    return jsonrpc.error(message.id, jsonrpc.fault(era.METHOD_NOT_FOUND, text))


def _fail(opening: asyncio.Future[_Lines], why: str) -> asyncio.Future[_Lines]:
    opening.set_exception(LinkError(why))
    opening.exception()  # perhaps nobody waits
    return opening
