"""Replicas that are restarted in turn under load: no call is lost, and no session."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fleet.balanced import balanced
from tests.fleet.fleet import KEY
from tests.fleet.load import Outcomes, calling, progressed
from tests.fleet.mixed import CALLERS, FOLLOWERS, callers, check, mixed_load

__all__ = ["postgres", "shared_yard"]

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(4 * 3600)]

ROUNDS = int(os.environ.get("TOOLYARD_FLEET_ROUNDS", "1"))
"""Rolling restarts: in each, every replica is restarted."""
CALLS = int(os.environ.get("TOOLYARD_FLEET_CALLS", "2000"))
"""Calls that are made meanwhile, at least."""


async def test_no_call_and_no_session_is_lost_while_replicas_are_restarted(
    home: Path, shared_yard: SharedYard
) -> None:
    outcomes, began = Outcomes(), time.monotonic()
    async with balanced(home, shared_yard, KEY, list(FOLLOWERS)) as fleet:
        between = CALLS // (ROUNDS * len(fleet.replicas) + 1)
        async with calling(mixed_load(fleet.port, outcomes)):
            await progressed(outcomes, between)
            for number, replica in enumerate(fleet.replicas * ROUNDS, 1):
                assert await asyncio.to_thread(replica.stop) == 0
                await asyncio.to_thread(replica.start)
                await fleet.balancer.until(replica.name, "UP")
                await progressed(outcomes, between)
                print(
                    f"restart {number} at {time.monotonic() - began:.0f} s: {outcomes}", flush=True
                )

    check(outcomes)
    assert outcomes.calls >= CALLS


async def test_without_a_key_the_same_load_loses_sessions(
    home: Path, shared_yard: SharedYard
) -> None:
    outcomes = Outcomes()
    async with (
        balanced(home, shared_yard, "") as fleet,
        calling(callers(fleet.port, outcomes)),
    ):
        await progressed(outcomes, CALLERS * 50)

    assert any("404" in reason for reason in outcomes.failed)
    assert outcomes.initialized > CALLERS
