"""The ssh executor keeps the contract, against a real sshd."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.executors.children import python
from tests.executors.contract import Contract, Ground
from tests.executors.replicas import alone
from tests.executors.ssh.site import HUB, Sshd, sshd
from tests.fixtures.ports import free_port
from toolyard.core.model import Command
from toolyard.executors.ssh import Ssh

__all__ = ["sshd"]


class Box(Ground):
    """A host behind an sshd."""

    cuttable = True

    def __init__(self, sshd: Sshd) -> None:
        self.sshd = sshd
        self.port = free_port()
        self.made: list[Ssh] = []

    def make(self) -> Ssh:
        self.made.append(Ssh(self.sshd.site(), alone(HUB), eof=0.3, term=0.5))
        return self.made[-1]

    def python(self, code: str, *args: str, **env: str) -> Command:
        return python(code, *args, **env)

    async def leftovers(self) -> list[str]:
        return [f"pid {pid}" for ssh in self.made for pid in carrying(ssh.owner)]

    async def kill(self, where: str) -> None:
        os.kill(int(where.split()[1]), signal.SIGKILL)

    @asynccontextmanager
    async def cut(self) -> AsyncIterator[None]:
        for pid in self.sshd.sessions():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        yield


def carrying(owner: str) -> list[int]:
    """The living processes that this executor started."""
    from tests.executors.children import marked

    return marked(owner)


@pytest.mark.executors
class TestSsh(Contract):
    @pytest.fixture
    async def ground(self, sshd: Sshd) -> AsyncIterator[Ground]:
        ground = Box(sshd)
        yield ground
        for ssh in ground.made:
            await ssh.close()
