"""A real HAProxy that sends each request to the next replica, and repeats none."""

from __future__ import annotations

import asyncio
import csv
import os
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fleet.replicas import PATIENCE, Replica

CONFIG = """\
global
    stats socket {folder}/stats mode 600 level admin
defaults
    mode http
    retries 0
    timeout connect 10s
    timeout client 300s
    timeout server 300s
    timeout check 5s
frontend door
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance roundrobin
    option httpchk GET /health/ready
    default-server check inter 200ms fall 1 rise 1
{servers}
"""


@dataclass(frozen=True, slots=True)
class Balancer:
    """An HAProxy that runs."""

    port: int
    folder: Path

    async def until(self, name: str, status: str) -> None:
        """Wait until it takes a replica for up or down."""
        async with asyncio.timeout(PATIENCE):
            while not self.status(name).startswith(status):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.05)

    def status(self, name: str) -> str:
        """The state of a replica, as HAProxy sees it."""
        rows = csv.DictReader(self.order("show stat").removeprefix("# ").splitlines())
        return next(row["status"] for row in rows if row["svname"] == name)

    def order(self, text: str) -> str:
        """Give HAProxy an order; its answer."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(self.folder / "stats"))
            sock.sendall(text.encode() + b"\n")
            return b"".join(iter(lambda: sock.recv(65536), b"")).decode()


def find_haproxy() -> str | None:
    """The path of HAProxy, if it is installed."""
    return shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")


@asynccontextmanager
async def balancer(folder: Path, port: int, replicas: Sequence[Replica]) -> AsyncIterator[Balancer]:
    """An HAProxy on this port, in front of these replicas; it knows which of them run."""
    program = find_haproxy()
    if program is None:
        pytest.skip("haproxy is not installed; scripts/haproxy.sh installs it")
    lines = [f"    server {r.name} {r.host}:{r.port} port {r.probe_port}" for r in replicas]
    config = folder / "haproxy.cfg"
    config.write_text(CONFIG.format(folder=folder, port=port, servers="\n".join(lines)))
    with (folder / "haproxy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, "-db", "-f", str(config), stdout=log, stderr=log
        )
    try:
        made = Balancer(port, folder)
        await _listening(process, folder)
        for replica in replicas:
            await made.until(replica.name, "UP" if replica.hub is not None else "DOWN")
        yield made
    finally:
        process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()


async def _listening(process: asyncio.subprocess.Process, folder: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (folder / "stats").exists():
            assert process.returncode is None, (folder / "haproxy.log").read_text()
            await asyncio.sleep(0.05)
