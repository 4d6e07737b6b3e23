"""The small HTTP client against a real server that does what it is told."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import uvloop

from toolyard.wire import http1
from toolyard.wire.http1 import Connection, Headers, Pool, parse_address

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Seen:  yes \r\n\r\nhi"


class Ear:
    """Hears one answer."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = {}
        self.pieces: list[bytes] = []
        self.why: str | None = None
        self.ends = 0
        self.over = asyncio.Event()
        self.begun = asyncio.Event()

    def head(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers
        self.begun.set()

    def body(self, chunk: bytes) -> None:
        self.pieces.append(chunk)

    def done(self) -> None:
        self.ends += 1
        self.over.set()

    def lost(self, why: str) -> None:
        self.ends += 1
        self.why = why
        self.over.set()

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)


class Server:
    """Talks to every connection as it is told, and counts."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.connections = 0
        self.open = 0
        self.requests = 0
        self.hung_up = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while await self.heard(reader):
                self.requests += 1
                await self.talk(reader, writer)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.hung_up.set()
            self.open -= 1
            writer.close()

    async def heard(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""


@asynccontextmanager
async def yard(talk: Talk | bytes, idle_seconds: float = 4.0) -> AsyncIterator[tuple[Server, Pool]]:
    async def say(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(talk, bytes)
        writer.write(talk)

    server = Server(say if isinstance(talk, bytes) else talk)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    pool = Pool(parse_address(server.url), idle_seconds=idle_seconds)
    try:
        async with asyncio.timeout(60):
            yield server, pool
    finally:
        await pool.close()
        listener.close()
        await until(lambda: server.open == 0)


async def asked(pool: Pool) -> Ear:
    ear = Ear()
    pool.send(REQUEST, ear)
    await ear.over.wait()
    return ear


def connections() -> list[Connection]:
    """All there are: what a pool has forgotten is gone."""
    gc.collect()
    return [thing for thing in gc.get_objects() if isinstance(thing, Connection)]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - things without an event are waited for
            await asyncio.sleep(0.005)


async def closed(connection: Connection) -> None:
    await until(lambda: not connection.is_open)


async def test_one_connection_carries_one_request_after_the_other() -> None:
    async with yard(PLAIN) as (server, pool):
        ears = [await asked(pool) for _ in range(5)]

        assert [(ear.status, ear.text, ear.why) for ear in ears] == [(200, b"hi", None)] * 5
        assert ears[0].headers[b"x-seen"] == b"yes"
        assert (server.connections, server.requests) == (1, 5)


async def test_requests_at_once_get_a_connection_each_and_their_own_answer() -> None:
    gate = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.write(PLAIN)

    async with yard(talk) as (server, pool):
        ears = [Ear() for _ in range(4)]
        for ear in ears:
            pool.send(REQUEST, ear)
        gate.set()
        for ear in ears:
            await ear.over.wait()

        assert [(ear.text, ear.ends) for ear in ears] == [(b"hi", 1)] * 4
        assert server.connections == 4
        await asked(pool)
        assert server.connections == 4


async def test_a_sink_may_send_its_next_request_from_its_end() -> None:
    class Chain(Ear):
        def done(self) -> None:
            pool.send(REQUEST, last)
            super().done()

    async with yard(PLAIN) as (server, pool):
        last, chain = Ear(), Chain()
        pool.send(REQUEST, chain)
        await last.over.wait()

        assert last.text == b"hi"
        assert server.connections == 1


async def test_chunks_arrive_piece_by_piece_as_they_are_sent() -> None:
    heard = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3;x=y\r\nef"
        )
        await heard.wait()
        writer.write(b"g\r\n0\r\nTrailer: t\r\n\r\n")

    async with yard(talk) as (server, pool):
        ear = Ear()
        pool.send(REQUEST, ear)
        await ear.begun.wait()
        heard.set()
        await ear.over.wait()

        assert (ear.text, ear.why) == (b"abcdefg", None)
        await asked(pool)
        assert server.connections == 1


async def test_an_answer_before_the_answer_is_passed_over() -> None:
    async with yard(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN) as (_server, pool):
        ear = await asked(pool)

        assert (ear.status, ear.text, ear.ends) == (200, b"hi", 1)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 OK\r\n"])
async def test_a_body_without_a_length_ends_with_its_connection(head: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"Connection: close\r\n\r\nall ")
        await writer.drain()
        writer.write(b"of it")
        writer.close()

    async with yard(talk) as (_server, pool):
        ear = await asked(pool)

        assert (ear.text, ear.why, ear.ends) == (b"all of it", None, 1)


async def test_a_connection_the_server_wants_closed_is_not_used_again() -> None:
    closing = PLAIN.replace(b"X-Seen:  yes ", b"Connection: close")
    async with yard(closing) as (server, pool):
        assert [(await asked(pool)).text for _ in range(3)] == [b"hi"] * 3
        assert server.connections == 3


@pytest.mark.parametrize(
    "said",
    [b"", PLAIN[:20], PLAIN[:-1], b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na"],
)
async def test_a_connection_closed_before_the_end_is_news_once(said: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    async with yard(talk) as (_server, pool):
        ear = await asked(pool)

        assert ear.why is not None and "closed" in ear.why
        assert ear.ends == 1


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\0\1\2\3\r\n\r\n",
        b"HTTP/1.1 banana\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_said_so(said: bytes) -> None:
    async with yard(said) as (_server, pool):
        ear = await asked(pool)

        assert ear.why is not None and "not HTTP" in ear.why
        assert ear.ends == 1


async def test_an_answer_nobody_asked_for_ends_its_connection_and_confuses_nobody() -> None:
    async with yard(PLAIN + PLAIN.replace(b"hi", b"NO")) as (_server, pool):
        for _ in range(3):
            pair = [Ear(), Ear()]
            for ear in pair:
                pool.send(REQUEST, ear)
            for ear in pair:
                await ear.over.wait()
            assert [(ear.text, ear.ends) for ear in pair] == [(b"hi", 1)] * 2


async def test_an_idle_connection_is_not_trusted_for_long() -> None:
    async with yard(PLAIN, idle_seconds=0.0) as (server, pool):
        await asked(pool)
        await asked(pool)
        assert server.connections == 2


async def test_connections_that_nobody_needs_are_closed_and_those_at_work_are_not() -> None:
    gate, wait = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (gate.wait() if server.connections > 1 else wait.wait())
        writer.write(PLAIN)

    async with yard(talk, idle_seconds=0.1) as (server, pool):
        slow = Ear()
        pool.send(REQUEST, slow)
        await until(lambda: server.requests == 1)
        quick = [Ear() for _ in range(20)]
        for ear in quick:
            pool.send(REQUEST, ear)
        await until(lambda: server.requests == 21)
        gate.set()
        for ear in quick:
            await ear.over.wait()

        await until(lambda: server.open == 1)

        wait.set()
        await slow.over.wait()
        assert slow.text == b"hi"
        await until(lambda: server.open == 0)
        assert (await asked(pool)).text == b"hi"


class Clock:
    """The running loop, with a clock that stands still until it is set, and then goes on.

    It goes on by 20 ms whenever somebody looks at it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = self._step = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def set(self, now: float) -> None:
        self._now, self._step = now, 0.02

    def time(self) -> float:
        now = self._now
        self._now += self._step
        return now


async def test_no_connection_is_forgotten_when_the_clock_goes_on_while_they_are_looked_at() -> None:
    async with yard(PLAIN, idle_seconds=0.1) as (server, pool):
        pool.loop = clock = Clock()  # type: ignore[assignment]
        ears = [Ear() for _ in range(20)]
        for ear in ears:
            pool.send(REQUEST, ear)
        for ear in ears:
            await ear.over.wait()

        clock.set(0.09)

        await until(lambda: server.open == 0)


async def test_a_connection_the_server_closed_while_idle_is_replaced() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(PLAIN)
        await writer.drain()
        writer.close()

    async with yard(talk) as (server, pool):
        for _ in range(3):
            ear = Ear()
            connection = pool.send(REQUEST, ear)
            await ear.over.wait()
            assert ear.text == b"hi"
            await closed(connection)
        assert server.connections == 3


async def test_an_abandoned_request_hangs_up_and_is_heard_of_no_more() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(PLAIN[:-1])
        await reader.read()

    async with yard(talk) as (server, pool):
        ear = Ear()
        connection = pool.send(REQUEST, ear)
        await ear.begun.wait()
        connection.abandon()
        await server.hung_up.wait()

        assert ear.ends == 0


@pytest.mark.usefixtures("young_heap")
async def test_requests_abandoned_while_dialling_leave_nothing_behind() -> None:
    async with yard(PLAIN) as (server, pool):
        for _ in range(20):
            pool.send(REQUEST, Ear()).abandon()
        await asked(pool)
        await until(lambda: len(connections()) == 1)

        assert server.requests == 1


async def test_a_refused_dial_says_where() -> None:
    async with yard(PLAIN) as (server, _):
        pass
    pool = Pool(parse_address(server.url))
    async with asyncio.timeout(60):
        ear = await asked(pool)
    await pool.close()

    assert ear.why is not None
    assert "cannot connect to 127.0.0.1:" in ear.why


async def test_a_dial_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "DIAL_SECONDS", 0.05)

    class Silent(asyncio.Protocol):
        """Accepts, and never says a word of TLS."""

    loop = asyncio.get_running_loop()
    listener = await loop.create_server(Silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    pool = Pool(parse_address(f"https://127.0.0.1:{port}/"))
    async with asyncio.timeout(60):
        ear = await asked(pool)
    await pool.close()
    listener.close()

    assert ear.why is not None and "no connection to" in ear.why


class Tally(Ear):
    """Counts the pieces of an answer."""

    count = 0

    def body(self, chunk: bytes) -> None:
        self.count += 1


@contextmanager
def sending(answer: bytes) -> Iterator[str]:
    """A server in a thread of its own, so that the loop always has something to read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as guest:
                guest.recv(1000)
                guest.sendall(answer)
                guest.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join()


def test_others_have_their_turn_while_an_answer_comes_in_crumbs() -> None:
    """On the loop that hubs run on, which reads on as long as there is something to read."""
    crumbs = 1 << 20
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def main(url: str) -> int:
        pool, tally, most, before = Pool(parse_address(url)), Tally(), 0, 0
        pool.send(REQUEST, tally)
        async with asyncio.timeout(60):
            while not tally.over.is_set():
                await asyncio.sleep(0)
                most, before = max(most, tally.count - before), tally.count
        await pool.close()
        assert tally.count >= crumbs
        return most

    with (
        sending(head + b"2\r\nab\r\n" * crumbs + b"0\r\n\r\n") as url,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        assert runner.run(main(url)) < crumbs / 2


async def test_a_closed_pool_hangs_up_and_takes_nothing() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with yard(talk) as (server, pool):
        pool.send(REQUEST, Ear())
        await until(lambda: server.requests > 0)
        await pool.close()
        await server.hung_up.wait()
        late = await asked(pool)

        assert late.why == "the link is closed"


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://h", "h", "/"),
        ("http://h:80/a?b=c#d", "h", "/a?b=c"),
        ("https://h:443/", "h", "/"),
        ("https://h:8443", "h:8443", "/"),
        ("http://[::1]:5/x", "[::1]:5", "/x"),
        ("HTTP://Host/%20", "host", "/%20"),
    ],
)
def test_addresses_are_understood(url: str, authority: str, target: str) -> None:
    address = parse_address(url)

    assert (address.authority, address.target) == (authority, target)


@pytest.mark.parametrize(
    "url",
    ["", "h", "ftp://h/", "http://", "http:///p", "http://h:x/", "http://h/a b", "http://h/ä"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_address(url)
