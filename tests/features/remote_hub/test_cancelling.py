"""A cancel travels on a connection of its own, and may be there before its request is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolyard.doors.stdio.remote import RemoteClient
from toolyard.doors.stdio.remote_http import RemoteHttp

PATIENCE = 60.0
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "hub"}}


class LateDoor:
    """A hub that sees a request only after it was told of its cancelling once."""

    def __init__(self) -> None:
        self.told = 0
        self.is_called = asyncio.Event()
        self.is_cancelled = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                sizes = [line.split(":")[1] for line in lines if line.startswith("content-length")]
                body = await reader.readexactly(int(sizes[0])) if sizes else b""
                writer.write(await self._answer(json.loads(body) if body else {}))
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def _answer(self, message: dict[str, Any]) -> bytes:
        method = message.get("method")
        if method == "initialize":
            result = {"jsonrpc": "2.0", "id": message["id"], "result": GREETING}
            body = json.dumps(result).encode()
            head = b"content-type: application/json\r\nmcp-session-id: s\r\n"
            return b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)
        if method == "tools/call":
            self.is_called.set()
            await self.is_cancelled.wait()
        elif method == "notifications/cancelled":
            self.told += 1
            if self.told == 2:
                self.is_cancelled.set()
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def client_at(door: LateDoor, written: list[bytes]) -> AsyncIterator[RemoteClient]:
    server = await asyncio.start_server(door.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def bearer(_refused: str) -> str:
        return "token"

    http = RemoteHttp(url, f"{url}/mcp", bearer)
    client = RemoteClient(http, written.append, lambda _text, _hint: None)
    try:
        yield client
    finally:
        await client.close()
        server.close()


async def test_a_cancel_that_overtook_its_request_is_told_again() -> None:
    door, written = LateDoor(), list[bytes]()
    async with asyncio.timeout(PATIENCE), client_at(door, written) as client:

        async def take(**message: Any) -> None:
            await client.take(json.dumps({"jsonrpc": "2.0", **message}).encode())

        await take(id=1, method="initialize", params=GREETING)
        await take(id=2, method="tools/call", params={"name": "slow"})
        await door.is_called.wait()
        await take(method="notifications/cancelled", params={"requestId": 2})
        await door.is_cancelled.wait()
    assert door.told >= 2
    assert [json.loads(line)["id"] for line in written] == [1], "nobody waits for an answer"
