"""The database is opened by several at once, and brought up to date by one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = 10
PROCESSES = 6
OPENER = """
import sys
from pathlib import Path
from toolyard.records.database import Database
from toolyard.records.schema import MIGRATIONS

print("here", flush=True)
for line in sys.stdin:
    try:
        database = Database(Path(line.strip()), MIGRATIONS)
        print(database.read("PRAGMA user_version")[0][0] == len(MIGRATIONS), flush=True)
        database.close()
    except Exception as error:
        print(error, flush=True)
"""


@pytest.mark.slow
def test_processes_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    openers = [_opener() for _ in range(PROCESSES)]
    try:
        assert {_read(opener) for opener in openers} == {"here"}
        for number in range(ROUNDS):
            for opener in openers:
                assert opener.stdin is not None
                opener.stdin.write(f"{tmp_path / f'{number}.db'}\n")
                opener.stdin.flush()
            assert {_read(opener) for opener in openers} == {"True"}
    finally:
        for opener in openers:
            opener.communicate(timeout=60)


def _opener() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", OPENER], stdin=pipe, stdout=pipe, text=True)


def _read(opener: subprocess.Popen[str]) -> str:
    assert opener.stdout is not None
    return opener.stdout.readline().strip()
