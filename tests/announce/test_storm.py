from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stress import announce_storm

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a storm needs fork and kill -9")


@pytest.fixture
def folder() -> Iterator[Path]:
    with announce_storm.memory() as folder:
        yield folder


def test_a_storm_of_processes_and_kills_loses_nothing_and_tears_nothing(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    outcome = announce_storm.storm(folder, processes=16, changes=4000, kills=40, limit=60)

    record_property("figure", str(outcome))
    assert outcome.changes >= 1000
    assert outcome.kills >= 10
    assert outcome.amid > 0, "some must die while they write"
    assert outcome.reads > 0
    assert (outcome.lost, outcome.unreadable, outcome.refused) == (0, 0, 0), outcome
    assert outcome.left == 0, "the next writer removes what killed ones left"


def test_without_the_lock_the_same_storm_loses_entries(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    with announce_storm.without_lock():
        outcome = announce_storm.storm(folder, processes=16, changes=2500, kills=0, limit=20)

    record_property("figure", f"without the lock: {outcome.lost} of {outcome.changes} lost")
    assert outcome.lost > 0, "a test that cannot fail proves nothing"
    assert outcome.unreadable == 0, "even then every file is whole"
