"""Streams to pods over TLS: they carry everything, and the cluster must prove its name."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fixtures.certificates import make_certificates
from toolyard.executors.kubernetes.api import Api, ApiError
from toolyard.executors.kubernetes.attach import PROTOCOLS, QUERY
from toolyard.executors.kubernetes.context import connect
from toolyard.executors.kubernetes.forward import relay
from toolyard.executors.kubernetes.options import Options

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

HERE = "127.0.0.1"
MIB = 1024 * 1024

ECHOES = """
import asyncio, ssl, sys
from aiohttp import web

async def echo(request):
    socket = web.WebSocketResponse(protocols=["v5.channel.k8s.io"], max_msg_size=0)
    await socket.prepare(request)
    async for message in socket:
        await socket.send_bytes(message.data)
    return socket

async def main(folder):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server-key.pem")
    app = web.Application()
    app.router.add_get("/{path:.*}", echo)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of a cluster, and those of another."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("this", "other"):
        (folder / name).mkdir()
        make_certificates(folder / name, HERE)
    return folder


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    """The port of a cluster that sends back what it hears."""
    command = [sys.executable, "-c", ECHOES, str(folder / "this")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def cluster(
    folder: Path, port: int, trusted: str = "this", **more: str
) -> AsyncIterator[Api]:
    """The cluster, as somebody sees it who trusts these keys."""
    there = {
        "server": f"https://{HERE}:{port}",
        "certificate-authority": str(folder / trusted / "ca.pem"),
        **more,
    }
    config = {
        "clusters": [{"name": "c", "cluster": there}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    api = await connect("yonder", "", Options(kubeconfig=str(file)))
    try:
        yield api
    finally:
        await api.close()


async def test_a_stream_carries_what_is_large_both_ways(folder: Path, port: int) -> None:
    said = bytes(range(256)) * (3 * MIB // 256)
    async with (
        cluster(folder, port) as api,
        api.socket("pod", "attach", QUERY, PROTOCOLS) as socket,
    ):
        assert socket.protocol == PROTOCOLS[0]
        for message in (said, b"short", said):
            await socket.send_bytes(message)
            assert await socket.receive_bytes(timeout=60) == message


async def test_a_stream_passes_through_a_proxy(folder: Path, port: int) -> None:
    asked = []

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split()[:2])
        inner_reader, inner_writer = await asyncio.open_connection(HERE, port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async with relay(lead, HERE) as proxy:
        address = {"proxy-url": f"http://{HERE}:{proxy}"}
        async with (
            cluster(folder, port, **address) as api,
            api.socket("pod", "attach", QUERY, PROTOCOLS) as socket,
        ):
            await socket.send_bytes(b"hello")
            assert await socket.receive_bytes(timeout=60) == b"hello"

    assert asked == [[b"CONNECT", f"{HERE}:{port}".encode()]]


async def test_a_cluster_that_cannot_prove_its_name_gets_no_stream(folder: Path, port: int) -> None:
    async with cluster(folder, port, "other") as api:
        with pytest.raises(ApiError, match="certificate verify failed") as caught:
            async with api.socket("pod", "attach", QUERY, PROTOCOLS):
                pass

    assert caught.value.is_passing


async def test_a_cluster_that_is_gone_gets_no_stream(folder: Path) -> None:
    async with cluster(folder, 1) as api:
        with pytest.raises(ApiError, match="cannot be reached"):
            async with api.socket("pod", "attach", QUERY, PROTOCOLS):
                pass
