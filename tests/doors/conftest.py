"""A hub's doors, opened for one test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.doors.doors import Doors, open_doors


@pytest_asyncio.fixture
async def doors(home: Path) -> AsyncIterator[Doors]:
    """The doors of a hub that has no server in use."""
    async with open_doors(home) as opened:
        yield opened
