"""A hub's doors inside the test's own loop, and a client that speaks raw bytes to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolyard import app
from toolyard.core.opened_hub import OpenedHub
from toolyard.feature import Feature
from toolyard.features import FEATURES
from toolyard.links.patience import Patience
from toolyard.settings import read_settings

Json = dict[str, Any]

TOKEN = "only-for-these-tests-0123456789"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
PATIENCE = 60.0
NOBODY = {"nobody": {"command": "nobody", "disabled": True}}
"""A file with no server in use, so that a hub starts nothing at all."""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)

    @property
    def code(self) -> int:
        """The code of the JSON-RPC error in it."""
        code: int = self.json()["error"]["code"]
        return code


class Raw:
    """One connection that sends whatever bytes it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, *, bodiless: bool = False) -> Answer:
        """The next whole answer."""
        async with asyncio.timeout(PATIENCE):
            status, headers = await self.head()
            if bodiless or status == 100:
                return Answer(status, headers, b"")
            if headers.get("transfer-encoding") == "chunked":
                return Answer(status, headers, b"".join([c async for c in self.chunks()]))
            if "content-length" in headers:
                body = await self.reader.readexactly(int(headers["content-length"]))
            else:
                body = await self.reader.read()
            return Answer(status, headers, body)

    async def head(self) -> tuple[int, dict[str, str]]:
        """The status and headers of the next answer."""
        async with asyncio.timeout(PATIENCE):
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.strip().split("\r\n")
        pairs = (line.split(":", 1) for line in lines)
        return int(first.split()[1]), {k.lower(): v.strip() for k, v in pairs}

    async def chunks(self) -> AsyncIterator[bytes]:
        """The chunks of an answer, until the last."""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def event(self) -> Json:
        """The next message of a stream of events."""
        async with asyncio.timeout(PATIENCE):
            async for chunk in self.chunks():
                for line in chunk.split(b"\n"):
                    if line.startswith(b"data:"):
                        message: Json = json.loads(line[5:])
                        return message
        raise AssertionError("the stream ended")

    async def rest(self) -> bytes:
        """Everything until the hub hangs up."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Doors:
    """Where a hub in this process listens."""

    port: int
    home: Path
    address: str = "127.0.0.1"
    name: str = ""
    """The name by which it is called, if not by that address."""

    @property
    def host(self) -> str:
        """The right value of the Host header."""
        return f"{self.name or self.address}:{self.port}"

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Raw]:
        """A connection, closed in the end."""
        raw = Raw(*await asyncio.open_connection(self.address, self.port))
        try:
            yield raw
        finally:
            await raw.close()

    def request(
        self,
        method: str = "GET",
        path: str = "/health/live",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        version: str = "1.1",
        leave_out: tuple[str, ...] = (),
    ) -> bytes:
        """A request with everything the gate wants, changed by `headers` and `leave_out`."""
        usual = {"Host": self.host, "Authorization": f"Bearer {TOKEN}"}
        if body:
            usual |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
            usual |= {"Accept": "application/json, text/event-stream"}
        lines = {**usual, **(headers or {})}
        head = "".join(f"{k}: {v}\r\n" for k, v in lines.items() if k not in leave_out)
        return f"{method} {path} HTTP/{version}\r\n{head}\r\n".encode("latin-1") + body

    async def ask(self, *args: Any, **kwargs: Any) -> Answer:
        """Send one request on a connection of its own; its answer."""
        data = self.request(*args, **kwargs)
        async with self.connected() as raw:
            await raw.send(data)
            return await raw.answer(bodiless=data.startswith(b"HEAD"))

    async def post(self, message: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one JSON-RPC message to the MCP door."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.ask("POST", "/mcp", body, headers)

    async def get(self, path: str) -> Any:
        """What the control door says."""
        return (await self.ask("GET", path)).json()

    async def server(self, name: str) -> Json:
        """How one server is doing."""
        found: Json = next(
            s for s in (await self.get("/api/v1/status"))["servers"] if s["name"] == name
        )
        return found

    async def problems(self) -> list[Json]:
        """What is wrong in the yard."""
        found: list[Json] = (await self.get("/api/v1/status"))["problems"]
        return found

    async def tools(self) -> set[str]:
        """The names of all tools, without the hub's own."""
        message = modern("tools/list")
        listed = (await self.post(message, mirrored(message))).json()["result"]["tools"]
        return {t["name"] for t in listed if not t["name"].startswith("toolyard_")}

    async def run(self, tool: str, /, **arguments: Any) -> Json:
        """Call a tool as a modern client; the whole response."""
        message = modern("tools/call", {"name": tool, "arguments": arguments})
        headers = {**mirrored(message), "Accept": "application/json"}
        said: Json = (await self.post(message, headers)).json()
        return said

    async def text(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must succeed; its text."""
        said = await self.run(tool, **arguments)
        assert "result" in said, said
        text: str = said["result"]["content"][0]["text"]
        return text

    async def fault(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must fail; what the error says."""
        said = await self.run(tool, **arguments)
        assert "error" in said, said
        text: str = said["error"]["message"]
        return text

    async def until(self, holds: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
        """Ask again and again until it holds; what it gave."""
        async with asyncio.timeout(seconds):
            while True:
                if found := await holds():
                    return found
                await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Wait until every server has been tried."""

        async def is_ready() -> bool:
            return (await self.ask("GET", "/health/ready")).status == 200

        await self.until(is_ready)

    async def initialize(self) -> dict[str, str]:
        """Begin a legacy session; the headers that belong to it."""
        answer = await self.post(call("initialize", INITIALIZE))
        assert answer.status == 200, answer
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        return {**session, "MCP-Protocol-Version": "2025-11-25"}


def call(method: str, params: Json | None = None, number: Any = 1) -> Json:
    """A request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def modern(method: str, params: Json | None = None, **changes: Any) -> Json:
    """A modern request; `changes` replace keys of its envelope, None takes one away."""
    envelope = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": {"name": "raw"}}
    meta = {META + k: v for k, v in {**envelope, **changes}.items() if v is not None}
    return call(method, {**(params or {}), "_meta": meta})


def mirrored(message: Json, **more: str) -> dict[str, str]:
    """The headers that a modern request must have."""
    out = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    if "name" in message["params"]:
        out["Mcp-Name"] = message["params"]["name"]
    return {**out, **more}


def declared(servers: Mapping[str, Any]) -> str:
    """A servers file."""
    return json.dumps({"mcpServers": dict(servers)}, indent=1)


@asynccontextmanager
async def open_doors(
    home: Path,
    servers: Mapping[str, Any] | str | None = None,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    features: Sequence[Feature] = FEATURES,
    **changes: Any,
) -> AsyncIterator[Doors]:
    """Run a whole hub in this loop, in front of these servers, or with this text as its file."""
    config = home / "servers.json"
    config.write_text(servers if isinstance(servers, str) else declared(servers or NOBODY))
    settings = read_settings({"config_file": str(config)}, {"TOOLYARD_HOME": str(home)})
    fixed: dict[str, Any] = {"port": 0, "port_fixed": True, "token": TOKEN}
    settings = replace(settings, **{**fixed, **changes})
    opened: asyncio.Future[OpenedHub] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        hub = app.run(settings, ready=opened.set_result, patience=patience, features=features)
        running = group.create_task(hub)
        async with asyncio.timeout(PATIENCE):
            url = (await opened).url
        try:
            yield Doors(_port(url, home, settings.public), home)
        finally:
            running.cancel()


def _port(url: str, home: Path, public: str) -> int:
    """The port of a hub; a public address does not tell it, but the run file does."""
    if not public:
        return int(url.rsplit(":", 1)[1])
    port: int = json.loads((home / "run" / "hub.json").read_text())["port"]
    return port
