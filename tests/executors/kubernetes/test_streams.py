"""The streams to a pod, frame by frame, against a node that speaks as real ones do."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import ClientSession, WSMsgType, web

from tests.executors.children import Ear
from toolyard.executors.kubernetes.attach import PROTOCOLS, PodChild
from toolyard.executors.kubernetes.forward import forward

OLD, NEW = PROTOCOLS[1:], PROTOCOLS[:1]
Socket = web.WebSocketResponse
SECONDS = 60.0  # a machine that is busy with other tests takes its time


@contextlib.asynccontextmanager
async def node(speak: Callable[[Socket], Awaitable[None]], *speaks: str) -> AsyncIterator[str]:
    """A node that knows these protocols and says what it is told to."""

    async def handle(request: web.Request) -> Socket:
        socket = Socket(protocols=speaks)
        await socket.prepare(request)
        await speak(socket)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def attached(
    speak: Callable[[Socket], Awaitable[None]], *speaks: str, log: bytes = b""
) -> AsyncIterator[tuple[PodChild, Ear]]:
    """The pipes to a server on such a node."""
    async with (
        node(speak, *speaks) as url,
        ClientSession() as session,
        session.ws_connect(url, protocols=PROTOCOLS) as socket,
        asyncio.timeout(SECONDS),
        asyncio.TaskGroup() as tasks,
    ):
        child = PodChild("pod yard/x", None)
        child.take_log(log)

        async def talk() -> None:
            await child.relay(socket)
            child.report_end(child.stream_error or "ended")

        tasks.create_task(talk())
        yield child, Ear(child)
        child.close_input()


async def repeat(socket: Socket) -> None:
    """Send back what comes on stdin, until it ends in whichever way it can."""
    await socket.send_bytes(b"\x01")
    await socket.send_bytes(b"\x02")
    async for message in socket:
        assert message.type is WSMsgType.BINARY
        if message.data == b"\xff\x00":
            await socket.send_bytes(b"\x01" + b"stdin ended\n")
            return
        assert message.data[:1] == b"\x00"
        for byte in message.data[1:]:
            await socket.send_bytes(b"\x01" + bytes([byte]))


@pytest.mark.parametrize("speaks", [OLD, NEW])
async def test_a_line_may_come_in_as_many_frames_as_it_has_bytes(speaks: tuple[str, ...]) -> None:
    async with attached(repeat, *speaks) as (pipes, ear):
        pipes.write(b"one\ntwo\n")
        assert [await ear.line(), await ear.line()] == [b"one", b"two"]
        assert pipes.where == "pod yard/x"


async def test_stdin_ends_alone_where_the_cluster_knows_how() -> None:
    async with attached(repeat, *NEW) as (pipes, ear):
        pipes.close_input()
        assert await ear.line() == b"stdin ended"


async def test_stdin_ends_with_the_stream_where_it_does_not() -> None:
    async with attached(repeat, *OLD) as (pipes, ear):
        pipes.close_input()
        assert await ear.end() == "ended"
        assert ear.heard == b""


async def test_what_is_written_before_stdin_ends_still_arrives() -> None:
    async with attached(repeat, *NEW) as (pipes, ear):
        pipes.write(b"x" * 40_000 + b"\n")  # more than one message, and each byte comes alone
        pipes.close_input()
        assert await ear.line(SECONDS) == b"x" * 40_000
        assert await ear.line() == b"stdin ended"
        assert pipes.unsent == 0


async def test_stderr_goes_apart_and_what_the_log_had_already_comes_once() -> None:
    async def complain(socket: Socket) -> None:
        await socket.send_bytes(b"\x02second\nthird\n")
        await socket.send_bytes(b"\x02third\n")
        await socket.send_bytes(b"\x01out\n")

    async with attached(complain, *OLD, log=b"first\nsecond\n") as (pipes, ear):
        assert await ear.line() == b"out"
        await ear.end()
        assert pipes.stderr == ("first", "second", "third", "third")


async def test_what_the_cluster_says_of_the_end_is_kept() -> None:
    async def fail(socket: Socket) -> None:
        status = {"status": "Failure", "message": "container not found"}
        await socket.send_bytes(b"\x03" + json.dumps(status).encode())

    async with attached(fail, *OLD) as (_, ear):
        assert await ear.end() == "container not found"


async def test_frames_nobody_knows_are_passed_over() -> None:
    async def babble(socket: Socket) -> None:
        await socket.send_bytes(b"")
        await socket.send_bytes(b"\x09what")
        await socket.send_str("\x01text\n")
        await socket.send_bytes(b"\x03not json")

    async with attached(babble, *OLD) as (_, ear):
        assert await ear.line() == b"text"
        assert await ear.end() == "not json"


class Node:
    """Stands where the API of a cluster does, for one stream."""

    def __init__(self, session: ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    def socket(self, pod: str, verb: str, query: object, protocols: tuple[str, ...]):  # type: ignore[no-untyped-def]
        return self._session.ws_connect(f"{self._url}/{pod}/{verb}", protocols=protocols)


@contextlib.asynccontextmanager
async def forwarded(speak: Callable[[Socket], Awaitable[None]]) -> AsyncIterator[int]:
    async with (
        node(speak, *OLD) as url,
        ClientSession() as session,
        asyncio.timeout(60),
        forward(Node(session, url), lambda: "x", 8000) as port,  # type: ignore[arg-type]
    ):
        yield port


async def test_a_connection_passes_both_ways_without_the_port_in_front() -> None:
    async def mirror(socket: Socket) -> None:
        # The number of the port may come in pieces too.
        for frame in (b"\x00\x40", b"\x01\x40\x1f", b"\x00\x1fhello ", b"\x00"):
            await socket.send_bytes(frame)
        async for message in socket:
            await socket.send_bytes(message.data)

    async with forwarded(mirror) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"world")
        assert await reader.readexactly(11) == b"hello world"
        writer.close()


async def test_a_port_that_nobody_listens_on_closes_the_connection() -> None:
    async def refuse(socket: Socket) -> None:
        await socket.send_bytes(b"\x00\x40\x1f")
        await socket.send_bytes(b"\x01\x40\x1f")
        await socket.send_bytes(b"\x01connection refused")
        await socket.receive()

    async with forwarded(refuse) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()


async def test_leaving_closes_the_connections_that_still_pass() -> None:
    async def wait(socket: Socket) -> None:
        await socket.send_bytes(b"\x00\x40\x1fhi")
        await socket.receive()

    async with forwarded(wait) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.readexactly(2) == b"hi"
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()
