"""Hubs that share a database have one history; while it is away, calls wait for it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.features.history.calls import keeping, record
from tests.features.history.conftest import OpenShared
from tests.fixtures.hubs import order, sees, send, stub, two_hubs
from tests.fixtures.postgres import PostgresServer, SharedYard
from toolyard.core.errors import DatabaseAwayError
from toolyard.core.model import Report
from toolyard.features.history.search import Search
from toolyard.features.history.source import MissingCalls
from toolyard.features.history.store import History
from toolyard.records.postgres import outbox
from toolyard.records.postgres.calls import SharedCalls

DAY = 86400
COLUMNS = (
    *("at", "agent", "caller", "server", "tool"),
    *("ms", "asked", "answered", "outcome", "error"),
)


def day(ago: int) -> str:
    moment = datetime.now(UTC) - timedelta(days=ago)
    return f"call_log_{moment:%Y_%m_%d}"


def days(rows: SharedCalls) -> set[str]:
    sql = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass(?)"
    return {name for (name,) in rows.read(sql, ("call_log",)) if name.startswith("call_log_2")}


def written(history: History) -> None:
    """Wait until all that was recorded is in the database."""
    history.log.flush()
    assert history.log.rows is not None
    history.log.rows.settle()


async def test_the_calls_of_all_hubs_are_one_history_and_each_says_who_served_it(
    open_shared: OpenShared,
) -> None:
    here, there = keeping(open_shared("r1")), keeping(open_shared("r2"))
    record(here, tool="one")
    written(here)
    record(there, tool="two", caller="ci")
    written(there)

    for history in (here, there):
        calls = (await history.search(Search())).calls
        assert [(call.tool, call.replica, call.caller) for call in calls] == [
            ("two", "r2", "ci"),
            ("one", "r1", ""),
        ]
        lines = (await history.statistics(Search())).statistics
        assert [(line.tool, line.calls) for line in lines] == [("", 2), ("one", 1), ("two", 1)]
        timeline = await history.timeline(Search(), "server", 10, time.time())
        assert timeline.total.all_calls == 2
    assert (await there.get(1)).call.tool == "one"


async def test_each_day_has_a_table_made_ahead_and_dropped_when_it_is_over(
    open_shared: OpenShared,
) -> None:
    rows = open_shared("r1")
    keeper = keeping(rows, days=30)
    for ago in (0, 3, 9):
        record(keeper, began=time.monotonic() - ago * DAY)
    written(keeper)
    assert days(rows) >= {day(-1), day(0), day(3), day(9)}

    forgetful = keeping(open_shared("r2"), days=5)
    record(forgetful)
    written(forgetful)

    assert days(rows) >= {day(-1), day(0), day(3)}
    assert day(9) not in days(rows)
    assert len((await keeper.search(Search())).calls) == 3


async def test_hubs_that_come_at_once_make_the_table_of_a_day_once(
    open_shared: OpenShared,
) -> None:
    histories = [keeping(open_shared(f"r{number}")) for number in range(6)]
    for history in histories:
        record(history)
    await asyncio.gather(*(asyncio.to_thread(written, history) for history in histories))

    assert len((await histories[0].search(Search())).calls) == 6
    assert [history.log.dropped for history in histories] == [0] * 6


async def test_what_a_hub_wrote_late_hides_nothing_that_others_wrote_before(
    open_shared: OpenShared,
) -> None:
    here, late = keeping(open_shared("r1")), open_shared("r2")
    record(here, tool="young")
    written(here)
    row = (time.time() - 7200, "codex", "", "files", "old", 1.0, 0, 0, "ok", "")
    late.add(COLUMNS, [row], lambda rows: rows, size=0)
    late.settle()

    reader = History(here.log, stride=1)
    calls = (await reader.search(Search(since=time.time() - 3600))).calls

    assert [call.tool for call in calls] == ["young"]


async def test_texts_that_no_database_takes_are_written_all_the_same(
    open_shared: OpenShared,
) -> None:
    history = keeping(open_shared("r1"))
    record(history, agent="nul \0 and half \ud800")

    (call,) = (await history.search(Search(text="NUL"))).calls
    assert call.agent == "nul \ufffd and half ?"
    assert (await history.search(Search(agent="\0"))).calls == []


async def test_calls_wait_while_the_database_is_away_and_are_counted_beyond_what_may(
    postgres: PostgresServer, open_shared: OpenShared, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = open_shared("r1")
    history = keeping(rows)
    record(history, tool="before")
    written(history)
    reports: asyncio.Queue[Report] = asyncio.Queue()
    source = MissingCalls(history.log, pause_seconds=0, shown_seconds=0.1)
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        task = group.create_task(source.run(reports.put_nowait))
        await asyncio.to_thread(postgres.stop)
        record(history, tool="meanwhile")
        with pytest.raises(DatabaseAwayError):
            await history.search(Search())
        assert history.log.dropped == 0
        monkeypatch.setattr(outbox, "MOST", 1)
        for _ in range(3):
            record(history, tool="too many")
        history.log.flush()
        (problem,) = (await reports.get()).problems
        assert (problem.code, problem.text.split()[0]) == ("history-dropped", "3")
        assert (await reports.get()).problems == (), "it is shown for a while"
        await asyncio.to_thread(postgres.start)
        while len(calls := (await history.search(Search())).calls) < 2:
            await asyncio.to_thread(rows.settle)
        task.cancel()
    assert [call.tool for call in calls] == ["meanwhile", "before"]
    assert history.log.dropped == 3


async def test_rows_that_the_database_refuses_are_counted_and_the_next_ones_are_written(
    open_shared: OpenShared,
) -> None:
    rows = open_shared("r1")
    history = keeping(rows, bodies=True)
    rows.add(["at", "no_such_column"], [1], lambda _: [(time.time(), 1)], size=10)
    record(history, tool="good")

    assert [call.tool for call in (await history.search(Search())).calls] == ["good"]
    assert (rows.dropped, rows.waiting_bytes) == (1, 0)


@pytest.mark.slow
async def test_a_call_at_one_hub_is_in_the_history_of_the_other(
    home: Path, postgres: PostgresServer, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await order(a, "POST", "/servers", {"name": "one", "entry": stub("one")})

        async def has_tool() -> bool:
            return "one__echo" in await a.tools()

        await a.until(has_tool, 60)
        assert await a.text("one__echo", text="hello") == "hello"
        await sees(b, "/history?tool=echo", lambda answer: answer["calls"])
        (call,) = (await send(b, "GET", "/history")).json()["calls"]
        assert (call["server"], call["caller"]) == ("one", "control")
        replicas = (await send(a, "GET", "/replicas")).json()["replicas"]
        assert [row["id"] for row in replicas if row["own"]] == [call["replica"]]
        await asyncio.to_thread(postgres.stop)
        assert await a.text("one__echo", text="still here") == "still here"
        answer = await send(b, "GET", "/history")
        assert (answer.status, answer.json()["code"]) == (503, "database-away")
        await asyncio.to_thread(postgres.start)
        await sees(b, "/history", lambda answer: len(answer.get("calls", ())) == 2)
