"""HTTP servers that mean no good: what they send costs no more than a bound, and nobody a turn."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.links.company import call, linked, said, talking, url
from toolyard.core.errors import LinkError
from toolyard.links.link import Link

pytestmark = pytest.mark.slow

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
EVENTS = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZE = 1 << 16
MOST = 128 << 20
"""What a server sends at most before it concludes that nobody will hang up."""


class Villain:
    """Greets as it should; what it answers a call with is up to the test."""

    def __init__(self, begin: bytes, more: bytes, length: int = MOST) -> None:
        self.begin, self.more, self.length = begin, more, length
        self.sent = 0
        self.hung_up = False

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"POST"):
                writer.write(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
                continue
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            message = json.loads(await reader.readexactly(int(length)))
            if message["method"] == "tools/call" and message["params"]["name"] == "evil":
                await self.strike(writer)
                return
            writer.write(greeting(message))

    async def strike(self, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(self.begin)
            while self.sent < self.length:
                writer.write(self.more)
                await writer.drain()
                self.sent += len(self.more)
        except ConnectionError:
            self.hung_up = True
            raise


def greeting(message: dict[str, object]) -> bytes:
    if "id" not in message:
        return b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n"
    result: dict[str, object] = {"content": [{"type": "text", "text": "fine"}]}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}}
    raw = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    return OK + b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n" % len(raw) + raw


@asynccontextmanager
async def facing(villain: Villain, limit: int = 1 << 20) -> AsyncIterator[Link]:
    async with (
        talking(villain.talk) as address,
        linked(url(f"{address}/mcp"), hint="legacy", limit=limit) as link,
    ):
        yield link


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (OK, b"x-more: and more\r\n" * 1000),
        (OK, b"x-a: b\r\n" * 10_000),
        (OK + b"x-endless: ", b"x" * 65536),
        (OK + b"x" * 100, b"x" * 65536),
        (b"HTTP/1.1 200 ", b"very fine " * 6000),
        (b"", b"HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n" * 1000),
        (CHUNKED + b"\r\n1;x=", b"x" * 65536),
        (CHUNKED + b"\r\n0\r\nx-endless: ", b"x" * 65536),
        (CHUNKED + b"\r\n0\r\n", b"x-more: and more\r\n" * 1000),
    ],
)
async def test_what_is_no_body_and_does_not_end_is_hung_up_on(begin: bytes, more: bytes) -> None:
    villain = Villain(begin, more)
    async with facing(villain) as link:
        with pytest.raises(LinkError, match=r"the head of its answer has more than 65536 bytes"):
            await call(link, "evil").answer
        assert await said(call(link, "echo")) == "fine"
    assert villain.hung_up


def crumbs(raw: bytes, size: int) -> bytes:
    """A body in chunks of so many bytes."""
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def answer_of(size: int) -> bytes:
    """An answer to the first call after the greeting, of about so many bytes."""
    return b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"%b"}]}}' % (
        b"x" * size
    )


WIDE = answer_of(SIZE).replace(b"[{", b"[" + b"\n  " * (SIZE // 4) + b"{")
BODIES = {
    "json": CHUNKED + b"\r\n" + crumbs(answer_of(SIZE), 2),
    "events": EVENTS + crumbs(b"data: " + answer_of(SIZE) + b"\n\n", 2),
    "lines": EVENTS + crumbs(b"data:" + WIDE.replace(b"\n", b"\ndata:") + b"\n\n", 1 << 16),
}


@pytest.mark.parametrize("form", BODIES)
async def test_an_answer_in_crumbs_arrives_and_takes_little_more_than_its_size(form: str) -> None:
    villain = Villain(BODIES[form], b"", 0)
    async with facing(villain) as link:
        tracemalloc.start()
        try:
            text = await said(call(link, "evil", patience=60))
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert text == "x" * SIZE
    # Some copies of it are on the way; an object for each crumb would be more than 1.5 MiB.
    assert taken < 1 << 20


async def test_an_answer_in_crumbs_is_too_long_where_any_is() -> None:
    villain = Villain(CHUNKED + b"\r\n", b"2\r\nab\r\n" * 4096)
    async with facing(villain, limit=1 << 16) as link:
        with pytest.raises(LinkError, match="more than 65536 bytes"):
            await call(link, "evil").answer
    assert villain.hung_up


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_that_is_packed_is_not_unpacked(kind: str) -> None:
    bomb = gzip.compress(bytes(MOST // 4))
    head = f"Content-Encoding: gzip\r\nContent-Type: {kind}\r\nContent-Length: {len(bomb)}\r\n\r\n"
    villain = Villain(OK + head.encode() + bomb, b"", 0)
    async with facing(villain) as link:
        tracemalloc.start()
        try:
            with pytest.raises(LinkError) as raised:
                await call(link, "evil", patience=60).answer
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert "packed its answer (gzip)" in str(raised.value)
    assert taken < 1 << 20 < MOST // 4
