"""What a refused request means, and what is sent again once there is something newer to show."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from tests.links.company import call, linked, said, talking, url
from toolyard.core.errors import LinkError
from toolyard.links.link import Link
from toolyard.links.refusals import AuthNeededError, HttpStatusError, ScopeNeededError

RPC = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host header"},"id":null}'
OAUTH = b'{"error":"invalid_token","error_description":"Authentication required"}'
LIMITED = b'Bearer error="insufficient_scope", scope="a:read b:write", resource_metadata="x"'

Kind = Literal["http", "sse"]
Reply = tuple[int, bytes, bytes]
"""A status, a challenge and a body."""


class Doorman:
    """A legacy server over either transport that lets everybody greet, and judges calls."""

    def __init__(self, judge: Callable[[bytes], Reply | None]) -> None:
        self.judge = judge
        self.calls: list[bytes] = []
        """What calls were let in with, refused or not."""
        self.stream: asyncio.StreamWriter | None = None

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            headers = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
            if head.startswith(b"GET /sse"):
                self.stream = writer
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                writer.write(b"event: endpoint\ndata: /messages\n\n")
                await reader.read()
            elif not head.startswith(b"POST"):
                writer.write(plain(405))
            else:
                body = await reader.readexactly(int(headers[b"content-length"]))
                shown = headers.get(b"authorization", b"")
                writer.write(self.post(json.loads(body), shown))

    def post(self, message: dict[str, object], shown: bytes) -> bytes:
        if message.get("method") == "tools/call":
            self.calls.append(shown)
            if (reply := self.judge(shown)) is not None:
                return plain(*reply)
        if "id" not in message:
            return plain(202)
        result: dict[str, object] = {"content": [{"type": "text", "text": "in"}]}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {}}
        raw = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if self.stream is None:
            return plain(200, b"", raw)
        self.stream.write(b"data: %b\n\n" % raw)
        return plain(202)


def plain(status: int, challenge: bytes = b"", body: bytes = b"") -> bytes:
    extra = b"WWW-Authenticate: %b\r\n" % challenge if challenge else b""
    head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%bContent-Type: application/json\r\n\r\n"
    return head % (status, len(body), extra) + body


@asynccontextmanager
async def guarded(
    judge: Callable[[bytes], Reply | None], kind: Kind = "http"
) -> AsyncIterator[tuple[Doorman, Link]]:
    doorman = Doorman(judge)
    headers = (("authorization", "Bearer old"),)
    async with talking(doorman.talk) as address:
        place = url(f"{address}/{'sse' if kind == 'sse' else 'mcp'}", kind=kind, headers=headers)
        async with linked(place, hint="legacy") as link:
            yield doorman, link


@pytest.mark.parametrize(
    ("reply", "error", "hint"),
    [
        ((401, b"Bearer", b""), AuthNeededError, "toolyard auth login acme"),
        ((401, b"Bearer", OAUTH), AuthNeededError, "toolyard auth login acme"),
        ((401, b"Bearer", RPC), AuthNeededError, "toolyard auth login acme"),
        ((401, b"", RPC), AuthNeededError, "toolyard auth login acme"),
        ((401, b"", b"Unauthorized"), AuthNeededError, "toolyard auth login acme"),
        ((401, b'Basic realm="x"', OAUTH), AuthNeededError, "valid credentials to its entry"),
        ((401, b'Basic realm="x", Bearer', OAUTH), AuthNeededError, "toolyard auth login acme"),
        ((403, b'Bearer error="invalid_token"', RPC), AuthNeededError, "toolyard auth login acme"),
        ((403, LIMITED, RPC), ScopeNeededError, "toolyard auth login acme"),
        ((403, LIMITED, OAUTH), ScopeNeededError, "toolyard auth login acme"),
        ((403, b"", OAUTH), HttpStatusError, "valid token to its entry"),
        ((403, b"", b""), HttpStatusError, "valid token to its entry"),
        ((400, b"", b'{"error":"invalid_request"}'), HttpStatusError, ""),
        ((500, b"", b'{"detail":"Internal Server Error"}'), HttpStatusError, ""),
    ],
)
async def test_the_status_and_its_challenge_say_what_a_refusal_means(
    reply: Reply, error: type[LinkError], hint: str
) -> None:
    async with guarded(lambda _: reply) as (_doorman, link):
        with pytest.raises(LinkError) as caught:
            await call(link, "x").answer

    assert type(caught.value) is error
    assert hint in caught.value.hint


@pytest.mark.parametrize("reply", [(403, b"", RPC), (400, b"", RPC), (500, b"", RPC)])
async def test_an_error_of_the_protocol_is_an_answer_where_nobody_is_kept_out(reply: Reply) -> None:
    async with guarded(lambda _: reply) as (_doorman, link):
        message = await call(link, "x").answer

    assert b"Invalid Host header" in bytes(message.error)


@pytest.mark.parametrize(
    ("challenge", "scope"),
    [
        (LIMITED, "a:read b:write"),
        (b"Bearer scope=one, error=insufficient_scope", "one"),
        (b'Bearer error="insufficient_scope"', ""),
        (b'Bearer error="insufficient_scope", scope="x \xe9"', ""),
        (b'Bearer error="insufficient_scope", scope="%b"' % (b"x" * 2000), ""),
    ],
)
async def test_the_scope_that_is_wanted_is_read_unless_it_is_none(
    challenge: bytes, scope: str
) -> None:
    async with guarded(lambda _: (403, challenge, b"")) as (_doorman, link):
        with pytest.raises(ScopeNeededError) as caught:
            await call(link, "x").answer

    assert caught.value.scope == scope
    assert str(caught.value).endswith(f"({scope})" if scope else "login has")


def unless_new(shown: bytes) -> Reply | None:
    return None if shown == b"Bearer new" else (401, b"Bearer", RPC)


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_calls_that_are_refused_are_sent_again_with_what_is_newer(kind: Kind) -> None:
    asked: list[bool] = []

    async with guarded(unless_new, kind) as (doorman, link):

        async def renew(_error: LinkError, again: bool) -> None:
            asked.append(again)
            link.authorize("Bearer new")

        link.on_unauthorized = renew
        answers = [call(link, "x") for _ in range(5)]

        assert [await said(answer) for answer in answers] == ["in"] * 5
        assert sorted(doorman.calls) == [b"Bearer new"] * 5 + [b"Bearer old"] * 5
        assert asked == [False]


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_call_is_sent_again_once(kind: Kind) -> None:
    asked: list[bool] = []

    async with guarded(lambda _: (401, b"Bearer", OAUTH), kind) as (doorman, link):

        async def renew(_error: LinkError, again: bool) -> None:
            asked.append(again)
            link.authorize(f"Bearer {len(asked)}")

        link.on_unauthorized = renew
        with pytest.raises(AuthNeededError):
            await call(link, "x").answer

        assert doorman.calls == [b"Bearer old", b"Bearer 1"]
        assert asked == [False, True]


async def test_a_renewal_that_fails_is_what_its_call_fails_of() -> None:
    async with guarded(unless_new) as (doorman, link):

        async def renew(_error: LinkError, _again: bool) -> None:
            raise LinkError("the issuer is on holiday")

        link.on_unauthorized = renew
        with pytest.raises(LinkError, match="on holiday"):
            await call(link, "x").answer

        assert doorman.calls == [b"Bearer old"]
