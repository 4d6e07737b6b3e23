"""Windows of one agent: many clients that count alike and call themselves alike, and are asked.

Nothing on the wire tells them apart but the connection or session they come with. Each says in its
arguments who it is, so it knows which answers and questions are its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.hub import TOKEN, RunningHub
from tests.instances.storm import crowd

Json = dict[str, Any]
META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
INFO = {"name": "window", "version": "1"}
ABLE: Json = {"elicitation": {"form": {}}, "sampling": {}}
KINDS = (("legacy", "line"), ("modern", "line"), ("legacy", "http"), ("modern", "http"))
PLAIN = ("plain0", "plain1", "plain2", "plain3")
ASKING = ("old0", "old1", "new0", "new1")
"""Servers that ask: the old ones over one pipe, where nobody can tell whose call a question is."""
WORK = (
    ("echo", PLAIN),
    ("echo", PLAIN),
    ("elicitation", ASKING),
    ("echo", PLAIN),
    ("echo", ("new0", "new1")),
    ("sampling", ASKING),
    ("echo", PLAIN),
    ("echo", PLAIN),
    ("echo", ("new0", "new1")),
    ("echo", PLAIN),
)
"""What a window does over and over: one call in five asks."""


def servers() -> Json:
    """How the servers of a storm are started."""
    eras = {name: "modern" if name.startswith("new") else "legacy" for name in (*PLAIN, *ASKING)}
    return {name: crowd(era) for name, era in eras.items()}


@dataclass(slots=True)
class Tally:
    """What a storm came to; all but the first two must be empty."""

    answers: int = 0
    questions: int = 0
    crossed: list[Any] = field(default_factory=list)
    """Answers and questions of somebody else."""
    failed: list[Any] = field(default_factory=list)
    """Calls that were answered with an error, or refused to be asked."""
    twice: list[Any] = field(default_factory=list)
    """Answers that nobody waited for."""


class Window:
    """One client: it counts from 1 as all do, and calls one tool after the other."""

    is_modern = False

    def __init__(self, number: int, tally: Tally) -> None:
        self.mark = f"w{number}"
        self.number = number
        self.tally = tally
        self.ids = 0

    async def work(self, calls: int) -> None:
        """Make so many calls, and see that each answer is its own."""
        for count in range(calls):
            kind, names = WORK[(count + self.number) % len(WORK)]
            await self.call(kind, names[(count + self.number) // len(WORK) % len(names)], count)
        # What nobody waited for would have come before this.
        await self.request("tools/list", {})

    async def call(self, kind: str, server: str, count: int) -> None:
        """Call a tool until it is done, and look whose answer came."""
        arguments = {"who": self.mark, "n": count, "kind": kind}
        tool = "echo" if kind == "echo" else "ask"
        params: Json = {"name": f"{server}__{tool}", "arguments": arguments}
        said = await self.request("tools/call", params)
        while said.get("result", {}).get("resultType") == "input_required":
            asked = said["result"]
            replies = {key: self.reply(each) for key, each in asked["inputRequests"].items()}
            again = {"inputResponses": replies, "requestState": asked["requestState"]}
            said = await self.request("tools/call", {**params, **again})
        self.judge(kind, server, count, said)

    def judge(self, kind: str, server: str, count: int, said: Json) -> None:
        """Note what an answer is."""
        self.tally.answers += 1
        text = said["result"]["content"][0]["text"] if "result" in said else "refused"
        expected = f"{self.mark} {count}" if kind == "echo" else f'"{self.mark}"'
        if text == "refused":
            self.tally.failed.append((self.mark, server, said))
        elif text != expected if kind == "echo" else expected not in text:
            self.tally.crossed.append((self.mark, server, count, text))

    def reply(self, question: Json) -> Json:
        """What its person says; a question that is not its own is noted."""
        self.tally.questions += 1
        if f'"{self.mark} ' not in json.dumps(question["params"]):
            self.tally.crossed.append((self.mark, question))
        if question["method"] == "sampling/createMessage":
            content = {"type": "text", "text": self.mark}
            return {"role": "assistant", "model": "m", "content": content}
        return {"action": "accept", "content": {"name": self.mark}}

    def message(self, method: str, params: Json) -> Json:
        """A request under the next number."""
        self.ids += 1
        if self.is_modern:
            envelope = {"protocolVersion": MODERN, "clientInfo": INFO, "clientCapabilities": ABLE}
            params = {**params, "_meta": {META + key: value for key, value in envelope.items()}}
        return {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}

    async def greet(self) -> None:
        """Shake hands, where the era wants it."""
        if not self.is_modern:
            hello = {"protocolVersion": "2025-11-25", "capabilities": ABLE, "clientInfo": INFO}
            assert "result" in await self.request("initialize", hello)

    async def request(self, method: str, params: Json) -> Json:
        """Send a request, answer what is asked meanwhile; the response."""
        raise NotImplementedError

    async def close(self) -> None:
        """Hang up."""
        raise NotImplementedError


class LineWindow(Window):
    """A window at the line door."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def open(self, hub: RunningHub) -> None:
        """Attach as `toolyard mcp` does."""
        self.reader, self.writer = await asyncio.open_unix_connection(hub.socket, limit=1 << 20)
        self.send({"toolyard": {"version": 1, "cwd": "/"}})
        await self.greet()

    def send(self, message: Json) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def request(self, method: str, params: Json) -> Json:
        message = self.message(method, params)
        self.send(message)
        while True:
            said: Json = json.loads(await self.reader.readline())
            if said.get("id") == message["id"] and "method" not in said:
                return said
            self.take(said)

    def take(self, said: Json) -> None:
        """Answer a question; nothing else should have come."""
        if said.get("method") in ("elicitation/create", "sampling/createMessage"):
            self.send({"jsonrpc": "2.0", "id": said["id"], "result": self.reply(said)})
        elif "method" not in said:
            self.tally.twice.append((self.mark, said))

    async def close(self) -> None:
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


class ModernLineWindow(LineWindow):
    """The same in the modern era."""

    is_modern = True


class Pipe:
    """One connection to the HTTP door, for one request at a time."""

    def __init__(self, hub: RunningHub, reader: Any, writer: asyncio.StreamWriter) -> None:
        self.host = hub.url.removeprefix("http://")
        self.reader: asyncio.StreamReader = reader
        self.writer = writer

    @classmethod
    async def open(cls, hub: RunningHub) -> Pipe:
        host, _, port = hub.url.removeprefix("http://").rpartition(":")
        return cls(hub, *await asyncio.open_connection(host, int(port), limit=1 << 20))

    async def post(self, message: Json, head: str) -> tuple[int, dict[str, str]]:
        """Send a message; the status and headers of what comes back."""
        body = json.dumps(message).encode()
        lines = (
            f"POST /mcp HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"{head}Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(lines.encode() + body)
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = text.strip().split("\r\n")
        pairs = (line.split(":", 1) for line in rest)
        return int(first.split()[1]), {key.lower(): value.strip() for key, value in pairs}

    async def messages(self, headers: dict[str, str]) -> AsyncIterator[Json]:
        """The messages of an answer: one, or those of a stream."""
        if "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
            if body:
                yield json.loads(body)
            return
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            chunk = (await self.reader.readexactly(size + 2))[:-2]
            for line in chunk.split(b"\r\n"):
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        await self.reader.readexactly(2)

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


class HttpWindow(Window):
    """A window at the HTTP door; answers to questions go over connections of their own."""

    hub: RunningHub
    pipe: Pipe
    session = ""

    async def open(self, hub: RunningHub) -> None:
        """Connect, and begin a session where the era has any."""
        self.hub = hub
        self.pipe = await Pipe.open(hub)
        await self.greet()

    def head(self, message: Json) -> str:
        """The header lines that the era wants."""
        return self.session

    async def request(self, method: str, params: Json) -> Json:
        message = self.message(method, params)
        status, headers = await self.pipe.post(message, self.head(message))
        assert status == 200, status
        if method == "initialize":
            version = "MCP-Protocol-Version: 2025-11-25\r\n"
            self.session = f"Mcp-Session-Id: {headers['mcp-session-id']}\r\n{version}"
        answers: list[Json] = []
        async for said in self.pipe.messages(headers):
            if "method" not in said:
                answers.append(said)
            elif "id" in said:
                await self.say({"jsonrpc": "2.0", "id": said["id"], "result": self.reply(said)})
        if len(answers) != 1 or answers[0]["id"] != message["id"]:
            self.tally.twice.append((self.mark, answers))
        return answers[-1]

    async def say(self, answer: Json) -> None:
        """Answer a question while its call is under way."""
        pipe = await Pipe.open(self.hub)
        status, _ = await pipe.post(answer, self.session)
        assert status == 202, status
        await pipe.close()

    async def close(self) -> None:
        await self.pipe.close()


class ModernHttpWindow(HttpWindow):
    """The same in the modern era: every request stands alone."""

    is_modern = True

    def head(self, message: Json) -> str:
        name = message["params"].get("name")
        named = f"Mcp-Name: {name}\r\n" if name else ""
        return f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {message['method']}\r\n{named}"


TYPES: dict[tuple[str, str], type[LineWindow] | type[HttpWindow]] = {
    ("legacy", "line"): LineWindow,
    ("modern", "line"): ModernLineWindow,
    ("legacy", "http"): HttpWindow,
    ("modern", "http"): ModernHttpWindow,
}


@asynccontextmanager
async def open_windows(hub: RunningHub, number: int, tally: Tally) -> AsyncIterator[list[Window]]:
    """So many windows, as many of each era and door."""
    async with AsyncExitStack() as stack:
        windows: list[Window] = []
        for count in range(number):
            window = TYPES[KINDS[count % len(KINDS)]](count, tally)
            await window.open(hub)
            stack.push_async_callback(window.close)
            windows.append(window)
        yield windows


async def storm(hub: RunningHub, windows: int, calls: int, seconds: float) -> Tally:
    """Let so many windows make so many calls each, all at once, within so many seconds."""
    tally = Tally()
    async with asyncio.timeout(seconds):
        async with open_windows(hub, 1, Tally()) as (first,):
            for server in ASKING:
                await first.call("elicitation", server, 0)  # seen to ask once, it is called in turn
        async with open_windows(hub, windows, tally) as everybody, asyncio.TaskGroup() as group:
            for window in everybody:
                group.create_task(window.work(calls))
    return tally
