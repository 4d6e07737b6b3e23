"""Results of tests: kept for the files that were tested, and for no others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.proof_results import Phase, Run, keep, kept_results, merged, tree
from tests.house.tree import ROOT

Checkout = Callable[..., dict[str, str]]
CONFTEST = """
from pathlib import Path
from scripts.proof_results import keep_results

def pytest_configure(config):
    keep_results(config, Path(__file__).parent)
"""
TESTS = """
import pytest
from pathlib import Path

def test_good(record_property):
    record_property("figure", "7 of 7")

def test_bad():
    assert False

def test_elsewhere():
    pytest.skip("no rain today")

def test_that_changes_a_file():
    Path(__file__).with_name("note.txt").write_text("changed")
"""
PLAIN = "not that_changes"


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with tests of its own."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "note.txt").write_text("first")
    (tmp_path / ".gitignore").write_text(".cache/\n__pycache__/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def run_tests(root: Path, choice: str) -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-k", choice]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["PYTHONPATH"] = str(ROOT)
    subprocess.run([sys.executable, *words], cwd=root, env=env, capture_output=True, timeout=60)


def outcomes(root: Path) -> dict[str, str]:
    return {test.partition("::")[2]: end.outcome for test, end in kept_results(root).items()}


def test_results_count_for_the_files_that_were_tested_alone(root: Path) -> None:
    run_tests(root, PLAIN)
    shown = {"test_good": "passed", "test_bad": "failed", "test_elsewhere": "skipped"}
    assert outcomes(root) == shown
    results = kept_results(root)
    assert results["test_some.py::test_good"].figures == ["7 of 7"]
    assert results["test_some.py::test_elsewhere"].reason == "Skipped: no rain today"

    (root / "note.txt").write_text("second")
    assert outcomes(root) == {}
    (root / "note.txt").write_text("first")
    assert outcomes(root) == shown
    (root / "new.txt").touch()
    assert outcomes(root) == {}
    (root / "new.txt").unlink()
    git(root, "commit", "-q", "--allow-empty", "-m", "another commit of the same files")
    assert outcomes(root) == shown
    (root / "note.txt").chmod(0o755)
    assert outcomes(root) == {}


def test_results_of_files_that_changed_meanwhile_are_not_kept(root: Path) -> None:
    run_tests(root, "that_changes")
    assert (root / "note.txt").read_text() == "changed"
    assert outcomes(root) == {}

    run_tests(root, "that_changes")  # it changes nothing any more
    assert outcomes(root) == {"test_that_changes_a_file": "passed"}


def test_a_failure_counts_whatever_came_after(root: Path) -> None:
    for outcome in ("failed", "passed"):
        keep(root, Run(tree(root), [phase("test_a", "call", outcome)]))
    for outcome in ("passed", "skipped"):
        phases = [phase("test_b", "call", outcome), phase("test_b", "teardown", "passed")]
        keep(root, Run(tree(root), phases))

    assert {name: end.outcome for name, end in kept_results(root).items()} == {
        "test_a": "failed",
        "test_b": "passed",
    }


def test_a_test_that_was_broken_off_has_not_ended() -> None:
    phases = [phase("test_a", "setup", "passed"), phase("test_a", "call", "passed")]

    assert list(merged(phases)) == []
    assert len(list(merged([*phases, phase("test_a", "teardown", "passed")]))) == 1


def test_without_git_nothing_is_kept(tmp_path: Path) -> None:
    assert tree(tmp_path) == ""
    keep(tmp_path, Run("", [phase("test_a", "call", "failed")]))
    assert kept_results(tmp_path) == {}


def phase(test: str, name: str, outcome: str) -> Phase:
    return Phase(test, name, outcome, 0.5, [])
