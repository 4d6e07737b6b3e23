"""A hub that people log in with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.doors.doors import Doors
from tests.features.authorization.people import open_own
from tests.fixtures.postgres import postgres, shared_yard

__all__ = ["own", "postgres", "shared_yard"]


@pytest_asyncio.fixture
async def own(home: Path) -> AsyncIterator[Doors]:
    async with open_own(home) as doors:
        yield doors
