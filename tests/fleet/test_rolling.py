"""Replicas that are restarted in turn under load: no call is lost, and no session."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fleet.balanced import Fleet, balanced
from tests.fleet.fleet import KEY
from tests.fleet.load import (
    NEW,
    OLD,
    Caller,
    LegacyCaller,
    ModernCaller,
    Outcomes,
    Worker,
    calling,
    progressed,
)
from tests.fleet.subscribers import Subscriber

__all__ = ["postgres", "shared_yard"]

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(4 * 3600)]

CALLERS = 4
"""Of each era."""
ROUNDS = int(os.environ.get("TOOLYARD_FLEET_ROUNDS", "1"))
"""Rolling restarts: in each, every replica is restarted."""
CALLS = int(os.environ.get("TOOLYARD_FLEET_CALLS", "2000"))
"""Calls that are made meanwhile, at least."""
FOLLOWERS = {f"f{number}": server for number, server in enumerate((OLD, NEW) * 2)}
"""Clients that follow a resource, and whose; the first two are of the legacy era."""


def callers(fleet: Fleet, outcomes: Outcomes) -> list[Caller]:
    kinds = (ModernCaller, LegacyCaller) * CALLERS
    return [kind(f"c{n}", fleet.port, outcomes) for n, kind in enumerate(kinds)]


def followers(fleet: Fleet, outcomes: Outcomes) -> list[Subscriber]:
    kinds = (LegacyCaller, LegacyCaller, ModernCaller, ModernCaller)
    return [
        Subscriber(kind(name, fleet.port, outcomes), server)
        for kind, (name, server) in zip(kinds, FOLLOWERS.items(), strict=True)
    ]


async def test_no_call_and_no_session_is_lost_while_replicas_are_restarted(
    home: Path, shared_yard: SharedYard
) -> None:
    outcomes, began = Outcomes(), time.monotonic()
    async with balanced(home, shared_yard, KEY, list(FOLLOWERS)) as fleet:
        between = CALLS // (ROUNDS * len(fleet.replicas) + 1)
        load: list[Worker] = [*callers(fleet, outcomes), *followers(fleet, outcomes)]
        async with calling(load):
            await progressed(outcomes, between)
            for number, replica in enumerate(fleet.replicas * ROUNDS, 1):
                assert await asyncio.to_thread(replica.stop) == 0
                await asyncio.to_thread(replica.start)
                await fleet.balancer.until(replica.name, "UP")
                await progressed(outcomes, between)
                print(
                    f"restart {number} at {time.monotonic() - began:.0f} s: {outcomes}", flush=True
                )

    assert outcomes.failed == {}
    assert outcomes.calls >= CALLS
    assert outcomes.initialized == CALLERS + 2
    assert {"ask", "sample", "progress", "task", "update"} < set(outcomes.answered)


async def test_without_a_key_the_same_load_loses_sessions(
    home: Path, shared_yard: SharedYard
) -> None:
    outcomes = Outcomes()
    async with (
        balanced(home, shared_yard, "") as fleet,
        calling(callers(fleet, outcomes)),
    ):
        await progressed(outcomes, CALLERS * 50)

    assert any("404" in reason for reason in outcomes.failed)
    assert outcomes.initialized > CALLERS
