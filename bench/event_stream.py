"""A client of the oldest HTTP transport, with an event stream, for peers that speak no other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
from http_wire import Line, head
from load import FIRST_ID, HELLO, LoadError, Meter, Once, Tally, Target, loop_closed
from msgspec import Raw

VERSION = "2024-11-05"


class Answer(msgspec.Struct):
    """What is read of a message in the stream."""

    id: Raw = Raw(b"")
    result: Raw = Raw(b"")


read_answer = msgspec.json.Decoder(Answer).decode


class Stream(Line):
    """The stream of a session: it says where messages go, and brings the answers."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.answers: dict[bytes, asyncio.Future[Answer]] = {}
        self.buffer = bytearray()
        self.searched = 0

    def on_body(self, part: bytes) -> None:
        self.buffer += part.replace(b"\r", b"")
        while (end := self.buffer.find(b"\n\n", max(0, self.searched - 1))) >= 0:
            event = bytes(self.buffer[:end])
            del self.buffer[: end + 2]
            self.searched = 0
            self.take(event)
        self.searched = len(self.buffer)

    def take(self, event: bytes) -> None:
        """Take an event: the address, or a message."""
        fields = dict(line.partition(b":")[::2] for line in event.split(b"\n"))
        data = fields.get(b"data", b"").strip()
        if fields.get(b"event", b"").strip() == b"endpoint":
            self.endpoint.set_result(data.decode())
        elif data:
            answer = read_answer(data)
            if waiting := self.answers.pop(bytes(answer.id), None):
                waiting.set_result(answer)


class StreamClient:
    """A session: a stream for answers, and a connection on which messages are posted."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.number = FIRST_ID

    async def open(self) -> None:
        """Open the stream and shake hands."""
        loop, target = asyncio.get_running_loop(), self.target
        self.line = await target.connect()
        _, self.stream = await loop.create_connection(Stream, target.host, target.port)
        place = f"{target.host}:{target.port}"
        opening = head("GET", place, target.path, target.token).rpartition(b"content-length")[0]
        self.stream.send(opening + b"\r\n", lambda *_: None)
        self.head = head("POST", place, await self.stream.endpoint, target.token)
        await self.ask("initialize", {**HELLO, "protocolVersion": VERSION})
        await self.post({"method": "notifications/initialized"})

    async def post(self, message: dict[str, Any]) -> None:
        """Send a message and wait until it is taken.

        Raises:
            LoadError: It is refused.
        """
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        request = b"%b%d\r\n\r\n%b" % (self.head, len(body), body)
        taken: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.line.send(request, lambda status, _headers, _body: taken.set_result(status))
        if not 200 <= await taken < 300:
            raise LoadError(f"status {taken.result()}")

    async def ask(self, method: str, params: dict[str, Any]) -> Answer:
        """Send a request and wait for its answer in the stream.

        Raises:
            LoadError: It is refused, or the answer is an error.
        """
        self.number += 1
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.stream.answers[b"%d" % self.number] = answered
        await self.post({"id": self.number, "method": method, "params": params})
        answer = await answered
        if not answer.result:
            raise LoadError("no result in the stream")
        return answer

    def close(self) -> None:
        """Close both connections."""
        self.line.transport.close()
        self.stream.transport.close()


async def list_over_stream(target: Target) -> list[str]:
    """The names of all tools."""
    client = StreamClient(target)
    await client.open()
    try:
        answer = await client.ask("tools/list", {})
    finally:
        client.close()
    return [tool["name"] for tool in json.loads(bytes(answer.result))["tools"]]


async def repeat_over_stream(
    target: Target,
    method: str,
    params: dict[str, Any],
    callers: int,
    seconds: float,
    meter: Meter,
) -> Tally:
    """The same request from many callers, each with a stream of its own."""
    clients = [StreamClient(target) for _ in range(callers)]
    for client in clients:
        await client.open()

    def caller(client: StreamClient) -> Once:
        async def once() -> None:
            await client.ask(method, params)

        return once

    tally = await loop_closed([caller(client) for client in clients], seconds, meter)
    for client in clients:
        client.close()
    return tally
