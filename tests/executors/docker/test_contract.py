"""Docker keeps the contract on real daemons: over a socket, over TLS, over ssh."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.executors.contract import Contract, Ground
from tests.executors.docker.site import (
    SSH_PORT,
    TLS_PORT,
    Daemon,
    FarYard,
    Yard,
    ssh_options,
    tls_options,
)

pytestmark = [pytest.mark.executors, pytest.mark.timeout(180)]


class TestSocket(Contract):
    @pytest.fixture
    async def ground(self, here: Daemon) -> AsyncIterator[Ground]:
        ground = Yard(here, f"unix://{here.socket}")
        yield ground
        await ground.executor.close()


class TestTls(Contract):
    @pytest.fixture
    async def ground(self, there: Daemon) -> AsyncIterator[Ground]:
        ground = FarYard(
            there,
            f"tcp://{there.plot.there}:{TLS_PORT}",
            **tls_options(there),
            reach=there.plot.here,
        )
        yield ground
        await ground.executor.close()


class TestSsh(Contract):
    @pytest.fixture
    async def ground(self, there: Daemon) -> AsyncIterator[Ground]:
        ground = FarYard(there, f"ssh://root@{there.plot.there}:{SSH_PORT}", **ssh_options(there))
        yield ground
        await ground.executor.close()
