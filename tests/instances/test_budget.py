"""Budgets over all that runs: the idle leave first, calls under way are never touched."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from tests.e2e.talk import text_of
from tests.instances.yard import AGENT, company, count, is_alive, pid_of, stub


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
        assert "1 server runs, and 1 may" in fault["message"], fault
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


async def test_however_many_names_a_client_invents_its_token_has_so_many_servers_and_no_more(
    home: Path,
) -> None:
    listed = {AGENT: {"own": stub(home, "own")}}
    async with company(home, listed, instance_limit=3) as yard, AsyncExitStack() as stack:
        pids = []
        for number in range(12):
            open_ = yard.client("modern", "http", name=f"invented {number}")
            pids.append(await pid_of(await stack.enter_async_context(open_)))
        await yard.gone(*pids[:-3])
        assert all(is_alive(pid) for pid in pids[-3:]), "the least recently used leave first"
        assert len(await yard.rows()) == 3


async def test_a_token_whose_servers_are_all_at_work_is_told_so_and_others_are_not_concerned(
    home: Path,
) -> None:
    listed = {AGENT: {"own": stub(home, "own")}}
    async with (
        company(home, listed, instance_limit=1) as yard,
        yard.client("legacy", "http") as one,
        yard.client("modern", "http") as two,
        yard.client("legacy", "line") as line,
    ):
        await count(one)
        message = one.message("tools/call", {"name": "own__cancellable", "arguments": {}})
        working = one.group.create_task(one.exchange(message))

        async def works() -> bool:
            return any(row["calls"] for row in await yard.rows())

        await yard.doors.until(works)
        fault = await two.fault("tools/call", {"name": "own__counter", "arguments": {}})
        assert "1 server runs for the sessions of this token, and 1 may" in fault["message"]
        assert "raise instance_limit" in fault["message"]
        assert await count(line) == 1, "a stdio client counts for itself"
        await one.cancel(message["id"], working)
