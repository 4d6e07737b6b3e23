"""Calls as older versions kept them: a row of the table each, then packed without who made them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from toolyard.stores.taken import pack

BATCH: Final = 1000
PLAIN: Final = 7
"""Values of a call that ended well, before its caller was one of them."""
_COLUMNS: Final = "id, at, agent, server, tool, ms, asked, answered, outcome, error"


def pack_calls(connection: sqlite3.Connection) -> None:
    """Pack what stands in a table of the older shape; one of today's shape is left as it is.

    The two have the same place among the migrations, so the table itself must tell.
    """
    columns = [row[1] for row in connection.execute("PRAGMA table_info(calls)")]
    if "id" not in columns:
        return
    connection.execute("ALTER TABLE calls RENAME TO calls_unpacked")
    connection.execute(
        "CREATE TABLE calls (first INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
        " since REAL NOT NULL, until REAL NOT NULL, epoch REAL NOT NULL, rows BLOB NOT NULL,"
        " bodies BLOB)"
    )
    sql = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.executemany(sql, map(_packed, _runs(connection)))
    connection.execute("DROP TABLE calls_unpacked")


def _runs(connection: sqlite3.Connection) -> Iterator[list[tuple[Any, ...]]]:
    """The calls in runs of ids without a gap, for a row says only where its ids begin."""
    sql = f"SELECT {_COLUMNS}, arguments, result FROM calls_unpacked ORDER BY id"  # noqa: S608
    run: list[tuple[Any, ...]] = []
    for row in connection.execute(sql):
        if run and (len(run) == BATCH or row[0] != run[-1][0] + 1):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _packed(run: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    times = [row[1] for row in run]
    epoch = times[0]
    calls, bodies = [], []
    for place, row in enumerate(run):
        _, at, agent, server, tool, ms, asked, answered, outcome, error, arguments, result = row
        began = at - epoch
        call = (agent, server, tool, began, began + ms / 1000, asked, answered, outcome, error)
        calls.append(call[:PLAIN] if outcome == "ok" else (*call[:-1], error or ""))
        if arguments is not None or result is not None:
            bodies.append((place, arguments or b"null", result or b"null"))
    kept = pack(bodies) if bodies else None
    return (run[0][0], len(run), min(times), max(times), epoch, pack(calls), kept)


def add_callers(connection: sqlite3.Connection) -> None:
    """Make room for who made each call, which was not written down before."""
    rows = connection.execute("SELECT first, rows FROM calls").fetchall()
    connection.executemany("UPDATE calls SET rows = ? WHERE first = ?", map(_with_callers, rows))


def _with_callers(row: tuple[int, bytes]) -> tuple[bytes, int]:
    first, packed = row
    calls = msgspec.msgpack.decode(packed, type=list[list[Any]])
    return pack([_with_caller(call) for call in calls]), first


def _with_caller(call: list[Any]) -> list[Any]:
    """A call with an empty caller; two more values tell of one that did not end well."""
    return [*call[:PLAIN], "", *call[PLAIN:]] if len(call) in (PLAIN, PLAIN + 2) else call
