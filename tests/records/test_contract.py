"""All engines keep the same promises: read, write, delete, conflict, problem and follow."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

import toolyard
from tests.fixtures.following import following
from tests.fixtures.postgres import SharedYard
from tests.records.notes import FILE_ENGINES, A, B, Note, NoteCodec
from toolyard.core.errors import ConfigError, ConflictError
from toolyard.records.database import Database
from toolyard.records.follow import Follower
from toolyard.records.postgres.listening import SharedListener
from toolyard.records.postgres.records import PostgresRecords
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.protocol import ABSENT, Records, amend
from toolyard.records.schema import MIGRATIONS

Opened = Callable[[Follower | None], Records[Note]]
YARD = "yard.json"


def open_shared(path: Path, follows: bool, stack: ExitStack) -> SharedDatabase:
    """Open the yard that a test noted down for every process of it."""
    database = SharedDatabase(*json.loads((path / YARD).read_text()), follows=follows)
    stack.callback(database.close)
    return database


def open_postgres(path: Path, follower: Follower | None, stack: ExitStack) -> Records[Note]:
    database = open_shared(path, follower is not None, stack)
    return PostgresRecords(database, NoteCodec(), ("note", "another"))


ENGINES = {**FILE_ENGINES, "postgres": open_postgres}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        yard: SharedYard = request.getfixturevalue("shared_yard")
        (tmp_path / YARD).write_text(json.dumps([yard.address, yard.schema]))
    return str(request.param)


@pytest.fixture
def opened(engine: str, tmp_path: Path) -> Iterator[Opened]:
    """Opens the same place again and again, as several programs would."""
    with ExitStack() as stack:

        def again(follower: Follower | None) -> Records[Note]:
            return ENGINES[engine](tmp_path, follower, stack)

        yield again


@asynccontextmanager
async def listening(records: Records[Note]) -> AsyncIterator[None]:
    """Listen to a database, where records are in one, until the block ends."""
    if not isinstance(records, PostgresRecords):
        yield
        return
    async with asyncio.TaskGroup() as group:
        listener = SharedListener(records._database, poll_seconds=3600)
        task = group.create_task(listener.run(lambda _: None))
        try:
            yield
        finally:
            task.cancel()


def write_elsewhere(engine: str, path: Path, key: str, text: str) -> None:
    """Write a record from another process."""
    code = (
        "import sys; from contextlib import ExitStack; from pathlib import Path\n"
        "from tests.records.test_contract import ENGINES, Note\n"
        "engine, path, key, text = sys.argv[1:]\n"
        "with ExitStack() as stack:\n"
        "    ENGINES[engine](Path(path), None, stack).write(key, Note(text))\n"
    )
    source = Path(toolyard.__file__).parents[1]
    env = {"PYTHONPATH": f"{source}:{source.parent}", "PATH": ""}
    argv = [sys.executable, "-c", code, engine, str(path), key, text]
    subprocess.run(argv, env=env, check=True, timeout=60)


def damage(engine: str, path: Path, key: str) -> None:
    """Leave a record that cannot be used, as a person or another version might."""
    if engine == "folder":
        (path / "notes" / f"{key}.json").write_text("{}")
    elif engine == "document":
        file = path / "notes.json"
        file.write_text(file.read_text().replace('"text"', '"words"'))
    elif engine == "postgres":
        with ExitStack() as stack, open_shared(path, False, stack).order() as order:
            order.put("note", "a", "{}")
    else:
        database = Database(path / "notes.db", MIGRATIONS)
        database.write("UPDATE roster SET value = '{', version = 99 WHERE key = 'a'")
        database.write("UPDATE roster_revision SET revision = 99")
        database.close()


def test_nothing_is_there_at_first(opened: Opened) -> None:
    kept = opened(None).read()
    assert (kept.values, kept.problems, kept.version(A)) == ({}, (), ABSENT)


def test_what_is_written_is_read_and_what_is_deleted_is_gone(opened: Opened) -> None:
    records = opened(None)
    first = records.write(A, Note("one", ("x", "y")))
    records.write(B, Note("two"))
    kept = opened(None).read()
    assert kept.values == {A: Note("one", ("x", "y")), B: Note("two")}
    assert kept.version(A) == first != ABSENT
    second = records.write(A, Note("three"), by="somebody")
    assert second != first
    assert records.write(B, None) == ABSENT
    kept = opened(None).read()
    assert kept.values == {A: Note("three")} and kept.version(A) == second
    assert records.write(B, None) == ABSENT, "what is not there may be deleted"


def test_a_revision_is_another_after_every_change_alone(opened: Opened) -> None:
    records, other = opened(None), opened(None)
    before = other.read().revision
    assert other.read().revision == before
    records.write(A, Note("one"))
    after = other.read().revision
    assert after != before and other.read().revision == after


def test_a_writer_who_saw_an_older_version_is_told(opened: Opened) -> None:
    records, other = opened(None), opened(None)
    first = records.write(A, Note("one"), expect=ABSENT)
    with pytest.raises(ConflictError):
        other.write(A, Note("two"), expect=ABSENT)
    second = other.write(A, Note("two"), expect=first)
    with pytest.raises(ConflictError):
        records.write(A, None, expect=first)
    assert records.read().values == {A: Note("two")}
    assert records.write(A, None, expect=second) == ABSENT


def test_a_bad_record_is_a_problem_that_costs_it_alone(
    engine: str, opened: Opened, tmp_path: Path
) -> None:
    records = opened(None)
    records.write(A, Note("one"))
    damage(engine, tmp_path, A)
    records.write(B, Note("two"))
    kept = opened(None).read()
    assert kept.values == {B: Note("two")} and kept.failure is None
    ((problem, version),) = kept.troubles.values()
    assert problem.text.startswith(f"{A}: ") and version == kept.version(A) != ABSENT
    records.write(A, Note("mended"), expect=version)
    assert opened(None).read().problems == ()


def test_what_could_not_be_read_again_is_not_written(opened: Opened) -> None:
    records = opened(None)
    with pytest.raises(ConfigError, match="no text"):
        records.write(A, Note(7))  # type: ignore[arg-type]
    assert records.read().values == {}


def test_of_several_writers_at_once_nothing_is_lost(opened: Opened) -> None:
    keys = [f"note {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: opened(None).write(key, Note(key)), keys))
    assert opened(None).read().values == {key: Note(key) for key in keys}


def test_of_several_who_amend_one_record_every_word_counts(opened: Opened) -> None:
    def add(number: int) -> None:
        def joined(before: Note | None) -> Note:
            return Note("all", (*(before.tags if before else ()), str(number)))

        amend(opened(None), A, joined)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    assert sorted(map(int, opened(None).read().values[A].tags)) == list(range(12))


async def test_whoever_waits_is_woken_by_a_write_of_this_process(opened: Opened) -> None:
    records = opened(None)  # nobody watches the files: the writer tells
    before = records.read().revision
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waits = [group.create_task(records.changed(before)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(records.write, A, Note("one"))
        await asyncio.gather(*waits)
    assert records.read().revision != before


@pytest.mark.slow
async def test_whoever_waits_is_woken_by_a_write_of_another_process(
    engine: str, opened: Opened, tmp_path: Path
) -> None:
    follower = Follower(look_seconds=3600)  # the watch alone has to tell
    records = opened(follower)
    async with asyncio.timeout(60), following(follower), listening(records):
        for text in ("one", "two"):
            before = records.read().revision
            async with asyncio.TaskGroup() as group:
                group.create_task(records.changed(before))
                await asyncio.to_thread(write_elsewhere, engine, tmp_path, A, text)
            assert records.read().values == {A: Note(text)}
