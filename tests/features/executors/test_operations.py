"""Executors over the control API: named, with limits of their own, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.control.company import open_yard, send
from tests.doors.doors import Doors

BOX = "/api/v1/executors/box"


async def put(doors: Doors, **said: Any) -> int:
    answer = await send(doors, "PUT", BOX, {"type": "docker", **said})
    return answer.status


async def limits(doors: Doors) -> tuple[Any, Any]:
    row = (await send(doors, "GET", BOX)).json()
    return row["running_limit"], row["memory_limit"]


async def test_limits_of_an_executor_are_kept(home: Path) -> None:
    async with open_yard(home) as yard:
        assert await put(yard) == 200
        assert await limits(yard) == (None, None), "the hub's own setting holds"
        assert await put(yard, running_limit=0, memory_limit=512) == 200
        assert await limits(yard) == (0, 512)
    async with open_yard(home) as yard:
        assert await limits(yard) == (0, 512)


@pytest.mark.parametrize("wrong", [-1, 1.5, "8", True, 1 << 40])
async def test_a_limit_that_is_no_number_is_refused(home: Path, wrong: Any) -> None:
    async with open_yard(home) as yard:
        assert await put(yard, memory_limit=wrong) == 422
