"""A small MCP client of our own: both eras, both doors, and nothing hidden.

It shows every message as it arrived, answers a server's questions as it is told to, and drives
the rounds of `input_required` results, so that one test can be run from every kind of client.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tests.e2e.hub import RunningHub

Json = dict[str, Any]

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)
PATHS = {"server": "s", "profile": "p"}
"""How a path says which part of the yard is wanted."""
PATIENCE = 60.0
ROUNDS = 10
PLAIN: Json = {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}
"""For HTTP clients that only ever speak to a hub on this machine: they start much quicker."""

ALL: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {"listChanged": True},
}
"""Everything a client may be able to do."""
ANSWERS: Json = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "hello"},
    },
    "roots/list": {"roots": [{"uri": "file:///here", "name": "here"}]},
}


class Talk:
    """One client; `heard` are the notifications that came, `asked` the questions.

    `last` is the last message as the bytes it was.
    """

    def __init__(self, era: str, name: str, capabilities: Json, answers: Mapping[str, Any]) -> None:
        self.era = era
        self.info: Json = {"name": name, "version": "1"}
        self.capabilities = capabilities
        self.answers = answers
        self.heard: list[Json] = []
        self.asked: list[Json] = []
        self.last = b""
        self.group = asyncio.TaskGroup()
        self._number = 0
        self._news = asyncio.Condition()

    @property
    def is_modern(self) -> bool:
        return self.era == "modern"

    # What a test does.

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        meta: Json | None = None,
        number: Any = None,
    ) -> Json:
        """Send a request; the whole response."""
        message = self.message(method, params, meta, number)
        async with asyncio.timeout(PATIENCE):
            return await self.exchange(message)

    def message(
        self, method: str, params: Json | None, meta: Json | None = None, number: Any = None
    ) -> Json:
        """A request of this client's era."""
        self._number += 1
        id_ = self._number if number is None else number
        said = {**(params or {})}
        marks = {**self.envelope(), **(meta or {})}
        if marks:
            said["_meta"] = marks
        return {"jsonrpc": "2.0", "id": id_, "method": method, "params": said}

    def envelope(self) -> Json:
        """What every request of the modern era says of its client."""
        if not self.is_modern:
            return {}
        return {
            META + "protocolVersion": MODERN,
            META + "clientInfo": self.info,
            META + "clientCapabilities": self.capabilities,
        }

    async def result(self, method: str, params: Json | None = None, **more: Any) -> Json:
        """Send a request that must succeed; its result."""
        response = await self.request(method, params, **more)
        assert "result" in response, response
        return response["result"]

    async def fault(self, method: str, params: Json | None = None, **more: Any) -> Json:
        """Send a request that must fail; its error."""
        response = await self.request(method, params, **more)
        assert "error" in response, response
        return response["error"]

    async def call(self, tool: str, arguments: Json | None = None, **more: Any) -> Json:
        """Call a tool and answer what is asked meanwhile; the last result."""
        return await self.rounds("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    async def rounds(self, method: str, params: Json, **more: Any) -> Json:
        """Send a request until its result is complete."""
        given: Json = {}
        for _ in range(ROUNDS):
            result = await self.result(method, {**params, **given}, **more)
            if result.get("resultType") != "input_required":
                return result
            given = {"inputResponses": {}}
            for key, question in (result.get("inputRequests") or {}).items():
                given["inputResponses"][key] = self.reply_to(question)
            if "requestState" in result:
                given["requestState"] = result["requestState"]
        raise AssertionError(f"{method} asked more than {ROUNDS} times")

    async def wait_heard(self, method: str, count: int = 1) -> list[Json]:
        """The params of that many notifications, as soon as they are there."""

        def found() -> list[Json]:
            return [m.get("params", {}) for m in self.heard if m["method"] == method]

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(found()) >= count)
        return found()

    def reply_to(self, question: Json) -> Any:
        """What the user answers."""
        self.asked.append(question)
        return self.answers[question["method"]]

    # What a door does.

    async def exchange(self, message: Json) -> Json:
        """Send a request and wait for its response."""
        raise NotImplementedError

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        raise NotImplementedError

    async def cancel(self, number: Any, waiting: asyncio.Task[Json]) -> None:
        """Take a request back, as this era and door want it."""
        await self.notify("notifications/cancelled", {"requestId": number, "reason": "enough"})
        waiting.cancel()

    async def greet(self) -> None:
        """Shake hands where the era wants it."""
        if not self.is_modern:
            asked = {"protocolVersion": LEGACY, "capabilities": self.capabilities}
            await self.result("initialize", {**asked, "clientInfo": self.info})
            await self.notify("notifications/initialized")

    async def take(self, message: Json) -> None:
        """Keep a notification, or answer a question."""
        if "id" in message:
            answer = self.reply_to(message)
            await self.say({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            return
        async with self._news:
            self.heard.append(message)
            self._news.notify_all()

    async def say(self, message: Json) -> None:
        """Send an answer."""
        raise NotImplementedError


class LineTalk(Talk):
    """A client at the line door."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    waiting: dict[Any, asyncio.Future[Json]]
    wish: Json
    """Which part of the yard this line is for, in the words of the first line."""

    async def run(self) -> None:
        """Read lines until the hub hangs up."""
        while line := await self.reader.readline():
            self.last = line
            message = json.loads(line)
            if "method" in message:
                await self.take(message)
            else:
                self.waiting.pop(message["id"]).set_result(message)

    async def exchange(self, message: Json) -> Json:
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.waiting[message["id"]] = answer
        await self.say(message)
        return await answer

    async def burst(self, *messages: Json) -> Json:
        """Send several in one piece, and wait for the response to the last."""
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.waiting[messages[-1]["id"]] = answer
        self.writer.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        return await answer

    async def notify(self, method: str, params: Json | None = None) -> None:
        await self.say({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def say(self, message: Json) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")
        await self.writer.drain()

    @asynccontextmanager
    async def opened(self, hub: RunningHub) -> AsyncIterator[None]:
        """Attach to the hub's socket, as `toolyard mcp` does."""
        self.waiting = {}
        self.reader, self.writer = await asyncio.open_unix_connection(hub.socket, limit=1 << 24)
        preamble = {"toolyard": {"version": 1, "cwd": "/", **self.wish}}
        self.writer.write(json.dumps(preamble).encode() + b"\n")
        running = self.group.create_task(self.run())
        try:
            await self.greet()
            yield
        finally:
            running.cancel()
            self.writer.close()
            await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


class HttpTalk(Talk):
    """A client at the HTTP door."""

    http: httpx2.AsyncClient
    url: str
    path: str
    """Which part of the yard it comes to."""
    session: dict[str, str]

    def headers(self, message: Json) -> dict[str, str]:
        """What the era wants repeated in headers."""
        out = {"Accept": "application/json, text/event-stream"}
        if not self.is_modern:
            return {**out, **self.session}
        method = message["method"]
        out |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method in NAMED:
            out["Mcp-Name"] = str(message["params"][NAMED[method]])
        return out

    async def exchange(self, message: Json) -> Json:
        headers = self.headers(message)
        async with self.http.stream("POST", self.url, json=message, headers=headers) as answer:
            if "text/event-stream" not in answer.headers.get("content-type", ""):
                self.last = await answer.aread()
                response = json.loads(self.last)
            else:
                response = await self.follow(answer)
        if message["method"] == "initialize":
            version = {"MCP-Protocol-Version": response["result"]["protocolVersion"]}
            self.session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], **version}
        return response

    async def follow(self, answer: httpx2.Response) -> Json:
        """Take the events of a stream until the response is there."""
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                self.last = line.encode()
                message = json.loads(line[5:])
                if "method" not in message:
                    return message
                await self.take(message)
        return {}

    async def notify(self, method: str, params: Json | None = None) -> None:
        if not self.is_modern:
            await self.say({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def say(self, message: Json) -> None:
        answer = await self.http.post(self.url, json=message, headers=self.headers(message))
        assert answer.status_code == 202, answer.text

    async def cancel(self, number: Any, waiting: asyncio.Task[Json]) -> None:
        if self.is_modern:
            waiting.cancel()  # hanging up is the cancellation
        else:
            await super().cancel(number, waiting)

    async def listen(self, ready: asyncio.Event) -> None:
        """Hold the stream on which a legacy server speaks unasked."""
        headers = {**self.session, "Accept": "text/event-stream"}
        async with self.http.stream("GET", self.url, headers=headers) as answer:
            assert answer.status_code == 200
            ready.set()
            await self.follow(answer)

    @asynccontextmanager
    async def opened(self, hub: RunningHub) -> AsyncIterator[None]:
        """Begin a session in the legacy era; nothing in the modern one."""
        self.url = hub.mcp + self.path
        self.session = {}
        bearer = {"Authorization": f"Bearer {hub.token}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=PATIENCE, **PLAIN) as self.http:
            await self.greet()
            if self.is_modern:
                yield
                return
            ready = asyncio.Event()
            listening = self.group.create_task(self.listen(ready))
            await ready.wait()
            try:
                yield
            finally:
                listening.cancel()
                await self.http.delete(self.url, headers=self.session)


@asynccontextmanager
async def talking(
    hub: RunningHub,
    era: str = "legacy",
    door: str = "line",
    *,
    name: str = "talk",
    capabilities: Json | None = None,
    answers: Mapping[str, Any] | None = None,
    **wish: str | bool,
) -> AsyncIterator[Talk]:
    """A client of this era at this door; without more it can do everything a client may.

    `wish` is the part of the yard it wants, as far as the door's own address does not say it.
    """
    kind = LineTalk if door == "line" else HttpTalk
    able = ALL if capabilities is None else capabilities
    talk = kind(era, name, able, {**ANSWERS, **(answers or {})})
    if isinstance(talk, LineTalk):
        talk.wish = dict(wish)
    elif isinstance(talk, HttpTalk):
        talk.path = "".join(f"/{PATHS[p]}/{value}" for p, value in wish.items() if p in PATHS)
    async with talk.group, talk.opened(hub):
        yield talk


@asynccontextmanager
async def listening(talk: Talk, **wanted: Any) -> AsyncIterator[Json]:
    """A modern client's open subscription; gives what was acknowledged."""
    message = talk.message("subscriptions/listen", {"notifications": wanted})
    before = sum(m["method"] == ACKNOWLEDGED for m in talk.heard)
    waiting = talk.group.create_task(talk.exchange(message))
    try:
        yield (await talk.wait_heard(ACKNOWLEDGED, before + 1))[-1]
    finally:
        await talk.cancel(message["id"], waiting)


ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


def text_of(result: Json) -> str:
    """The text of a tool's result."""
    text: str = result["content"][0]["text"]
    return text
