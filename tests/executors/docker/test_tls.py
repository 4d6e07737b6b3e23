"""TLS that holds little: it carries what the loop's own would, and refuses what that would."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.executors.docker.site import make_certificates
from toolyard.executors.tls import Secured
from toolyard.executors.waits import within

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

HERE = "127.0.0.1"
SECONDS = 20.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Ear(asyncio.Protocol):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.heard = bytearray()
        self.news = asyncio.Event()
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self.pauses = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.heard += data
        self.news.set()
        if self.pauses:
            self.pauses -= 1
            assert self.transport is not None
            self.transport.pause_reading()
            asyncio.get_running_loop().call_soon(self.transport.resume_reading)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)

    async def until(self, length: int) -> bytes:
        async with asyncio.timeout(SECONDS):
            while len(self.heard) < length:
                self.news.clear()
                await self.news.wait()
        return bytes(self.heard)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    make_certificates(folder, HERE)
    return folder


@contextlib.asynccontextmanager
async def serving(folder: Path, serve: Serve) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "server.pem", folder / "server-key.pem")
    server = await asyncio.start_server(serve, HERE, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def client(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


async def connect(ear: Ear, context: ssl.SSLContext, port: int, name: str = HERE) -> None:
    secured = Secured(ear, context, name)
    async with asyncio.timeout(SECONDS):
        await asyncio.get_running_loop().create_connection(lambda: secured, HERE, port)
        await secured.ready


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(100_000):
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def test_all_that_is_said_arrives_in_both_directions(folder: Path) -> None:
    said = bytes(range(256)) * 20_000
    ear = Ear()
    ear.pauses = 50
    async with serving(folder, echo) as port:
        await connect(ear, client(folder), port)
        assert ear.transport is not None
        ear.transport.write(b"")
        ear.transport.write(said[:7])
        ear.transport.write(said[7:])

        assert await ear.until(len(said)) == said
        assert ear.transport.get_write_buffer_size() == 0
        assert not ear.transport.can_write_eof()
        ear.transport.close()
        async with asyncio.timeout(SECONDS):
            await ear.lost
        ear.transport.write(b"too late")


async def test_what_comes_while_it_is_paused_waits(folder: Path) -> None:
    ear = Ear()
    async with serving(folder, echo) as port:
        await connect(ear, client(folder), port)
        assert ear.transport is not None
        ear.transport.write(b"one")
        await ear.until(3)
        ear.transport.pause_reading()
        ear.transport.write(b"two")
        ear.news.clear()
        assert not await within(0.2, ear.news)
        ear.transport.resume_reading()

        assert await ear.until(6) == b"onetwo"
        ear.transport.abort()
        async with asyncio.timeout(SECONDS):
            await ear.lost


async def test_the_end_of_the_other_side_is_told_after_its_last_words(folder: Path) -> None:
    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 300_000)
        writer.close()

    ear = Ear()
    async with serving(folder, leave) as port:
        await connect(ear, client(folder), port)
        async with asyncio.timeout(SECONDS):
            assert await ear.lost is None
    assert len(ear.heard) == 300_000


async def test_who_cannot_prove_its_name_is_not_spoken_to(folder: Path) -> None:
    ear = Ear()
    async with serving(folder, echo) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(ear, client(folder), port, "127.0.0.2")
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(ear, ssl.create_default_context(), port)
    assert ear.transport is None
    assert not ear.lost.done()


async def test_who_does_not_speak_tls_is_an_error(folder: Path) -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 no\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(babble, HERE, 0)
    async with server:
        with pytest.raises(ssl.SSLError):
            await connect(Ear(), client(folder), server.sockets[0].getsockname()[1])


async def test_a_client_that_is_not_let_in_hears_nothing(folder: Path) -> None:
    ear = Ear()
    async with serving(folder, echo) as port:
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        with contextlib.suppress(OSError):  # with TLS 1.3 it is told after the greeting
            await connect(ear, context, port)
            async with asyncio.timeout(SECONDS):
                await ear.lost
    assert not ear.heard
