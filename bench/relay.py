"""The bare relay: the least a hub in Python can cost, as a yardstick.

Raw uvloop and httptools, callbacks only. It keeps sessions, parses the envelope, looks at the
name, forwards over a kept connection or a pipe and puts the caller's id back. No token, no
limits, no bookkeeping, no second era, no streams.

    python relay.py --http NAME=URL ... --stdio "NAME=COMMAND" ...     prints its address
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import uvloop
from http_wire import Door, Line, head, listen
from msgspec import Raw

Done = Callable[[bytes], None]
OPEN = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"relay","version":"1"}}}'
)
OPENED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST = b'{"jsonrpc":"2.0","id":0,"method":"tools/list"}'
GREETING = (
    b'{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
    b'"serverInfo":{"name":"relay","version":"1"}}'
)
FORWARD = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}'
RESULT = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
ERROR = b'{"jsonrpc":"2.0","id":%b,"error":%b}'
LOST = b'{"error":{"code":-32000,"message":"connection lost"}}'


class Request(msgspec.Struct):
    """What the relay reads of a request."""

    method: str
    id: Raw = Raw(b"")
    params: Raw = Raw(b"{}")


class Call(msgspec.Struct, omit_defaults=True):
    """What it reads of the params of a call."""

    name: str
    arguments: Raw = Raw(b"{}")


class Answer(msgspec.Struct):
    """What it reads of an answer."""

    id: Raw = Raw(b"")
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")


read_request = msgspec.json.Decoder(Request).decode
read_call = msgspec.json.Decoder(Call).decode
read_answer = msgspec.json.Decoder(Answer).decode
encode = msgspec.json.Encoder().encode


class HttpServer:
    """A server behind HTTP, reached over kept connections."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.path = parts.hostname or "", parts.port or 80, parts.path
        self.idle: list[Line] = []
        self.head = self.heading("")
        self.dials: set[asyncio.Task[None]] = set()

    def heading(self, extra: str) -> bytes:
        return head("POST", f"{self.host}:{self.port}", self.path, extra)

    async def open(self) -> None:
        """Open the one session all calls share."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[bytes] = loop.create_future()
        line = await self.dial()
        request = b"%b%d\r\n\r\n%b" % (self.head, len(OPEN), OPEN)
        line.send(request, lambda status, got, body: opened.set_result(got[b"mcp-session-id"]))
        session = (await opened).decode()
        self.head = self.heading(
            f"mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n"
        )
        await ask(self, OPENED, 0)

    async def dial(self) -> Line:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(lambda: Line(self.idle.append), self.host, self.port)
        return line

    def send(self, body: bytes, number: int, done: Done) -> None:
        """Send a request and give its answer to `done`."""
        if self.idle:
            self.put(self.idle.pop(), body, done)
            return
        dialled = asyncio.get_running_loop().create_task(self.dial_and_put(body, done))
        self.dials.add(dialled)
        dialled.add_done_callback(self.dials.discard)

    async def dial_and_put(self, body: bytes, done: Done) -> None:
        self.put(await self.dial(), body, done)

    def put(self, line: Line, body: bytes, done: Done) -> None:
        if line.transport.is_closing():
            done(LOST)
            return
        request = b"%b%d\r\n\r\n%b" % (self.head, len(body), body)
        line.send(request, lambda status, headers, answer: done(answer if status else LOST))


class StdioServer(asyncio.SubprocessProtocol):
    """A server behind a pipe; answers are matched by number."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.waiting: dict[bytes, Done] = {}
        self.parts: list[bytes] = []

    async def open(self) -> None:
        """Start it and shake hands."""
        loop = asyncio.get_running_loop()
        argv = shlex.split(self.command)
        transport, _ = await loop.subprocess_exec(lambda: self, *argv, stderr=None)
        stdin = transport.get_pipe_transport(0)
        self.stdin = cast(asyncio.WriteTransport, stdin)
        await ask(self, OPEN, 0)
        self.stdin.write(OPENED + b"\n")

    def send(self, body: bytes, number: int, done: Done) -> None:
        """Send a request and give its answer to `done`."""
        self.waiting[b"%d" % number] = done
        self.stdin.write(body + b"\n")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        # Parts of a long line are joined once, at its end.
        self.parts.append(data)
        if b"\n" not in data:
            return
        *lines, rest = b"".join(self.parts).split(b"\n")
        self.parts = [rest] if rest else []
        for line in lines:
            if done := self.waiting.pop(bytes(read_answer(line).id), None):
                done(line)


Server = HttpServer | StdioServer


async def ask(server: Server, body: bytes, number: int) -> bytes:
    """Send a request and wait for its answer."""
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    server.send(body, number, answered.set_result)
    return await answered


class Front(Door):
    """A client's connection."""

    servers: dict[str, Server]
    sessions: set[bytes]
    listed: bytes
    count = 0

    def on_request(self, method: bytes, session: bytes, body: bytes) -> None:
        if method == b"DELETE":
            self.sessions.discard(session)
            self.reply(200)
        elif method != b"POST":
            self.reply(405)
        else:
            self.take(read_request(body), session)

    def take(self, request: Request, session: bytes) -> None:
        if request.method == "initialize":
            opened = os.urandom(16).hex().encode()
            self.sessions.add(opened)
            self.reply(200, RESULT % (request.id, GREETING), opened)
        elif session not in self.sessions:
            self.reply(404)
        elif request.method == "tools/call":
            self.forward(request)
        elif not request.id:
            self.reply(202)
        else:
            self.reply(200, RESULT % (request.id, self.listed))

    def forward(self, request: Request) -> None:
        call = read_call(request.params)
        server, _, call.name = call.name.partition("__")
        Front.count += 1
        body = FORWARD % (Front.count, encode(call))
        self.servers[server].send(body, Front.count, lambda line: self.answer(request.id, line))

    def answer(self, number: Raw, line: bytes) -> None:
        answer = read_answer(line)
        if answer.result:
            self.reply(200, RESULT % (number, answer.result))
        else:
            self.reply(200, ERROR % (number, answer.error))


async def list_tools(name: str, server: Server) -> list[dict[str, Any]]:
    """Open a server and list its tools under their exposed names."""
    await server.open()
    tools = msgspec.json.decode(await ask(server, LIST, 0))["result"]["tools"]
    return [{**tool, "name": f"{name}__{tool['name']}"} for tool in tools]


async def serve(servers: dict[str, Server], port: int) -> None:
    """Open all servers, then the door."""
    lists = await asyncio.gather(*(list_tools(*item) for item in servers.items()))
    Front.servers, Front.sessions = servers, set()
    Front.listed = encode({"tools": [tool for tools in lists for tool in tools]})
    print(f"http://127.0.0.1:{await listen(Front, port)}/mcp", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Relay as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--http", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--stdio", action="append", default=[], metavar="NAME=COMMAND")
    given = parser.parse_args()
    servers: dict[str, Server] = {}
    for text in given.http:
        name, _, url = text.partition("=")
        servers[name] = HttpServer(url)
    for text in given.stdio:
        name, _, command = text.partition("=")
        servers[name] = StdioServer(command)
    uvloop.run(serve(servers, given.port))


if __name__ == "__main__":
    main()
