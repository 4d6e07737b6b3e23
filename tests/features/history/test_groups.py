"""Many calls are counted and searched by their groups, and no question reads them all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import Raw

from tests.features.history.calls import record
from tests.features.history.conftest import OpenShared
from toolyard.features.history.call_log import PRUNE_EVERY, Bounds, CallLog
from toolyard.features.history.model import Statistic
from toolyard.features.history.search import Search
from toolyard.features.history.source import MissingCalls
from toolyard.features.history.store import History
from toolyard.features.history.timeline import Grouping
from toolyard.records import call_groups
from toolyard.records.calls import CallRows, SqliteCalls
from toolyard.records.database import Database, Row
from toolyard.records.postgres.calls import SharedCalls
from toolyard.records.schema import MIGRATIONS
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message

PART = 100


class Watched:
    """Rows that remember which calls were asked for."""

    def __init__(self, rows: CallRows) -> None:
        self._rows = rows
        self.sql, self.part = rows.sql, rows.part
        self.queries: list[tuple[str, Sequence[Any]]] = []

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        self.queries.append((sql, values))
        return self._rows.read(sql, values)

    @property
    def read_calls(self) -> int:
        """The number of ids among which calls were looked for."""
        wide = [values for sql, values in self.queries if " WHERE id >= ? AND id < ?" in sql]
        named = sum(sql.partition(" WHERE id IN (")[2].count("?, ") for sql, _ in self.queries)
        return named + sum(values[1] - values[0] for values in wide)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


class Ungrouped(Watched):
    """Rows that know of no groups, so that every call is looked at."""

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return [] if "call_groups" in sql else super().read(sql, values)


@pytest.fixture(params=["sqlite", "postgres"])
def parted(request: pytest.FixtureRequest) -> CallRows:
    """Rows with small parts, on every engine."""
    if request.param == "sqlite":
        return SqliteCalls(request.getfixturevalue("database"), part=PART)
    open_shared: OpenShared = request.getfixturevalue("open_shared")
    shared = open_shared("r1")
    return SharedCalls(shared._database, "r1", part=PART)


def filled(rows: CallRows, calls: int = 1050, **bounds: Any) -> tuple[History, Watched]:
    """A history of calls, one each minute, of which a few are not like the others."""
    watched = Watched(rows)
    log = CallLog(watched, Bounds(**bounds))
    now = time.monotonic()
    for number in range(calls):
        server = "rare" if number == 250 else f"server {number % 3}"
        told: dict[str, Any] = {"server": server, "agent": f"agent {number % 2}"}
        told["tool"] = "seldom" if number % PART == 50 else "read"
        if number % 7 == 0:
            text = "SCHLIESST NIE: Größe" if number == 707 else f"item {number} broke"
            told["answer"] = Message(error=Raw(jsonrpc.fault(-32603, text)))
        told["asked"] = Raw(b'{"path":"needle"}' if number == 333 else b"{}")
        record(History(log), began=now - 60 * (calls - number), **told)
    log.flush()
    rows.forget(10 * PRUNE_EVERY, None)
    grouped(rows, calls // PART - 2)
    return History(log), watched


def grouped(rows: CallRows, parts: int) -> None:
    """Wait until so many parts have groups."""
    # Each part that is grouped has the next one done; PostgreSQL leaves the newest alone.
    deadline = time.monotonic() + 60
    while count_parts(rows) < parts:
        assert time.monotonic() < deadline


def count_parts(rows: CallRows) -> int:
    """The number of parts that have groups."""
    rows.settle()
    ((parts,),) = rows.read("SELECT count(DISTINCT part) FROM call_groups")
    return int(parts)


SEARCHES = [
    Search(),
    Search(server="server 1"),
    Search(server="rare"),
    Search(tool="seldom"),
    Search(tool="seldom", limit=4),
    Search(agent="agent 1", outcome="failed", limit=30),
    Search(outcome="failed", before=430),
    Search(outcome="ok", limit=1000),
    Search(text="SERVER 1 SELDOM agent"),
    Search(text="item 49"),
    Search(text="item 4", limit=1000),
    Search(text="schließt nie: GRÖSSE"),
    Search(text="no such text"),
    Search(server="server 1", text="item 7", limit=3),
]


async def test_groups_say_what_the_calls_say(parted: CallRows) -> None:
    history, _ = filled(parted)
    one_by_one = History(CallLog(Ungrouped(parted), history.log.bounds))
    now = time.time()
    assert count_parts(parted) >= 8

    for wanted in SEARCHES:
        for question in (wanted, replace(wanted, since=now - 60 * 487.5)):
            assert (await history.search(question)).calls == (
                await one_by_one.search(question)
            ).calls, question
            counted = (await history.statistics(question)).statistics
            exact = (await one_by_one.statistics(question)).statistics
            assert [_figures(line) for line in counted] == [_figures(line) for line in exact]
            for line, other in zip(counted, exact, strict=True):
                assert line.p95_ms == pytest.approx(other.p95_ms, rel=0.06)


async def test_groups_draw_what_the_calls_say(parted: CallRows) -> None:
    history, watched = filled(parted)
    one_by_one = History(CallLog(Ungrouped(parted), history.log.bounds))
    now = time.time()
    watched.queries.clear()

    for wanted in (Search(), Search(agent="agent 1"), Search(since=now - 60 * 487.5)):
        for by in get_args(Grouping):
            drawn = await history.timeline(wanted, by, 60, now)
            assert drawn == await one_by_one.timeline(wanted, by, 60, now)
    assert drawn.total.all_calls > 480
    assert watched.read_calls <= 6 * 3 * PART


def _figures(line: Statistic) -> tuple[Any, ...]:
    return line.server, line.tool, line.calls, line.errors, line.cancelled


async def test_counting_reads_the_newest_calls_alone(parted: CallRows) -> None:
    history, watched = filled(parted)
    watched.queries.clear()

    await history.statistics(Search())

    assert watched.read_calls <= 3 * PART


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Search(server="rare"), [251]),
        (Search(server="no such"), []),
        (Search(tool="seldom", limit=3), [951, 851, 751]),
        (Search(tool="seldom", before=151), [51]),
        (Search(text="schließt nie: größe"), [708]),
        (Search(text="item 49 broke"), [50]),
        (Search(text="no such text"), []),
    ],
    ids=str,
)
async def test_a_search_looks_at_the_calls_of_groups_that_match(
    parted: CallRows, wanted: Search, ids: list[int]
) -> None:
    history, watched = filled(parted)
    watched.queries.clear()

    assert [call.id for call in (await history.search(wanted)).calls] == ids

    # The newest calls are in no group yet, and those that failed alike share one.
    assert watched.read_calls <= 3 * PART + 50


async def test_a_text_is_found_in_arguments_and_results_that_are_in_groups(
    parted: CallRows,
) -> None:
    history, _ = filled(parted, bodies=True)

    assert [call.id for call in (await history.search(Search(text="NEEDLE"))).calls] == [334]
    assert [
        line.calls for line in (await history.statistics(Search(text="NEEDLE"))).statistics
    ] == [1, 1]


async def test_a_text_is_found_in_a_group_whose_texts_are_too_long_to_be_kept(
    database: Database,
) -> None:
    rows, each = SqliteCalls(database, part=500), "x" * 150
    history = History(CallLog(rows, Bounds()))
    for number in range(1001):
        answer = Message(error=Raw(jsonrpc.fault(-32603, f"item {number}: {each}")))
        record(history, answer)
    history.log.flush()
    rows.group()
    grouped(rows, 2)

    assert rows.read("SELECT count(*) FROM call_groups WHERE texts IS NOT NULL") == [(0,)]
    assert [call.id for call in (await history.search(Search(text="item 77:"))).calls] == [78]


async def test_calls_of_an_older_version_are_grouped_when_the_hub_starts(home: Path) -> None:
    path = home / "toolyard.db"
    old = Database(path, MIGRATIONS[: MIGRATIONS.index(call_groups.MIGRATION)])
    log = CallLog(SqliteCalls(old, part=PART), Bounds())
    log._unpruned = 0  # what is written by now is neither forgotten nor grouped
    for _ in range(350):
        record(History(log))
    log.flush()
    old.close()
    opened = Database(path, MIGRATIONS)
    rows = SqliteCalls(opened, part=PART)
    source = MissingCalls(CallLog(rows, Bounds()))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        task = group.create_task(source.run(lambda report: None))
        await asyncio.to_thread(grouped, rows, 3)
        task.cancel()

    assert rows.read("SELECT count(*) FROM call_log") == [(350,)]
    opened.close()


async def test_no_question_about_calls_scans_the_table(database: Database) -> None:
    rows = SqliteCalls(database, part=PART)
    history, watched = filled(rows)
    watched.queries.clear()

    await history.statistics(Search(server="rare"))
    (call,) = (await history.search(Search(server="rare"))).calls
    await history.get(call.id)
    await history.search(Search(text="no such text"))
    await history.timeline(Search(), "server", 60, time.time())

    for sql, values in watched.queries:
        plan = " ".join(str(row[3]) for row in rows.read(f"EXPLAIN QUERY PLAN {sql}", values))
        assert "SCAN call_log" not in plan, sql
        assert "SCAN seals" not in plan, sql


async def test_groups_go_with_the_calls_that_are_forgotten(parted: CallRows) -> None:
    history, _ = filled(parted)

    parted.forget(320, None)
    parted.settle()
    history.log.bounds = Bounds(rows=320)

    (total,) = [
        line for line in (await history.statistics(Search(tool="read"))).statistics if line.tool
    ][:1]
    calls = sum(line.calls for line in (await history.statistics(Search())).statistics if line.tool)
    assert calls == 320
    assert total.calls <= 320
    ((first,),) = parted.read("SELECT min(part) FROM call_groups")
    assert first is None or first >= 7


def insert_call(database: Database, at: float, server: str = "server") -> None:
    """Write a call as it is kept."""
    database.write(
        "INSERT INTO call_log (at, agent, caller, server, tool, ms, asked, answered, outcome,"
        " error) VALUES (?, 'agent', '', ?, 'tool', 1, 2, 3, 'ok', '')",
        (at, server),
    )


def test_a_part_is_read_as_few_rows(database: Database) -> None:
    # Python lets other threads run at each row that SQLite gives it: were every call a row, the
    # thread that answers clients would change places with the one that writes for every call.
    for number in range(2 * PART):
        insert_call(database, time.time(), f"server {number % 3}")
    read: list[Row] = []

    def run(sql: str, values: Sequence[Any]) -> list[Row]:
        rows = database.read(sql, values)
        read.extend(rows)
        return rows

    assert call_groups.CallGroups("json_group_array", PART).add_next(run)
    ((groups,),) = database.read("SELECT count(*) FROM call_groups")
    assert groups == 3
    assert len(read) == groups + 2  # what is done, what is next, and the groups


@pytest.mark.parametrize("ago", [0.0, 1e-6, 0.999999, 3.0e6 + 0.999999])
def test_a_group_has_the_very_moments_of_its_calls(database: Database, ago: float) -> None:
    began = int(time.time()) - ago
    moments = [began, began + 2.5e-7, began + 1, began + 2]
    for at in moments:
        insert_call(database, at)

    assert call_groups.CallGroups("json_group_array", 4).add_next(database.read)
    ((least, most, packed),) = database.read("SELECT least_at, most_at, moments FROM call_groups")
    assert (least, most) == (moments[0], moments[2])
    assert list(call_groups.read_moments(packed)) == [int(at) for at in moments[:3]]
