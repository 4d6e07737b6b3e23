"""The kubernetes executor keeps the contract in a real cluster, with the rights we ship."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.executors.children import Ear
from tests.executors.contract import Contract, Ground
from tests.executors.kubernetes.site import find

pytestmark = [pytest.mark.executors, pytest.mark.k8s, pytest.mark.timeout(180)]

TELLS_WHEN_ASKED = """
import os, sys
for line in sys.stdin:
    print(os.environ.get('COLOUR'), os.environ.get('TOOLYARD_TOKEN'), flush=True)
"""


class TestKubernetes(Contract):
    @pytest.fixture
    async def ground(self) -> AsyncIterator[Ground]:
        async with find().ground() as ground:
            yield ground

    async def test_it_sees_the_environment_it_declares_and_none_of_ours(
        self, ground: Ground, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # What a server says before anybody is attached to its pod is in its log alone: it is asked.
        monkeypatch.setenv("TOOLYARD_TOKEN", "ours")
        async with ground.pipes("tells", TELLS_WHEN_ASKED, COLOUR="blue 'and' $(HOME)") as pipes:
            ear = Ear(pipes)
            pipes.write(b"well\n")

            assert await ear.line(ground.patience) == b"blue 'and' $(HOME) None"
