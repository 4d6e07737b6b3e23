"""Calls over every transport, to servers that behave and to those that do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.stub_run import running_http_stub, wait_recorded
from tests.links.company import Guest, call, linked, python, record, said, stub, talking, url
from toolyard.core.errors import BusyError, LinkError, LinkTimeoutError
from toolyard.core.model import NO_OFFERS, Endpoint
from toolyard.links import http
from toolyard.links.greeting import own_params
from toolyard.links.link import Link
from toolyard.links.listing import list_offers
from toolyard.links.pending import PendingRequest

WAYS = [
    ("stdio", "legacy"),
    ("stdio", "modern"),
    ("http", "legacy"),
    ("http", "modern"),
    ("http+sse", "legacy"),
]
everywhere = pytest.mark.parametrize(("transport", "era"), WAYS)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def target(stack: ExitStack, transport: str, era: str, *flags: str) -> Endpoint:
    if transport == "stdio":
        return stub("--era", era, *flags)
    old = ("--http-sse",) if transport == "http+sse" else ()
    address = stack.enter_context(running_http_stub("--era", era, *old, *flags))
    return url(address, kind="sse" if old else "http")


@everywhere
async def test_a_call_given_up_is_cancelled_at_the_server(
    stack: ExitStack, tmp_path: Path, transport: str, era: str
) -> None:
    file, flags = record(tmp_path)
    async with linked(target(stack, transport, era, *flags)) as link:
        pending = call(link, "cancellable")
        await wait_recorded(file, "waiting")
        link.cancel(pending, "no longer needed")
        cancelled = await wait_recorded(file, "cancelled")

        assert (cancelled["id"], cancelled["method"]) == (pending.number, "tools/call")
        assert await said(call(link, "echo", {"text": "still here"})) == "still here"


@pytest.mark.slow
@everywhere
async def test_progress_reaches_the_caller_and_keeps_the_call_alive(
    stack: ExitStack, transport: str, era: str
) -> None:
    guest = Guest()
    async with linked(target(stack, transport, era)) as link:
        # A step is late by seconds on a busy machine, and all of them take longer than is waited.
        arguments = {"n": 5, "ms": 600}
        pending = call(link, "progress", arguments, guest, progress=True, patience=2.5)

        assert await said(pending) == "5 steps"
        assert [told["progress"] for _, told in guest.told] == [1, 2, 3, 4, 5]
        with pytest.raises(LinkTimeoutError):
            await call(link, "progress", arguments, patience=0.4).answer


@everywhere
async def test_many_calls_at_once_get_their_own_answers(
    stack: ExitStack, transport: str, era: str
) -> None:
    async with linked(target(stack, transport, era)) as link:
        requests = [call(link, "echo", {"text": str(n)}) for n in range(40)]

        assert [await said(pending) for pending in requests] == [str(n) for n in range(40)]


@pytest.mark.parametrize("transport", ["stdio", "http", "http+sse"])
async def test_a_question_of_a_legacy_server_comes_to_the_caller_and_its_answer_back(
    stack: ExitStack, transport: str
) -> None:
    guest = Guest(answer={"action": "accept", "content": {"name": "Ada"}})
    async with linked(target(stack, transport, "legacy")) as link:
        text = await said(call(link, "ask", guest=guest))

        assert json.loads(text)["content"] == {"name": "Ada"}
        assert [method for method, _ in guest.asked] == ["elicitation/create"]


async def test_over_http_two_clients_questions_are_told_apart_by_their_streams() -> None:
    guests = [Guest(name, answer={"action": "accept", "content": {"name": name}}) for name in "ab"]
    with running_http_stub("--era", "legacy") as address:
        async with linked(url(address)) as link:
            requests = [call(link, "ask", guest=guest) for guest in guests]
            texts = [json.loads(await said(pending)) for pending in requests]

    assert [text["content"]["name"] for text in texts] == ["a", "b"]


@everywhere
async def test_nothing_a_server_says_is_lost(stack: ExitStack, transport: str, era: str) -> None:
    async with linked(target(stack, transport, era, "--only", "rich")) as link:
        (tool,) = (await list_offers(link, 5, NO_OFFERS)).tools
        result = bytes((await call(link, "rich").answer).result)

    for kept in (b"$defs", b"$anchor", b"unknownHint", b"example.com/kept", b"future", b"48x48"):
        assert kept in tool.raw
    for kept in (b"12345678901234567890", b"1e-09", b'"later"', b"\\u2603", b"example.com/kept"):
        assert kept in result


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_crash_fails_the_calls_under_way_at_once_with_the_last_words(era: str) -> None:
    async with linked(stub("--era", era)) as link:
        waiting = call(link, "cancellable")
        crashing = call(link, "exit", {"code": 7})
        for pending in (waiting, crashing):
            with pytest.raises(LinkError):
                await pending.answer

        assert link.closed.done()
        assert "7" in link.closed.result()


async def test_a_crash_in_a_call_over_http_fails_it_at_once() -> None:
    with running_http_stub() as address:
        async with linked(url(address)) as link:
            with pytest.raises(LinkError, match=r"closed the connection|broke"):
                await call(link, "exit").answer


async def test_the_end_of_the_event_stream_ends_the_link() -> None:
    with ExitStack() as stack:
        address = stack.enter_context(running_http_stub("--http-sse"))
        async with linked(url(address, kind="sse")) as link:
            with pytest.raises(LinkError):
                await call(link, "exit").answer
            assert link.closed.done()


async def test_an_answer_that_does_not_end_fails_its_call_and_one_without_bounds_the_link() -> None:
    async with linked(stub("--huge-line", "3")) as link:
        with pytest.raises(LinkError, match="more than 1048576 bytes"):
            await call(link, "echo").answer
        assert not link.closed.done()
    async with linked(stub("--huge-line", "20")) as link:
        with pytest.raises(LinkError, match="more than 1048576 bytes"):
            await call(link, "echo").answer
        async with asyncio.timeout(60):
            assert "without end, beyond 16777216 bytes" in await link.closed


@pytest.mark.parametrize("flags", [(), ("--sse",)])
async def test_an_answer_too_long_over_http_fails_its_call_alone(flags: tuple[str, ...]) -> None:
    with running_http_stub(*flags) as address:
        async with linked(url(address)) as link:
            with pytest.raises(LinkError, match="more than 1048576 bytes"):
                await call(link, "payload", {"kib": 3000}).answer
            assert await said(call(link, "echo", {"text": "fine"})) == "fine"


async def test_banners_and_double_answers_disturb_nobody() -> None:
    async with linked(stub("--banner", "--twice")) as link:
        for number in range(5):
            assert await said(call(link, "echo", {"text": str(number)})) == str(number)


async def test_large_answers_arrive_whole() -> None:
    async with linked(stub()) as link:
        assert await said(call(link, "payload", {"kib": 900})) == "x" * 900 * 1024


DEAF = (
    "import json, sys, time\n"
    "id_ = json.loads(sys.stdin.readline())['id']\n"
    "said = {'supportedVersions': ['2026-07-28'], 'capabilities': {}}\n"
    "print(json.dumps({'jsonrpc': '2.0', 'id': id_, 'result': said}), flush=True)\n"
    "time.sleep(600)\n"
)
"""A server that reads nothing after its greeting."""
LONG_TEXT = "x" * 500_000


def sent_by(link: Link, client: str, count: int) -> list[PendingRequest]:
    guest = Guest(client)
    return [call(link, "echo", {"text": LONG_TEXT}, guest) for _ in range(count)]


async def test_a_server_that_does_not_read_gets_no_more_than_a_bound() -> None:
    async with linked(python(DEAF)) as link:
        broken = [pending for pending in sent_by(link, "one", 20) if pending.answer.done()]

        assert broken
        for pending in broken:
            with pytest.raises(BusyError):
                await pending.answer


async def test_a_client_that_floods_a_server_takes_nothing_from_the_others() -> None:
    async with linked(python(DEAF)) as link:
        assert sent_by(link, "flood", 20)[-1].answer.done()

        modest = sent_by(link, "modest", 2)
        assert not any(pending.answer.done() for pending in modest)
        assert sent_by(link, "flood", 1)[0].answer.done()

        crowd = [pending for n in range(60) for pending in sent_by(link, f"guest {n}", 2)]
        broken = [pending for pending in crowd if pending.answer.done()]
        assert 0 < len(broken) < len(crowd)  # what all of them queue has a bound, too
        assert all(isinstance(pending.answer.exception(), BusyError) for pending in broken)


async def test_a_message_with_odd_line_ends_is_one_line_for_the_server() -> None:
    async with linked(stub()) as link:
        params = json.loads(own_params(link, {"name": "echo", "arguments": {"text": "a\u2028b"}}))
        raw = json.dumps(params, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode()

        assert await said(link.request("tools/call", raw)) == "a\u2028b"


async def heard_change(link: Link) -> asyncio.Event:
    """An event that is set when the link hears that tools changed."""
    heard = asyncio.Event()
    link.on_notice = lambda method, _params: (
        heard.set() if method == "notifications/tools/list_changed" else None
    )
    return heard


@pytest.mark.parametrize("transport", ["stdio", "http", "http+sse"])
async def test_a_legacy_server_is_heard_when_it_speaks_on_its_own(
    stack: ExitStack, tmp_path: Path, transport: str
) -> None:
    file, flags = record(tmp_path)
    async with linked(target(stack, transport, "legacy", *flags)) as link:
        heard = await heard_change(link)
        if transport == "http":
            await wait_recorded(file, "get stream")
        await call(link, "add_tool").answer
        async with asyncio.timeout(60):
            await heard.wait()


async def test_a_stream_that_breaks_before_its_answer_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "RETRY_SECONDS", 0.01)
    asked: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        length = [line for line in head.lower().split(b"\r\n") if b"content-length" in line]
        body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b"{}"
        message = json.loads(body)
        stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        plain = b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n%b\r\n%b"
        if b"last-event-id: 41" in head.lower():
            number = json.loads(asked_bodies[-1])["id"]
            writer.write(stream + b'id: 42\ndata: {"id":%d,"result":{"ok":1}}\n\n' % number)
        elif message.get("method") == "initialize":
            said = {"protocolVersion": "2025-11-25", "capabilities": {}}
            raw = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": said}).encode()
            kind = b"Content-Type: application/json\r\nMcp-Session-Id: s\r\n"
            writer.write(plain % (200, len(raw), kind, raw))
        elif message.get("method") == "tools/call":
            asked_bodies.append(body)
            writer.write(stream + b"id: 41\ndata: \n\n")
        else:
            writer.write(plain % (405, 0, b"", b""))

    asked_bodies: list[bytes] = []
    async with talking(talk) as address:
        async with linked(url(f"{address}/mcp"), hint="legacy") as link:
            message = await call(link, "x").answer

            assert bytes(message.result) == b'{"ok":1}'
            assert len(asked_bodies) == 1
        assert asked[-1].startswith(b"DELETE")
