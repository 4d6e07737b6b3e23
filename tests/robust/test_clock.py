"""The clock of the machine is set amid calls: nothing ends early, leaves or starts again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, environment, new_home, running_hub, stdio_stub
from tests.e2e.talk import talking, text_of
from tests.features.approvals.yard import ask

HOUR, YEAR = 3600, 365 * 24 * 3600
JUMPS = (2 * HOUR, -2 * HOUR, 10 * YEAR, -10 * YEAR)
MOVED = """
import time
from pathlib import Path
shift, true, true_ns = Path(__file__).with_name("shift"), time.time, time.time_ns
time.time = lambda: true() + int(shift.read_text())
time.time_ns = lambda: true_ns() + int(shift.read_text()) * 10**9
"""
"""Loaded by Python before anything else: the wall clock of this process alone, set by a file."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock of a hub."""

    folder: Path

    def set(self, seconds: int) -> None:
        """Move it away from the time that everybody else has."""
        fresh = self.folder / "fresh"
        fresh.write_text(str(seconds))
        fresh.replace(self.folder / "shift")

    def env(self, home: Path) -> dict[str, str]:
        return {"PYTHONPATH": f"{self.folder}:{environment(home)['PYTHONPATH']}"}


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    (tmp_path / "sitecustomize.py").write_text(MOVED)
    clock = Clock(tmp_path)
    clock.set(0)
    return clock


def seen_by(hub: RunningHub, name: str) -> float:
    """The wall clock of the hub: the time at which it says that it made a token."""
    assert ask(hub, "POST", "/api/v1/tokens", {"name": name})[0] == 201
    rows = ask(hub, "GET", "/api/v1/tokens")[1]["tokens"]
    (made,) = [row["created_at"] for row in rows if row["name"] == name]
    return datetime.fromisoformat(made).timestamp()


def told(hub: RunningHub) -> dict[str, Any]:
    (server,) = hub.status()["servers"]
    return {key: server[key] for key in ("status", "restarts", "problem")}


async def test_a_call_under_way_and_its_session_outlast_every_jump_of_the_clock(
    clock: Clock, record_property: Callable[[str, object], None]
) -> None:
    with new_home() as home:
        servers = {"a": stdio_stub("a", home)}
        with running_hub(servers, home=home, env=clock.env(home)) as hub:
            before = told(hub)
            async with talking(hub) as line, talking(hub, "legacy", "http") as http:
                tools = await line.result("tools/list")
                message = line.message("tools/call", {"name": "a__cancellable"})
                call = line.group.create_task(line.exchange(message))
                await hub.happened("a", "waiting")
                for jump in JUMPS:
                    clock.set(jump)
                    # Else nothing was shown: the hub must have the time that it was given.
                    assert abs(seen_by(hub, f"at{jump}") - time.time() - jump) < HOUR
                    for client in (line, http):
                        assert text_of(await client.call("a__echo", {"text": "x"})) == "x"
                    assert await line.result("tools/list") == tools
                    assert told(hub) == before and not call.done()
                assert not line.heard and not hub.events("a", "cancelled")
                await line.cancel(message["id"], call)
                await hub.happened("a", "cancelled")
    record_property("figure", f"{len(JUMPS)} jumps of up to 10 years, 0 calls or sessions lost")
