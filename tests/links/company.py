"""Servers to link to: real stubs, small programs, and one that lives in the test itself."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Raw

from tests.fixtures.stub_run import stub_command
from toolyard.board import Board
from toolyard.core.errors import LinkError
from toolyard.core.model import Command, Endpoint, Entry, Peer, Report, Server, ServerId, Url
from toolyard.executors.local import Local
from toolyard.links.connecting import open_link
from toolyard.links.greeting import own_params
from toolyard.links.keeper import Notice, OnInstalling, Open, Ready
from toolyard.links.link import Link
from toolyard.links.patience import Patience
from toolyard.links.pending import PendingRequest
from toolyard.links.pool import LinkPool
from toolyard.wire.era import Era
from toolyard.wire.jsonrpc import Fault, Message

PATIENCE = Patience(probe=1.0, open=120.0, list=5.0, call=10.0, let_in=0.0)
HASTY = replace(PATIENCE, first_pause=0.01, longest_pause=0.01)
SLOW = replace(PATIENCE, first_pause=600.0, longest_pause=600.0)
"""Never tries again by itself while a test runs."""
LIMIT = 1 << 20
Json = dict[str, Any]

# Speaks the legacy era only; what it does with a probe is the first argument: `silent`, `die`,
# or the code of a JSON-RPC error.
OLD_TIMER = """
import json, os, sys
manner = sys.argv[1]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "server/discover":
        if manner == "die":
            print("unknown method, farewell", file=sys.stderr, flush=True)
            os._exit(1)
        if manner == "silent":
            continue
        answer["error"] = {"code": int(manner), "message": "no"}
    elif message["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "old", "version": "1"}}
    else:
        answer["result"] = {"tools": [{"name": "old_tool"}]}
    print(json.dumps(answer), flush=True)
"""


def python(code: str, *args: str) -> Command:
    """A command that runs this code."""
    return Command((sys.executable, "-I", "-c", code, *args))


def stub(*flags: str) -> Command:
    """A stub over stdio."""
    return Command(tuple(stub_command(*flags)))


@asynccontextmanager
async def linked(
    target: Endpoint,
    *,
    patience: Patience = PATIENCE,
    limit: int = LIMIT,
    hint: Era | None = None,
) -> AsyncIterator[Link]:
    """An open link to a server."""
    from toolyard.executors.local import LocalPatience

    local = Local(patience=LocalPatience(eof=0.5, term=0.5))
    try:
        async with open_link("acme", target, local, patience, limit, hint) as link:
            yield link
    finally:
        await local.close()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    """A server that talks to every connection as it is told; gives its address."""
    guests: set[asyncio.Task[Any] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guests.add(asyncio.current_task())
        try:
            await talk(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            guests.discard(asyncio.current_task())

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await until(lambda: not guests)


class Guest:
    """A caller, who notes what it is told and answers what it is asked."""

    def __init__(self, client: str = "one", answer: Json | None = None) -> None:
        self.client: object = client
        self.turn: object = client
        self.lane: object = client
        self.told: list[tuple[str, Json]] = []
        self.asked: list[tuple[str, Json]] = []
        self.answer = answer
        self.news = asyncio.Event()

    def notify(self, method: str, params: bytes) -> None:
        self.told.append((method, json.loads(params or b"{}")))
        self.news.set()

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        self.asked.append((method, json.loads(params)))
        self.news.set()
        if self.answer is None:
            raise LinkError("nobody is there to answer")
        return Message(result=Raw(json.dumps(self.answer).encode()))


def call(
    link: Link,
    tool: str,
    arguments: Json | None = None,
    guest: Guest | None = None,
    *,
    progress: bool = False,
    patience: float | None = None,
) -> PendingRequest:
    """Call a tool the way the relay does."""
    params: Json = {"name": tool, "arguments": arguments or {}}
    if link.is_modern:
        params = json.loads(own_params(link, params))
    if progress:
        params.setdefault("_meta", {})["progressToken"] = link.next_number()
    head = b"mcp-name: %b\r\n" % tool.encode() if link.is_modern else b""
    return link.request(
        "tools/call", json.dumps(params).encode(), guest, head=head, patience=patience
    )


async def said(pending: PendingRequest) -> str:
    """The text a tool answered with."""
    message = await pending.answer
    assert message.result, bytes(message.error)
    text: str = json.loads(bytes(message.result))["content"][0]["text"]
    return text


async def until(is_so: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for what has no event, with an end."""
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Indoors:
    """A server inside the test: a channel that answers by a table.

    `answers` maps methods to results, to functions of the params, to a fault, or to None for
    silence; a method that is missing is refused.
    """

    trace = ("its last words",)
    pid = 0
    cancel_by_message = True

    def __init__(self, link: Link, answers: Json | None = None) -> None:
        self.link = link
        self.answers = answers or {}
        self.heard: list[Json] = []
        self.dropped: list[PendingRequest] = []
        link.attach(self)

    def send(self, message: bytes, pending: PendingRequest | None, head: bytes) -> None:
        heard: Json = json.loads(message)
        self.heard.append(heard)
        if "id" in heard and "method" in heard:
            self._respond(heard)

    def drop(self, pending: PendingRequest) -> None:
        self.dropped.append(pending)

    def say(self, message: Json, via: PendingRequest | None = None) -> None:
        """Speak to the link."""
        self.link.receive(json.dumps({"jsonrpc": "2.0", **message}).encode(), via)

    def _respond(self, heard: Json) -> None:
        answer: Json = {"error": {"code": -32601, "message": "method not found"}}
        if heard["method"] in self.answers:
            result = self.answers[heard["method"]]
            result = result(heard.get("params") or {}) if callable(result) else result
            if result is None:
                return
            answer = {"result": result}
            if isinstance(result, Fault):
                answer = {"error": {"code": result.code, "message": result.message}}
        asyncio.get_running_loop().call_soon(self.say, {"id": heard["id"], **answer})


def indoors(answers: Json | None = None, patience: float = 5.0) -> Indoors:
    """A link to a server inside the test."""
    return Indoors(Link("acme", patience), answers)


class Landlord:
    """Opens links to servers inside the test, the way `open_link` does, and counts."""

    def __init__(self, answers: Json, era: Era = "legacy") -> None:
        self.answers = answers
        self.era: Era = era
        self.capabilities: Json = {"tools": {"listChanged": True}}
        self.hints: list[Era | None] = []
        self.lives: list[Indoors] = []
        self.opening = self.most_opening = 0
        self.fail: Callable[[Era | None], Exception | None] = lambda _hint: None
        self.gate = asyncio.Event()
        self.gate.set()

    def __call__(
        self, server: Any, hint: Era | None, _on_installing: OnInstalling
    ) -> AbstractAsyncContextManager[Link]:
        return self._open(str(server.id.name), hint)

    @asynccontextmanager
    async def _open(self, name: str, hint: Era | None) -> AsyncIterator[Link]:
        self.hints.append(hint)
        self.opening += 1
        self.most_opening = max(self.opening, self.most_opening)
        try:
            await self.gate.wait()
        finally:
            self.opening -= 1
        if (error := self.fail(hint)) is not None:
            raise error
        link = Link(name, 5.0)
        link.peer = Peer(self.era, "v", name=name)
        link.capabilities = self.capabilities
        life = Indoors(link, self.answers)
        self.lives.append(life)
        try:
            yield link
        finally:
            link.lose("was stopped")
            await link.tasks.close()


@asynccontextmanager
async def pooled(
    open_link: Open,
    *servers: Server,
    patience: Patience = PATIENCE,
    on_ready: Ready = lambda *_: None,
    on_notice: Notice = lambda *_: None,
) -> AsyncIterator[tuple[Board, LinkPool]]:
    """A pool that follows a board on which these servers were reported."""
    board = Board()
    pool = LinkPool(board, open_link, patience)
    pool.report_to(on_ready, on_notice)
    board.post(Report("t", servers))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(pool.run())
        try:
            await until(lambda: pool.keepers or not servers)
            yield board, pool
        finally:
            running.cancel()


async def shown(board: Board, is_so: Callable[[Entry], Any], name: str = "acme") -> Entry:
    """The server on the picture, as soon as it is so."""
    revision = -1
    async with asyncio.timeout(60):
        while True:
            snapshot = await board.wait_after(revision)
            revision = snapshot.revision
            entry = snapshot.entries.get(ServerId(name, "t"))
            if entry is not None and is_so(entry):
                return entry


def declared(name: str = "acme", endpoint: Endpoint | None = None, **more: Any) -> Server:
    """A server as a source declares it."""
    return Server(ServerId(name, "t"), endpoint or Command((name,)), **more)


def tools(*names: str) -> Json:
    """The result of tools/list."""
    return {"tools": [{"name": name} for name in names]}


def url(address: str, **more: Any) -> Url:
    """An HTTP endpoint."""
    return Url(address, **more)


def record(folder: Path) -> tuple[Path, tuple[str, str]]:
    """A file for what a stub does, and the flags that make it write there."""
    file = folder / "record"
    return file, ("--record", str(file))
