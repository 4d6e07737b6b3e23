"""The executor of this machine keeps the contract; the others do so in modules of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from tests.executors.children import marked, python
from tests.executors.contract import Contract, Ground
from toolyard.core.model import Command
from toolyard.executors.local import Local, LocalPatience


class Here(Ground):
    """This machine."""

    serves = True

    def make(self) -> Local:
        self.local = Local(patience=LocalPatience(eof=0.2, term=0.3))
        return self.local

    def python(self, code: str, *args: str, **env: str) -> Command:
        return python(code, *args, **env)

    async def leftovers(self) -> list[str]:
        return [f"pid {pid}" for pid in marked(self.local.owner)]

    async def kill(self, where: str) -> None:
        os.kill(int(where.removeprefix("pid ")), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for leftovers in /proc")
class TestLocal(Contract):
    @pytest.fixture
    async def ground(self) -> AsyncIterator[Ground]:
        ground = Here()
        yield ground
        await ground.executor.close()
