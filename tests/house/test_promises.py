"""The table of promises: no row is missing, and what shows a promise is there."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.promises import FIGURES, Promise, promises_part, read_figures, read_table
from scripts.proof import judged, listed
from scripts.proof_results import Ended, kept_results
from tests.house.tree import ROOT, nodes

COUNTS = {"A": 14, "B": 15, "C": 11, "D": 29, "F": 32}
"""The threats and faults that we look at, by the letter of their group."""
TABLE = read_table()
PROMISE = Promise("D14", "It holds.", ("tests/a.py::test_one", "tests/b.py"))


def names_a_test(name: str) -> bool:
    """Tell whether a file, or a test in it, is there."""
    file, _, test = name.partition("::")
    path = ROOT / file
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return path.is_file() and (
        not test or any(isinstance(node, functions) and node.name == test for node in nodes(path))
    )


def ended(name: str, outcome: str = "passed", *figures: str, why: str = "no engine here") -> Ended:
    return Ended(name, outcome, 1.5, list(figures), why if outcome == "skipped" else "")


def test_every_threat_and_fault_has_a_promise_or_a_reason() -> None:
    wanted = [f"{letter}{n}" for letter, most in COUNTS.items() for n in range(1, most + 1)]
    answered = [promise.row for promise in TABLE.promise] + [gap.row for gap in TABLE.uncovered]

    assert list(TABLE.rows) == wanted
    assert sorted(answered) == sorted(wanted)
    assert len(set(TABLE.rows.values())) == len(wanted)


def test_whatever_shows_a_promise_is_there() -> None:
    named = [name for promise in TABLE.promise for name in promise.shown_by(is_short=False)]
    scripts = [script for promise in TABLE.promise for script in promise.scripts]

    assert all(promise.tests for promise in TABLE.promise)
    assert [name for name in named if not names_a_test(name)] == []
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
    assert not names_a_test("tests/house/test_promises.py::test_that_is_not_there")


def test_sentences_are_sentences() -> None:
    texts = [text for promise in TABLE.promise for text in (promise.says, promise.open) if text]
    texts += [gap.reason for gap in TABLE.uncovered]

    assert [text for text in texts if not text.endswith(".") or "|" in text] == []


def test_every_promise_has_a_figure_that_held() -> None:
    figures = read_figures()

    assert list(figures.rows) == [promise.row for promise in TABLE.promise]
    assert [row for row, figure in figures.rows.items() if figure.state != "held"] == []
    assert FIGURES.read_text("utf-8").endswith("}\n")


def test_the_page_states_every_row() -> None:
    part = promises_part(TABLE, read_figures())

    assert [row for row in TABLE.rows if f"| {row} |" not in part] == []
    assert [gap.reason for gap in TABLE.uncovered if gap.reason not in part] == []


@pytest.mark.parametrize(
    ("tests", "state", "figure"),
    [
        (
            [ended("tests/a.py::test_one[x]", "passed", "7 kills"), ended("tests/b.py::test_two")],
            "held",
            "7 kills; 2 tests passed",
        ),
        (
            [ended("tests/a.py::test_one"), ended("tests/b.py::test_two", "skipped")],
            "held",
            "1 test passed; 1 skipped",
        ),
        (
            [ended("tests/a.py::test_one"), ended("tests/b.py::test_two", "skipped", why="rain")],
            "broken",
            "tests/b.py::test_two was skipped: rain",
        ),
        (
            [ended("tests/a.py::test_one"), ended("tests/b.py::test_two", "missing")],
            "broken",
            "tests/b.py::test_two: no result",
        ),
        (
            [ended("tests/a.py::test_one", "skipped"), ended("tests/b.py::test_two", "skipped")],
            "not shown",
            "no engine here",
        ),
        (
            [ended("tests/a.py::test_one", "failed"), ended("tests/b.py::test_two")],
            "broken",
            "tests/a.py::test_one failed",
        ),
        (
            [ended("tests/a.py::test_one_more"), ended("tests/b.py::test_two")],
            "broken",
            "tests/a.py::test_one: no result",
        ),
    ],
)
def test_a_promise_is_judged_by_all_its_tests(tests: list[Ended], state: str, figure: str) -> None:
    row = judged(PROMISE, "A message without end", tests, True, {"no engine here"})

    assert (row.state, row.figure) == (state, figure)


def test_a_test_of_the_long_form_is_skipped_for_whatever_it_lacks() -> None:
    promise = Promise("D14", "It holds.", ("tests/a.py",), long=("tests/b.py",))
    tests = [ended("tests/a.py::test_one"), ended("tests/b.py::test_two", "skipped")]

    assert judged(promise, "A message", tests, False).state == "held"
    assert judged(promise, "A message", tests[1:], False).state == "broken"


@pytest.mark.slow
def test_a_run_leaves_a_dated_report_for_people_and_programs(tmp_path: Path) -> None:
    words = ["scripts/proof.py", "--short", "C6", "-n", "0", "--reports", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=600
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert kept_results(ROOT).keys() >= set(listed(TABLE.chosen(["C6"])[0].tests))
    report = json.loads(next(tmp_path.glob("*.json")).read_bytes())
    (row,) = report["rows"]
    page = next(tmp_path.glob("*.md")).read_text()
    assert (row["row"], row["state"], row["figure"]) == ("C6", "held", "2 tests passed")
    assert report["commit"] and report["machine"]["cores"] and report["form"] == "short"
    assert f"# Proof of {report['date']}" in page and "| C6 |" in page


def test_an_unknown_row_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, "scripts/proof.py", "Z9", "--reports", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600)

    assert done.returncode == 1 and "no promise is called Z9" in done.stderr
