"""Every test of the executors runs on both event loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from toolyard.executors.local import Local, LocalPatience


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def local() -> AsyncIterator[Local]:
    """An executor with little patience, so that the stubborn cost a test little time."""
    local = Local(patience=LocalPatience(eof=0.2, term=0.3))
    yield local
    await local.close()
