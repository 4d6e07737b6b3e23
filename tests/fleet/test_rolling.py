"""Replicas that are restarted in turn under load: no call is lost, and no session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.fleet.balanced import TOOL, Fleet, balanced
from tests.fleet.fleet import KEY
from tests.fleet.load import LegacyCaller, ModernCaller, Outcomes, calling, progressed

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(3600)]

CALLERS = 4
"""Of each era."""
ROUNDS = int(os.environ.get("TOOLYARD_FLEET_ROUNDS", "1"))
"""How often each replica is restarted."""
BETWEEN = 200
"""Calls that are answered between two restarts."""


def callers(fleet: Fleet, outcomes: Outcomes) -> list[ModernCaller]:
    kinds = (ModernCaller, LegacyCaller) * CALLERS
    return [kind(fleet.port, TOOL, outcomes) for kind in kinds]


async def test_no_call_and_no_session_is_lost_while_replicas_are_restarted(home: Path) -> None:
    outcomes = Outcomes()
    async with balanced(home, KEY) as fleet, calling(callers(fleet, outcomes)):
        await progressed(outcomes, BETWEEN)
        for replica in fleet.replicas * ROUNDS:
            assert await asyncio.to_thread(replica.stop) == 0
            await asyncio.to_thread(replica.start)
            await fleet.balancer.until(replica.name, "UP")
            await progressed(outcomes, BETWEEN)

    restarts = ROUNDS * len(fleet.replicas)
    print(f"{restarts} restarts: {outcomes}")
    assert outcomes.failed == {}
    assert outcomes.initialized == CALLERS


async def test_without_a_key_the_same_load_loses_sessions(home: Path) -> None:
    outcomes = Outcomes()
    async with balanced(home, "") as fleet, calling(callers(fleet, outcomes)):
        await progressed(outcomes, BETWEEN)

    assert {reason[:3] for reason in outcomes.failed} == {"404"}
    assert outcomes.initialized > CALLERS
