"""Calls are recorded on the loop and asked for from the database."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from tests.features.history.calls import FINE, keeping, record
from toolyard.core.errors import ConfigError, LinkError, StoreError, UnknownNameError
from toolyard.features.history.call_endings import TOO_LARGE
from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.records import database as database_module
from toolyard.records.calls import CallRows, SqliteCalls
from toolyard.records.database import Database
from toolyard.records.schema import MIGRATIONS
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message


def said(result: Any) -> Message:
    return Message(result=Raw(jsonrpc.encode(result)))


async def found(history: History, **wanted: Any) -> list[Any]:
    return (await history.search(Search(**wanted))).calls


async def test_a_call_is_recorded_with_all_that_is_known_of_it(rows: CallRows) -> None:
    history = keeping(rows)

    record(history, began=time.monotonic() - 0.2)

    (call,) = await found(history)
    assert (call.agent, call.server, call.tool, call.outcome) == ("codex", "files", "read", "ok")
    assert call.caller == ""
    assert (call.asked, call.answered, call.error) == (12, len(FINE.result), "")
    assert 200 <= call.ms < 5000
    assert time.time() - 10 < call.at.timestamp() < time.time() - 0.19


@pytest.mark.parametrize("bodies", [False, True])
async def test_a_call_that_waited_for_a_start_says_how_long(rows: CallRows, bodies: bool) -> None:
    waits = iter([None, [0.0, 1500.0], None])
    log = CallLog(rows, Bounds(bodies=bodies), lambda calls, epoch: next(waits))
    history = History(log)

    record(history)
    log.flush()
    record(history)
    record(history)
    log.flush()
    record(history)

    assert [call.start_ms for call in await found(history)] == [0.0, 1500.0, 0.0, 0.0]
    assert ((await history.get(3)).arguments is not None) is bodies


async def test_a_call_that_asked_the_person_says_when_and_for_how_long(rows: CallRows) -> None:
    history = keeping(rows)
    began = time.monotonic() - 2

    record(history, began=began, wait=(began + 0.5, 1.25))
    record(history)

    plain, asking = await found(history)
    assert (asking.person_at_ms, asking.person_ms) == (500.0, 1250.0)
    assert (plain.person_at_ms, plain.person_ms) == (0.0, 0.0)


async def test_an_agent_of_the_modern_era_is_known_by_its_raw_description(
    rows: CallRows,
) -> None:
    history = keeping(rows)

    record(history, agent=b'{"name":"cursor","version":"1"}')
    record(history, agent=b"no JSON")

    assert [call.agent for call in await found(history)] == ["", "cursor"]


@pytest.mark.parametrize(
    ("answer", "outcome", "error"),
    [
        (
            said({"content": [{"type": "text", "text": "no file"}], "isError": True}),
            "tool-error",
            "no file",
        ),
        (Message(result=Raw(b'{"isError": true, "content":[]}')), "tool-error", ""),
        (said({"structuredContent": {"isError": True}, "content": []}), "ok", ""),
        (said({"content": [{"type": "text", "text": '"isError":true'}]}), "ok", ""),
        (Message(error=Raw(jsonrpc.fault(-32602, "bad path"))), "error", "bad path"),
        (LinkError("it ended"), "error", "it ended"),
        (LinkError("token=hush is wrong"), "error", "token=[redacted] is wrong"),
        (LinkError("x" * 300), "error", "x" * 200),
        (asyncio.CancelledError(), "cancelled", ""),
    ],
)
async def test_how_a_call_ended_is_told_by_its_answer(
    rows: CallRows, answer: Message | BaseException, outcome: str, error: str
) -> None:
    history = keeping(rows)

    record(history, answer)

    (call,) = await found(history)
    assert (call.outcome, call.error) == (outcome, error)


@pytest.mark.parametrize("order", [("isError", "content"), ("content", "isError")])
async def test_the_mark_of_an_error_is_seen_at_both_ends_of_a_large_answer(
    rows: CallRows, order: tuple[str, str]
) -> None:
    history = keeping(rows)
    members = {"content": [{"type": "text", "text": "why " * 50_000}], "isError": True}

    record(history, said({key: members[key] for key in order}))

    (call,) = await found(history)
    assert call.outcome == "tool-error"
    assert "why" in call.error
    assert len(call.error) == 200


async def test_calls_are_searched_by_everything_and_page_by_page(rows: CallRows) -> None:
    history = keeping(rows)
    record(history, agent="cursor", server="web")
    record(history, LinkError("no 100% luck"), tool="write")
    record(history, asyncio.CancelledError())
    for _ in range(3):
        record(history)

    assert [call.tool for call in await found(history, outcome="failed")] == ["write"]
    assert [call.outcome for call in await found(history, outcome="cancelled")] == ["cancelled"]
    assert [call.agent for call in await found(history, server="web")] == ["cursor"]
    assert len(await found(history, agent="codex", tool="read")) == 4
    assert [call.tool for call in await found(history, text="100%")] == ["write"]
    assert await found(history, text="1_0") == []
    assert await found(history, since=time.time() + 60) == []
    first = await found(history, limit=4)
    rest = await found(history, limit=4, before=first[-1].id)
    assert [call.id for call in (*first, *rest)] == [6, 5, 4, 3, 2, 1]


async def test_a_search_reads_on_until_it_has_enough_or_all_is_read(rows: CallRows) -> None:
    history = History(CallLog(rows, Bounds()), stride=3)
    for number in range(10):
        record(history, tool="even" if number % 2 == 0 else "odd")

    assert [call.id for call in await found(history, tool="odd", limit=3)] == [10, 8, 6]
    assert [call.id for call in await found(history, tool="even")] == [9, 7, 5, 3, 1]
    assert [call.id for call in await found(history, before=5, limit=2)] == [4, 3]


async def test_text_is_found_whatever_its_case_in_any_alphabet(rows: CallRows) -> None:
    history = keeping(rows, bodies=True)
    record(history, LinkError("KEINE LÖSUNG"), asked=Raw('{"was":"Größe"}'.encode()))
    record(history)

    assert [call.id for call in await found(history, text="Lösung")] == [1]
    assert [call.id for call in await found(history, text="GRÖSSE")] == [1]
    assert [call.id for call in await found(history, text="files READ")] == [2, 1]


async def test_a_search_for_a_text_stops_after_so_many_bytes_and_goes_on_from_there(
    rows: CallRows,
) -> None:
    history = History(CallLog(rows, Bounds(bodies=True)), stride=4, text_bytes=5000)
    for number in range(20):
        record(history, asked=Raw(b'{"path":"%s"}' % (b"needle" if number == 2 else b"x" * 900)))

    pages = [await history.search(Search(text="NEEDLE"))]
    while (stopped_at := pages[-1].stopped_at) is not None:
        assert stopped_at > 1
        pages.append(await history.search(Search(text="NEEDLE", before=stopped_at)))

    assert len(pages) >= 5
    assert [call.id for page in pages for call in page.calls] == [3]
    assert (await history.search(Search())).stopped_at is None
    full = await history.search(Search(text="xxx", limit=2))
    assert ([call.id for call in full.calls], full.stopped_at) == ([20, 19], None)


async def test_calls_with_a_text_are_counted_piece_by_piece_too(rows: CallRows) -> None:
    history = History(CallLog(rows, Bounds(bodies=True)), stride=4, text_bytes=5000)
    for number in range(20):
        record(history, asked=Raw(b'{"path":"%s"}' % (b"x" * 900 + b"%d" % (number % 2))))

    counts, before = list[int](), 0
    while True:
        counted = await history.statistics(Search(text="x1", before=before))
        counts += [line.calls for line in counted.statistics if line.tool]
        if counted.stopped_at is None:
            break
        before = counted.stopped_at

    assert (len(counts) >= 5, sum(counts)) == (True, 10)


async def test_results_that_were_too_large_to_be_kept_cost_a_search_nothing(rows: CallRows) -> None:
    history = History(CallLog(rows, Bounds(bodies=True)), text_bytes=5000)
    for _ in range(5):
        record(history, said({"content": ["x" * 70_000]}))

    searched = await history.search(Search(text="nowhere"))

    assert (searched.calls, searched.stopped_at) == ([], None)


async def test_statistics_are_fed_by_the_same_search(rows: CallRows) -> None:
    history = keeping(rows)
    record(history)
    record(history, LinkError("no"), tool="write")

    lines = (await history.statistics(Search(server="files"))).statistics

    assert [(line.tool, line.calls, line.errors) for line in lines] == [
        ("", 2, 1),
        ("read", 1, 0),
        ("write", 1, 1),
    ]
    assert (await history.statistics(Search(server="web"))).statistics == []


async def test_no_more_calls_are_shown_than_may_be_kept(rows: CallRows) -> None:
    history = keeping(rows, rows=10)
    for _ in range(25):
        record(history)

    assert [call.id for call in await found(history)] == list(range(25, 15, -1))


async def test_calls_of_long_ago_are_forgotten(rows: CallRows) -> None:
    history = keeping(rows, days=2)
    record(history, began=time.monotonic() - 3 * 86400)
    record(history)

    assert [call.id for call in await found(history)] == [2]


async def test_arguments_and_results_are_not_kept_unless_wanted(database: Database) -> None:
    history = keeping(SqliteCalls(database))
    record(history)
    kept = await history.get(1)

    assert (kept.arguments, kept.result) == (None, None)
    assert b'"path"' not in (database.path.read_bytes() + _wal(database))


async def test_wanted_bodies_are_kept_without_their_secrets(database: Database) -> None:
    history = keeping(SqliteCalls(database), bodies=True)
    record(history, said({"content": [], "token": "hush"}), asked=Raw(b'{"a":1,"api_key":"hush"}'))
    kept = await history.get(1)

    assert jsonrpc.to_python(kept.arguments or b"") == {"a": 1, "api_key": "[redacted]"}
    assert jsonrpc.to_python(kept.result or b"") == {"content": [], "token": "[redacted]"}
    assert b"hush" not in (database.path.read_bytes() + _wal(database))
    assert len(await found(history, text="api_key")) == 1


async def test_bodies_that_are_too_large_or_no_json_are_not_kept(rows: CallRows) -> None:
    history = keeping(rows, bodies=True)
    record(history, said({"content": ["x" * 70_000]}), asked=Raw(b"{broken"))
    kept = await history.get(1)

    assert kept.result == TOO_LARGE.encode()
    assert kept.arguments is not None
    assert b"broken" not in kept.arguments
    assert kept.call.answered > 70_000


async def test_an_id_that_is_not_there_is_refused(rows: CallRows) -> None:
    with pytest.raises(UnknownNameError, match="no call 7"):
        await keeping(rows).get(7)


async def test_without_a_database_calls_are_counted_and_questions_refused() -> None:
    history = keeping(None, bodies=True)
    record(history)

    with pytest.raises(ConfigError, match="keeps no history"):
        await found(history)

    assert history.log.counters.servers["files"].outcomes["ok"] == 1
    assert history.log.dropped == 0


async def test_calls_are_handed_over_by_themselves_after_a_moment() -> None:
    heard = asyncio.Event()
    history = keeping(None)
    history.log.listeners.append(lambda calls: heard.set())
    record(history)

    async with asyncio.timeout(60):
        await heard.wait()
    assert history.log.passed == 1


async def test_a_crowd_of_calls_is_written_whole_and_in_order(rows: CallRows) -> None:
    history = keeping(rows)
    for number in range(2537):
        record(history, tool=f"t{number}")

    tools = [call.tool for call in await found(history, limit=5000)]

    assert tools == [f"t{number}" for number in range(2536, -1, -1)]
    assert history.log.counters.servers["files"].outcomes["ok"] == 2537


async def test_calls_beyond_what_may_wait_are_dropped_and_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "WAITING", 5)
    history = keeping(SqliteCalls(database))
    for _ in range(6):
        record(history)

    assert await found(history) == []
    assert history.log.dropped == 6
    assert history.log.counters.servers["files"].outcomes["ok"] == 6


async def test_rows_that_cannot_be_written_are_counted_and_the_next_ones_are(
    database: Database,
) -> None:
    history = keeping(SqliteCalls(database))
    database.write("ALTER TABLE call_log RENAME TO away")
    record(history)
    history.log.flush()
    database.settle()
    database.write("ALTER TABLE away RENAME TO call_log")
    record(history, tool="later")

    assert [call.tool for call in await found(history)] == ["later"]
    assert history.log.dropped == 1


def test_a_file_that_is_no_database_is_refused_with_a_hint(home: Path) -> None:
    path = home / "toolyard.db"
    path.write_text("this is no database, and long enough to be sure of it" * 20)

    with pytest.raises(StoreError) as caught:
        Database(path, MIGRATIONS)

    assert "toolyard doctor --restore" in caught.value.hint


def _wal(database: Database) -> bytes:
    path = database.path.with_name(database.path.name + "-wal")
    return path.read_bytes() if path.exists() else b""
