"""An issuer that people log in with, a hub that trusts it, and a PostgreSQL that hubs share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.doors.doors import Doors
from tests.features.members.team import open_team
from tests.fixtures.postgres import postgres, shared_yard
from tests.fixtures.signing_issuer import SigningIssuer, signing

__all__ = ["issuer", "postgres", "shared_yard", "team"]


@pytest.fixture
def issuer() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


@pytest_asyncio.fixture
async def team(home: Path, issuer: SigningIssuer) -> AsyncIterator[Doors]:
    async with open_team(home, issuer) as doors:
        yield doors
