"""A call that waits for a yes at one hub is seen and answered at any."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.control.company import Agent, send
from tests.doors.doors import Raw
from tests.e2e.talk import text_of
from tests.features.limits.limiting import ran
from tests.features.rules.calling import answer, none_waits, waiting
from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fleet.test_limits import TOOL, open_hubs

__all__ = ["postgres", "shared_yard"]
pytestmark = pytest.mark.fleet
RULE = {"says": "ask", "tools": ["one/echo"]}


async def hears_of(events: Raw, count: int) -> None:
    """Wait until a page is told that so many calls wait."""
    while await events.event() != {"calls": count}:
        pass


async def test_a_call_that_waits_is_seen_and_answered_at_any_hub(
    home: Path, shared_yard: SharedYard
) -> None:
    async with (
        open_hubs(home, shared_yard) as (first, second, third),
        second.connected() as events,
        asyncio.TaskGroup() as group,
    ):
        assert (await send(first, "PUT", "/api/v1/rules/echoes", RULE)).json()["noticed"]
        await events.send(second.request("GET", "/api/v1/events"))
        await events.head()
        for word in ("yes", "no"):
            call = group.create_task(Agent(first).call(TOOL, text="hello"))
            await hears_of(events, 1)
            (row,) = await waiting(second)
            assert row["arguments"] == {"text": "hello"}

            reply = await answer(third, row["id"], word)

            assert reply.status == 200, reply
            assert reply.json() == {
                "id": row["id"],
                "server": "one",
                "tool": "echo",
                "answer": word,
            }
            told = text_of((await call)["result"])
            assert told == "hello" if word == "yes" else "said no" in told
            assert ran(home) == 1
            await hears_of(events, 0)
            assert (await answer(second, row["id"], word)).status == 404
            await none_waits(third)
