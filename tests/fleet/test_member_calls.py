"""Two members at two hubs: no answer, process or memory of one has a credential of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fixtures.signing_issuer import SigningIssuer, signing
from tests.fleet.member_calls import SECRETS, memory_of, open_fleet

__all__ = ["postgres", "shared_yard"]
CALLS = int(os.environ.get("MEMBER_CALLS", "300"))
"""10,000 at full size."""


@pytest.fixture
def people() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


@pytest.fixture
def remote() -> Iterator[NamingIssuer]:
    with issuing(NamingIssuer()) as running:
        assert isinstance(running, NamingIssuer)
        yield running


async def test_no_call_crosses_over_from_one_member_to_another(
    home: Path, shared_yard: SharedYard, people: SigningIssuer, remote: NamingIssuer
) -> None:
    async with open_fleet(home, shared_yard, people, remote) as fleet:
        outcomes = await fleet.storm(CALLS, seed=15)
        assert outcomes == {"right": CALLS}
        pids = await fleet.processes()
        assert len(pids) == 2, "one process for each member, wherever they call"
        for pid in pids:
            memory = memory_of(pid)
            holds = [name for name, value in SECRETS.items() if value.encode() in memory]
            assert len(holds) == 1, f"{pid} holds the secrets of {holds}"
