"""A hub that may open no more files: it says so, serves whom it has, and goes on later."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors.doors import NOBODY, Doors, Raw
from tests.e2e.hub import RunningHub, running_hub

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can")
SPARE = 40
"""Files that the hub may still open."""
MARGIN = 30.0


@contextmanager
def short_of_files(home: Path) -> Iterator[tuple[RunningHub, Doors]]:
    with running_hub(NOBODY, home=home) as hub:
        most = len(os.listdir(f"/proc/{hub.process.pid}/fd")) + SPARE
        resource.prlimit(hub.process.pid, resource.RLIMIT_NOFILE, (most, most))
        yield hub, Doors(int(hub.url.rsplit(":", 1)[1]), home)


async def hold(doors: Doors, count: int, said: bytes) -> list[Raw]:
    """Connections that have sent this, and stay."""
    held = []
    for _ in range(count):
        raw = Raw(*await asyncio.open_connection("127.0.0.1", doors.port))
        await raw.send(said)
        held.append(raw)
    return held


async def let_go(held: list[Raw]) -> None:
    for raw in held:
        await raw.close()


def complaints(hub: RunningHub) -> list[str]:
    """What the hub has logged of it."""
    lines = (hub.home / "hub.err").read_text().splitlines()
    return [line for line in lines if "raise the limit of open files" in line]


async def test_connections_wait_for_a_file_and_are_served_then(home: Path) -> None:
    with short_of_files(home) as (hub, doors):
        held = await hold(doors, SPARE * 2, doors.request("GET", "/api/v1/status"))

        async def has_complained() -> bool:
            return bool(complaints(hub))

        await doors.until(has_complained, MARGIN)
        async with asyncio.timeout(MARGIN):
            assert await status_of(held[0]) == 200
            waiting = await hold(doors, 1, doors.request("GET", "/api/v1/status"))
            await let_go(held)
            assert await status_of(waiting[0]) == 200
        await let_go(waiting)
        assert len(complaints(hub)) == 1
        assert "Traceback" not in (hub.home / "hub.err").read_text()


async def test_strangers_give_their_files_to_whoever_has_a_token(home: Path) -> None:
    with short_of_files(home) as (hub, doors):
        held = await hold(doors, SPARE * 3, b"GET / HTTP/1.1\r\nX-Slow: ")
        async with asyncio.timeout(MARGIN):
            (caller,) = await hold(doors, 1, doors.request("GET", "/api/v1/status"))
            assert await status_of(caller) == 200
        assert len(complaints(hub)) == 1
        await let_go([*held, caller])


async def status_of(raw: Raw) -> int:
    """The status of an answer, however long it takes to come."""
    return int((await raw.reader.readline()).split()[1])
