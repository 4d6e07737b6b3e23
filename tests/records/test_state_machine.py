"""Whatever is written, read and deleted in any order: two who have one place open see the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.records.notes import FILE_ENGINES, Note
from toolyard.core.errors import ConflictError
from toolyard.records.follow import Follower
from toolyard.records.protocol import ABSENT, Records

KEYS = st.sampled_from(["note a", "note b", "note c"])
NOTES = st.builds(Note, st.text(max_size=8), st.lists(st.text("xy", max_size=2)).map(tuple))
WHO = st.sampled_from([0, 1])
FEW = settings(max_examples=25, stateful_step_count=25)
Engine = Callable[[Path, Follower | None, ExitStack], Records[Note]]


class Notes(RuleBasedStateMachine):
    """Two programs with one place, beside a dictionary that says how it must be."""

    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.place = Path(tempfile.mkdtemp(prefix="ty-"))
        self.stack.callback(shutil.rmtree, self.place)
        self.model: dict[str, Note] = {}
        self.revisions: tuple[dict[int, dict[str, Note]], ...] = ({}, {})
        """By who reads: each counts for itself where files are kept."""

    @initialize()
    def open(self) -> None:
        self.both = [type(self).engine(self.place, None, self.stack) for _ in range(2)]

    @rule(who=WHO, key=KEYS, note=st.none() | NOTES, is_sure=st.booleans())
    def write(self, who: int, key: str, note: Note | None, is_sure: bool) -> None:
        version = self.both[who].read().version(key)
        assert (version != ABSENT) == (key in self.model)
        written = self.both[who].write(key, note, expect=version if is_sure else None)
        assert (written == ABSENT) == (note is None)
        self.model.pop(key, None)
        if note is not None:
            self.model[key] = note

    @rule(who=WHO, key=KEYS, note=st.none() | NOTES, by=st.integers(1, 5))
    def write_too_late(self, who: int, key: str, note: Note | None, by: int) -> None:
        version = self.both[who].read().version(key)
        with pytest.raises(ConflictError):
            self.both[1 - who].write(key, note, expect=version + by)

    @rule(who=WHO)
    def open_again(self, who: int) -> None:
        self.both[who] = type(self).engine(self.place, None, self.stack)
        self.revisions[who].clear()

    @invariant()
    def both_read_what_was_written(self) -> None:
        one, other = (records.read() for records in self.both)
        assert one.values == other.values == self.model
        assert one.versions == other.versions and not one.problems

    @invariant()
    def one_revision_stands_for_one_state(self) -> None:
        for records, states in zip(self.both, self.revisions, strict=True):
            revision = records.revision()
            assert revision == records.read().revision
            assert states.setdefault(revision, dict(self.model)) == self.model

    def teardown(self) -> None:
        self.stack.close()


@pytest.mark.parametrize("name", FILE_ENGINES)
def test_any_order_of_writes_is_kept_as_it_was(name: str) -> None:
    machine = type("Notes", (Notes,), {"engine": staticmethod(FILE_ENGINES[name])})
    run_state_machine_as_test(machine, settings=FEW)


class Forgetful:
    """Loses every third write; the control."""

    def __init__(self, records: Records[Note]) -> None:
        self.records = records
        self.count = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.records, name)

    def write(self, key: str, value: Note | None, *, expect: int | None = None) -> int:
        self.count += 1
        if self.count % 3 == 0:
            return ABSENT if value is None else 1
        return self.records.write(key, value, expect=expect)


def test_an_engine_that_loses_a_write_is_found() -> None:
    def engine(path: Path, follower: Follower | None, stack: ExitStack) -> object:
        return Forgetful(FILE_ENGINES["sqlite"](path, follower, stack))

    machine = type("Notes", (Notes,), {"engine": staticmethod(engine)})
    one = settings(FEW, print_blob=False, report_multiple_bugs=False)
    with pytest.raises((AssertionError, ConflictError, pytest.fail.Exception)):
        run_state_machine_as_test(machine, settings=one)
