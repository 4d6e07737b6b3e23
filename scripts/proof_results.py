"""Keeps how each test ended, for `scripts/proof.py`: `tests/conftest.py` hands every run to it.

A test states its figure with the fixture `record_property("figure", "...")`. Results belong to the
files that were tested. They are kept if no file changed meanwhile, and count for no other files.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[1]
PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"
WORST_LAST = (PASSED, SKIPPED, FAILED)


class Phase(msgspec.Struct, frozen=True):
    """The end of one phase of one test."""

    test: str
    phase: str
    outcome: str
    seconds: float
    figures: list[str]
    reason: str = ""


class Run(msgspec.Struct, frozen=True):
    """All that one run of pytest showed."""

    tree: str
    phases: list[Phase]


class Ended(msgspec.Struct, frozen=True):
    """The end of one test with all its phases, or of one script."""

    name: str
    outcome: str
    seconds: float
    figures: list[str]
    reason: str = ""


def folder(root: Path) -> Path:
    """The place of the results."""
    return root / ".cache" / "proof" / "results"


def tree(root: Path) -> str:
    """Name the files of a checkout as they are now, and this Python; empty where there is no git.

    It is the tree of the commit, and a hash over every file that differs from it.
    """
    try:
        committed = _git(root, "rev-parse", "HEAD^{tree}").decode().strip()
        words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        changed = sorted(entry[3:] for entry in _git(root, *words).split(b"\0") if entry)
    except (OSError, subprocess.CalledProcessError):
        return ""
    parts = hashlib.sha256(sys.version.encode())
    for name in changed:
        parts.update(hashlib.sha256(name).digest() + _content(root / os.fsdecode(name)))
    return f"{committed}-{parts.hexdigest()}"


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return hashlib.sha256(os.fsencode(os.readlink(path))).digest()
    if not path.is_file():
        return b"gone"
    return hashlib.sha256(path.read_bytes()).digest() + bytes([path.stat().st_mode >> 6 & 1])


def _git(root: Path, *words: str) -> bytes:
    command = ["git", "--no-optional-locks", *words]
    return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout


class ResultKeeper:
    """A plugin of pytest that keeps the results of a run."""

    def __init__(self, root: Path, out: Path | None = None) -> None:
        """Keep them for later, and write them to a file."""
        self.root = root
        self.out = out
        self.tree = tree(root)
        self.phases: list[Phase] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a phase."""
        figures = [str(value) for name, value in report.user_properties if name == "figure"]
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
        end = (str(report.when), report.outcome, report.duration)
        self.phases.append(Phase(report.nodeid, *end, figures, reason))

    def pytest_sessionfinish(self) -> None:
        """Write down what was shown; keep it, unless it was shown of two states of the files."""
        if self.out:
            self.out.write_bytes(msgspec.json.encode(Run(self.tree, self.phases)))
        if self.phases and self.tree and self.tree == tree(self.root):
            keep(self.root, Run(self.tree, self.phases))


def keep_results(config: pytest.Config, root: Path = ROOT) -> None:
    """Keep the results of this run; with xdist, the process that collects them does."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        config.pluginmanager.register(ResultKeeper(root, config.getoption("proof_results", None)))


def keep(root: Path, run: Run) -> None:
    """Write a run down, and remove those of other files."""
    place = folder(root)
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.json"):
        if not path.name.startswith(_mark(run.tree)):
            path.unlink(missing_ok=True)
    written = place / f"{os.getpid()}.tmp"
    written.write_bytes(msgspec.json.encode(run))
    written.replace(place / f"{_mark(run.tree)}-{os.urandom(8).hex()}.json")


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def kept_results(root: Path) -> dict[str, Ended]:
    """Return how every test of these very files has ended: failed, if it did so in any run."""
    now = tree(root)
    runs = [msgspec.json.decode(p.read_bytes(), type=Run) for p in folder(root).glob("*.json")]
    ended: dict[str, Ended] = {}
    for run in runs:
        if now and run.tree == now:
            for test in merged(run.phases):
                ended[test.name] = _weightier(ended.get(test.name, test), test)
    return ended


def _weightier(one: Ended, other: Ended) -> Ended:
    """Choose between two runs: a failure counts whatever came after, a pass counts over a skip."""
    return max(one, other, key=lambda test: (SKIPPED, PASSED, FAILED).index(test.outcome))


def merged(phases: Iterable[Phase]) -> Iterator[Ended]:
    """Join the phases of each test: the worst decides. One that was broken off did not end."""
    ended: dict[str, Ended] = {}
    whole = set()
    for phase in phases:
        before = ended.get(phase.test, Ended(phase.test, PASSED, 0.0, []))
        ended[phase.test] = Ended(
            phase.test,
            max(before.outcome, phase.outcome, key=WORST_LAST.index),
            before.seconds + phase.seconds,
            phase.figures or before.figures,
            phase.reason or before.reason,
        )
        if phase.phase == "teardown" or phase.outcome == FAILED:
            whole.add(phase.test)
    return (test for test in ended.values() if test.name in whole)
