"""Budgets over all that runs: the idle leave first, calls under way are never touched."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.talk import text_of
from tests.instances.yard import AGENT, company, count, pid_of, stub


async def test_the_least_recently_used_process_makes_room_for_a_new_session_and_says_why(
    home: Path,
) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}, running_limit=2) as yard,
        yard.client(name="one") as one,
        yard.client(name="two") as two,
        yard.client(name="three") as three,
    ):
        first, second = await pid_of(one), await pid_of(two)
        await count(one)
        await pid_of(three)
        await yard.gone(second)
        rows = {row["client"]: row for row in await yard.rows()}
        assert rows["one"]["pid"] == first and rows["three"]["status"] == "ready"
        assert rows["two"]["status"] == "idle" and "make room for 'own'" in rows["two"]["note"]
        assert "2 servers run, and 2 may" in rows["two"]["note"]
        assert await count(two) == 1, "it starts again when it is needed"
        assert {row["client"]: row["note"] for row in await yard.rows()}["two"] == ""


async def test_a_call_under_way_keeps_its_process_and_the_newcomer_is_refused(home: Path) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}, running_limit=1) as yard,
        yard.client(name="one") as one,
        yard.client(name="two") as two,
    ):
        await count(one)
        asked = {"name": "own__sleep", "arguments": {"ms": 1500}}
        sleeping = one.group.create_task(one.result("tools/call", asked))

        async def sleeps() -> bool:
            return any(row["calls"] for row in await yard.rows())

        await yard.doors.until(sleeps)
        fault = await two.fault("tools/call", {"name": "own__counter", "arguments": {}})
        assert "1 servers run, and 1 may" in fault["message"], fault
        assert text_of(await sleeping) == "slept"
        assert await count(two) == 1, "once the call is over there is room"


async def test_shared_servers_and_those_of_sessions_count_together(home: Path) -> None:
    servers = {"all": {k: v for k, v in stub(home, "all").items() if k != "mode"}}
    listed = {"own": stub(home, "own"), "all": {"server": "all", "mode": "shared"}}
    async with (
        company(home, {AGENT: listed}, servers=servers, running_limit=1) as yard,
        yard.client() as talk,
    ):
        pid = await pid_of(talk, "all")
        await count(talk, "own")
        await yard.gone(pid)
        (row,) = await yard.rows("all", "shared")
        assert row["status"] == "idle" and "make room" in row["note"]
