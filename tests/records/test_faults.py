"""A fault at every system call of every kind of write: the old or the new is there, whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.records import one_write
from tests.records.one_write import MARK, NEW, OLD, WRITTEN

STRACE = shutil.which("strace")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(STRACE is None, reason="strace is not installed"),
]

CALL = re.compile(r"^(\d+) +(\w+)\(")
ERRORS = {
    "openat": "ENOSPC",
    "flock": "ENOLCK",
    "fchmod": "EROFS",
    "write": "ENOSPC",
    "pwrite64": "ENOSPC",
    "fsync": "EIO",
    "fdatasync": "EIO",
    "rename": "EROFS",
}
"""The calls that a write is made of, and what a disk may say to each."""
NEXT = "next"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a writer was told and what it left, with a fault at one call."""

    call: str
    told: str
    """Empty if it could say nothing any more."""
    text: str
    left: int

    @property
    def is_torn(self) -> bool:
        return self.text not in (OLD, NEW)


def prepare(kind: str, folder: Path) -> None:
    folder.mkdir()
    with ExitStack() as stack:
        assert one_write.opened(kind, folder, stack)(OLD) == ""


def traced(kind: str, folder: Path, *options: str) -> tuple[str, str]:
    """Run one write; return what it printed, and the trace."""
    assert STRACE is not None
    log = folder.with_suffix(".trace")
    program = [sys.executable, "-B", one_write.__file__, kind, str(folder)]
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [STRACE, "-f", "-qq", "-o", str(log), *options, *program],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, log.read_text()


def points(trace: str) -> list[tuple[str, int]]:
    """Every call between the marks, by its name and the number of its occurrence in the child."""
    writer = next(
        match[1] for line in trace.splitlines() if MARK in line if (match := CALL.match(line))
    )
    calls: Counter[str] = Counter()
    listed, inside = [], False
    for line in trace.splitlines():
        match = CALL.match(line)
        if match is None or match[1] != writer:
            continue
        name = match[2]
        calls[name] += 1
        if MARK in line:
            inside = not inside
        elif inside and name in ERRORS:
            listed.append((name, calls[name]))
    return listed


def whole_or_nothing(text: Callable[[], str]) -> str:
    """What a reader finds, also if that is no record at all."""
    try:
        return text()
    except (KeyError, ValueError):
        return ""


def sweep(kind: str, folder: Path, fault: Callable[[str], str]) -> list[Outcome]:
    """Write with a fault at outcome call in turn."""
    prepare(kind, folder / "whole")
    told, trace = traced(kind, folder / "whole")
    if not trace:
        pytest.skip("strace may not trace here")
    assert told == WRITTEN and one_write.read(kind, folder / "whole") == NEW

    def strike(point: tuple[str, int]) -> Outcome:
        name, occurrence = point
        place = folder / f"{name}-{occurrence}"
        prepare(kind, place)
        inject = f"inject={name}:{fault(name)}:when={occurrence}"
        told, _ = traced(kind, place, "-e", f"trace={name}", "-e", inject)
        text = whole_or_nothing(lambda: one_write.read(kind, place))
        return Outcome(name, told, text, len([*place.rglob("*.tmp"), *place.rglob(".*.tmp")]))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(strike, points(trace)))


def is_served_again(kind: str, folder: Path) -> bool:
    """Tell whether the next writer is not held up by what the last one met."""
    with ExitStack() as stack:
        refusal = one_write.opened(kind, folder, stack)(NEXT)
    return not refusal and one_write.read(kind, folder) == NEXT


def error(name: str) -> str:
    return f"error={ERRORS[name]}"


def kill(name: str) -> str:
    return "signal=KILL"


KINDS = ["folder", "document", "sqlite", "announce"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_at_any_call_leaves_the_old_or_the_new_and_is_told(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    outcomes = sweep(kind, tmp_path, error)
    refused = [outcome for outcome in outcomes if outcome.told not in ("", WRITTEN)]

    record_property("figure", f"{kind}: {len(outcomes)} errors, {len(refused)} told, 0 torn")
    assert {"write", "pwrite64"} & {outcome.call for outcome in refused}
    assert {"fsync", "fdatasync"} & {outcome.call for outcome in refused}
    assert [outcome for outcome in outcomes if outcome.is_torn or outcome.left] == []
    assert [outcome for outcome in outcomes if not outcome.told] == []
    assert [
        outcome for outcome in outcomes if outcome.told == WRITTEN and outcome.text != NEW
    ] == []
    places = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert [path.name for path in places if not is_served_again(kind, path)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_call_leaves_the_old_or_the_new(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    outcomes = sweep(kind, tmp_path, kill)
    new = sum(outcome.text == NEW for outcome in outcomes)

    record_property("figure", f"{kind}: {len(outcomes)} kills, {new} with the new, 0 torn")
    assert outcomes and [outcome for outcome in outcomes if outcome.is_torn or outcome.told] == []
    places = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert [path.name for path in places if not is_served_again(kind, path)] == []


@pytest.mark.parametrize("fault", [error, kill])
def test_a_file_that_is_written_in_place_is_torn_by_the_same_sweep(
    fault: Callable[[str], str], tmp_path: Path
) -> None:
    assert any(outcome.is_torn for outcome in sweep("in-place", tmp_path, fault))
