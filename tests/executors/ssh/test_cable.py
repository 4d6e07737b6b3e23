"""A host behind a cable that is pulled: a network namespace of its own with a real sshd in it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.executors.children import STUBBORN, Ear, eventually, marked, python
from tests.executors.replicas import alone
from tests.executors.ssh.site import HUB, Sshd, need_sshd, running
from toolyard.core.placement import Run
from toolyard.core.ports import Address
from toolyard.executors.ssh import Ssh

pytestmark = [
    pytest.mark.executors,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_factories=["asyncio"]),  # the waiting is long, and the same on both
]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def far() -> Iterator[tuple[Sshd, str]]:
    """An sshd in a namespace, and the name of our end of the cable to it."""
    need_sshd()
    if not shutil.which("ip"):
        pytest.skip("no ip: apt-get install iproute2")
    space, here, there = f"ty{os.getpid()}", f"tyh{os.getpid()}"[:15], f"tyt{os.getpid()}"[:15]
    net = f"10.{os.getpid() % 200 + 20}.77"
    try:
        ip("netns", "add", space)
    except subprocess.CalledProcessError:
        pytest.skip("no network namespaces on this machine")
    try:
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
        ip("addr", "add", f"{net}.1/24", "dev", here)
        ip("link", "set", here, "up")
        ip("-n", space, "addr", "add", f"{net}.2/24", "dev", there)
        ip("-n", space, "link", "set", there, "up")
        ip("-n", space, "link", "set", "lo", "up")
        with running(f"{net}.2", "ip", "netns", "exec", space) as sshd:
            yield sshd, here
    finally:
        ip("link", "del", here)  # the namespace alone would take its end down later
        ip("netns", "del", space)


@asynccontextmanager
async def pulled(link: str) -> AsyncIterator[None]:
    ip("link", "set", link, "down")
    try:
        yield
    finally:
        ip("link", "set", link, "up")


async def test_a_pulled_cable_is_noticed_and_nothing_is_left_there(far: tuple[Sshd, str]) -> None:
    sshd, link = far
    ssh = Ssh(sshd.site(keepalive="2"), alone(HUB))
    opened = ssh.open(Run("stubborn", python(STUBBORN)))
    running = await opened.__aenter__()
    assert not isinstance(running, Address)
    ear = Ear(running)
    await ear.line()
    before = time.monotonic()
    async with pulled(link):
        why = await ear.end(within=20)

        assert "not responding to keepalive" in why
        assert 4 <= time.monotonic() - before < 12
        async with asyncio.timeout(20):
            await opened.__aexit__(None, None, None)
        # Nobody told the host; its sshd notices by itself and the reaper does the rest.
        await eventually(lambda: not marked(ssh.owner), within=60)
    await ssh.close()


async def test_what_a_lost_connection_left_is_ended_by_the_next(far: tuple[Sshd, str]) -> None:
    sshd, link = far
    ssh = Ssh(sshd.site(keepalive="1"), alone(HUB))
    opened = ssh.open(Run("stubborn", python(STUBBORN)))
    running = await opened.__aenter__()
    assert not isinstance(running, Address)
    ear = Ear(running)
    await ear.line()
    (old,) = marked(ssh.owner)
    async with pulled(link):
        await ear.end(within=20)
        await opened.__aexit__(None, None, None)
    async with asyncio.timeout(30), ssh.open(Run("again", python(STUBBORN))) as again:
        assert not isinstance(again, Address)
        await Ear(again).line()
        (new,) = marked(ssh.owner)

        assert new != old
    await ssh.close()
