"""The pipes of a server: nothing secret of what it writes is kept, however slowly it writes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolyard.executors.child import STDERR, Child
from toolyard.executors.tail import LogFile
from toolyard.records.secrets.mask import MASK

SECRET = "t0ken-that-a-slow-server-writes"


async def test_a_secret_that_is_written_slowly_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MASK.add(SECRET)
    log = LogFile(tmp_path, "slow")
    child, loop = Child(log), asyncio.get_running_loop()

    child.arrived(STDERR, f"login with {SECRET[:12]}".encode())
    # An hour goes by: whatever waits for a time, acts now.
    monkeypatch.setattr(loop, "time", lambda time=loop.time: time() + 3600)
    for _ in range(3):
        await asyncio.sleep(0)
    child.arrived(STDERR, f"{SECRET[12:]}\n".encode())

    assert log.path.read_text() == "login with [secret]\n"
    assert child.stderr == ("login with [secret]",)


async def test_nothing_of_a_secret_is_shown_that_is_half_written_when_its_pipes_are_dropped(
    tmp_path: Path,
) -> None:
    MASK.add(SECRET)
    log = LogFile(tmp_path, "dropped")
    child = Child(log)

    child.arrived(STDERR, f"login with {SECRET[:20]}".encode())
    child.close()
    child.arrived(STDERR, f"{SECRET[20:]}\n".encode())  # it was on its way already

    assert log.path.read_text() == "login with [secret]"
    assert child.stderr == ("login with [secret]",)
