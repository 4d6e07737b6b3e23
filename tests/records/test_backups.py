from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from toolyard.records.backups import Backups


def count(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (number,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(number)


@pytest.mark.parametrize(("largest", "calls"), [(1 << 30, 1), (0, 0)])
def test_a_copy_of_a_large_database_has_all_but_its_calls(
    largest: int, calls: int, tmp_path: Path
) -> None:
    backups, database = Backups(tmp_path, largest), tmp_path / "toolyard.db"
    backups.accept()
    with closing(sqlite3.connect(database)) as connection, connection:
        columns = "at, agent, caller, server, tool, ms, asked, answered, outcome, error"
        values = "0.0, '', '', 'files', 'read', 1.0, 2, 2, 'ok', ''"
        connection.execute(f"INSERT INTO call_log ({columns}) VALUES ({values})")

    backups.make()

    (copy,) = backups.list()
    assert (count(database, "call_log"), count(copy, "call_log")) == (1, calls)
    assert count(copy, "identity") == 1
