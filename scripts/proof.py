"""Runs the tests behind our promises, and reports which of them held, with their figures.

    python scripts/proof.py                 all of them, at full size
    python scripts/proof.py --short         those that take minutes, as far as no run has shown them
    python scripts/proof.py --short --again those that take minutes, whatever was shown before
    python scripts/proof.py D14 F1          those of some rows
    python scripts/proof.py --record        also keep the figures, for docs/explanation/promises.md

The table is `promises.toml`. Each run leaves a dated report in Markdown and in JSON in
`.cache/proof/`. It ends with 1 if a promise was broken: a test of it failed, gave no result, or was
skipped though the table does not allow that. One whose tests were all skipped is not shown here,
and named.

`make test` leaves its results where the short form finds them. They count for the very files that
were tested: if a file has changed since, in whatever way, its tests run again.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.promises import (
    FIGURES,
    HELD,
    ROOT,
    Figure,
    Figures,
    Promise,
    read_figures,
    read_table,
    write_figures,
)
from scripts.proof_results import FAILED, PASSED, SKIPPED, Ended, Run, kept_results, merged

REPORTS = ROOT / ".cache" / "proof"
BROKEN, ABSENT = "broken", "not shown"
MISSING = "missing"
PAGE = "tests/ui/"
"""Tests that cannot even be collected without a browser."""
LONGEST = 300
"""Characters of a figure; a report is read by people."""


class Machine(Struct, frozen=True):
    """All that a reader must know to compare figures."""

    system: str
    python: str
    cores: int
    memory_mib: int
    load_before: float
    load_after: float

    def __str__(self) -> str:
        load = f"load {self.load_before:.1f} before and {self.load_after:.1f} after"
        size = f"{self.cores} cores, {self.memory_mib} MiB"
        return f"{self.system}, {size}, Python {self.python}, {load}"


class Row(Struct, frozen=True):
    """The outcome of one promise."""

    row: str
    threat: str
    says: str
    state: str
    figure: str
    seconds: float


class Report(Struct, frozen=True):
    """The outcome of one run."""

    date: str
    commit: str
    form: str
    seconds: float
    machine: Machine
    rows: list[Row]


def pytest_of(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run pytest on tests of our own choice: the table names those that need an engine, too."""
    # Run from within a test, it is no worker of that run.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-m", "", *words]
    is_list = "--collect-only" in words
    return subprocess.run(command, cwd=ROOT, env=env, text=True, capture_output=is_list)


def listed(names: Sequence[str]) -> list[str]:
    """Return every single test of these files and functions.

    Raises:
        SystemExit: A file cannot be read.
    """
    done = pytest_of(["--collect-only", *names])
    if done.returncode:
        raise SystemExit(f"these tests cannot be listed:\n{done.stdout[-4000:]}{done.stderr}")
    return [line for line in done.stdout.splitlines() if "::" in line]


def shown(tests: Sequence[str], processes: int, *, again: bool) -> tuple[list[Ended], int]:
    """Return how each test ended, and how many of them did so in an earlier run of these files.

    Raises:
        SystemExit: The tests cannot be listed.
    """
    wanted = listed(tests)
    results = {} if again else kept_results(ROOT)
    earlier = [test for test in wanted if test in results]
    # A function with all its cases: a case has no name that every shell and pytest reads alike.
    rest = unique([tuple(test.partition("[")[0] for test in wanted if test not in results)])
    if rest:
        results |= {test.name: test for test in run_tests(rest, processes)}
    return [results.get(test, Ended(test, MISSING, 0.0, [])) for test in wanted], len(earlier)


def run_tests(tests: Sequence[str], processes: int) -> list[Ended]:
    """Run these tests once, whatever number of promises they show."""
    spread = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    with tempfile.TemporaryDirectory(prefix="ty-proof-") as place:
        results = Path(place, "results.json")
        pytest_of([*spread, f"--proof-results={results}", *tests])
        run = msgspec.json.decode(results.read_bytes(), type=Run)
    return list(merged(run.phases))


def run_long(tests: Sequence[str], processes: int) -> list[Ended]:
    """Run the tests that need more than a machine: by themselves, lest they hold up the others."""
    has_browser = importlib.util.find_spec("playwright") is not None
    without = [test for test in tests if test.startswith(PAGE) and not has_browser]
    rest = [test for test in tests if test not in without]
    reason = "playwright is not installed; make test-ui installs it"
    skipped = [Ended(test, SKIPPED, 0.0, [], reason) for test in without]
    return skipped + (run_tests(rest, processes) if rest else [])


def unique(names: Iterable[tuple[str, ...]]) -> list[str]:
    """All names once, in their order."""
    return list(dict.fromkeys(name for group in names for name in group))


def run_script(script: str) -> Ended:
    """Run a program to its end; what it prints is its figure."""
    print(f"running {script} ...", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    outcome = "failed" if done.returncode else "passed"
    lines = [
        line.removeprefix("ok").strip() for line in done.stdout.splitlines() if line[:1] != " "
    ]
    return Ended(script, outcome, time.monotonic() - began, lines)


def judged(
    promise: Promise,
    threat: str,
    ended: Sequence[Ended],
    is_short: bool,
    may_skip: Collection[str] = (),
) -> Row:
    """Decide whether a promise held by how its tests and scripts ended.

    A test of the long form may be skipped for whatever it lacks, any other for what may be lacking.
    """
    named = (*promise.shown_by(is_short), *(() if is_short else promise.scripts))
    own = [test for test in ended if any(_is_of(test.name, name) for name in named)]
    missing = [name for name in named if not any(_is_of(test.name, name) for test in own)]
    missing += [test.name for test in own if test.outcome == MISSING]
    failed = [test.name for test in own if test.outcome == FAILED]
    skipped = [test for test in own if test.outcome == SKIPPED]
    passed = [test for test in own if test.outcome == PASSED]
    needed = [test for test in skipped if any(_is_of(test.name, name) for name in promise.tests)]
    unfit = [test for test in needed if test.reason.removeprefix("Skipped: ") not in may_skip]
    if failed or missing or unfit:
        state, figure = BROKEN, _faults(failed, missing, unfit)
    elif passed:
        state, figure = HELD, _figure(passed, len(skipped))
    else:
        state, figure = ABSENT, "; ".join(sorted({test.reason for test in own}))
    seconds = round(sum(test.seconds for test in own), 1)
    return Row(promise.row, threat, promise.says, state, figure[:LONGEST], seconds)


def _is_of(test: str, name: str) -> bool:
    return test == name or test.startswith((f"{name}::", f"{name}["))


def _faults(failed: list[str], missing: list[str], unfit: list[Ended]) -> str:
    return "; ".join(
        [
            *(f"{name} failed" for name in failed),
            *(f"{name}: no result" for name in missing),
            *(f"{test.name} was skipped: {test.reason}" for test in unfit),
        ]
    )


def _figure(passed: list[Ended], skipped: int) -> str:
    stated = [figure for test in passed for figure in test.figures]
    count = f"{len(passed)} {'test' if len(passed) == 1 else 'tests'} passed"
    return "; ".join([*stated, count, *([f"{skipped} skipped"] if skipped else [])])


def commit() -> str:
    """The commit that was measured, with a mark if something was changed since."""
    words = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "none"


def machine(load_before: float) -> Machine:
    """The machine as it is now."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
    system = f"{platform.system()} {platform.machine()}"
    load_after = round(os.getloadavg()[0], 1)
    cores = os.cpu_count() or 0
    return Machine(system, platform.python_version(), cores, memory, load_before, load_after)


def markdown(report: Report) -> str:
    """The report for people."""
    lines = [
        f"# Proof of {report.date}",
        "",
        f"Commit {report.commit}, {report.form} form, {report.seconds:.0f} s. {report.machine}.",
        "",
        "| Row | Threat or fault | Promise | State | Figure | Seconds |",
        "|---|---|---|---|---|---:|",
    ]
    for row in report.rows:
        cells = (row.row, row.threat, row.says, row.state, row.figure, f"{row.seconds:.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def keep(report: Report, folder: Path) -> Path:
    """Write the report in both forms; return the one for people."""
    folder.mkdir(parents=True, exist_ok=True)
    name = report.date.replace(":", "")
    (folder / f"{name}.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    )
    page = folder / f"{name}.md"
    page.write_text(markdown(report), "utf-8")
    return page


def record(report: Report) -> None:
    """Keep the figures of this run beside those of rows that it did not run."""
    day = report.date[:10]
    rows = read_figures().rows | {
        row.row: Figure(row.state, row.figure, row.seconds, day, report.commit, report.form)
        for row in report.rows
    }
    known = [promise.row for promise in read_table().promise]
    ordered = {name: rows[name] for name in known if name in rows}
    write_figures(Figures(str(report.machine), ordered))
    print(f"wrote {FIGURES.relative_to(ROOT)}; now run scripts/reference.py")


def prove(names: list[str], is_short: bool, processes: int, *, again: bool) -> Report:
    """Run what shows these promises, and judge each."""
    measured = commit()  # before: whoever works on meanwhile does not change what was measured
    table, load, began = read_table(), round(os.getloadavg()[0], 1), time.monotonic()
    chosen = table.chosen(names)
    tests = unique(promise.tests for promise in chosen)
    ended, earlier = shown(tests, processes, again=again or not is_short)
    print(
        f"{earlier} of {len(ended)} tests have ended in an earlier run of these files", flush=True
    )
    if not is_short:
        ended += run_long(unique(promise.long for promise in chosen), processes)
    scripts = [] if is_short else [script for promise in chosen for script in promise.scripts]
    ended += map(run_script, dict.fromkeys(scripts))
    rows = [
        judged(promise, table.rows[promise.row], ended, is_short, table.may_skip)
        for promise in chosen
    ]
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    form = "short" if is_short else "long"
    return Report(date, measured, form, time.monotonic() - began, machine(load), rows)


def main() -> int:
    """Prove what is asked for, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rows", nargs="*", help="rows of the table; all of them if none is named")
    parser.add_argument("--short", action="store_true", help="leave out what takes long")
    parser.add_argument("--again", action="store_true", help="run what was shown before, too")
    parser.add_argument("--record", action="store_true", help="keep the figures for the docs")
    parser.add_argument("-n", type=int, default=2, dest="processes", help="processes for tests")
    parser.add_argument("--reports", type=Path, default=REPORTS, help="the folder of reports")
    options = parser.parse_args()
    report = prove(options.rows, options.short, options.processes, again=options.again)
    page = keep(report, options.reports)
    for row in report.rows:
        print(f"{row.state:9} {row.row:4} {row.threat}: {row.figure}")
    counts = {
        state: sum(row.state == state for row in report.rows) for state in (HELD, BROKEN, ABSENT)
    }
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    print(f"{told}, in {report.seconds:.0f} s; {os.path.relpath(page, ROOT)}")
    if options.record:
        record(report)
    return 1 if counts[BROKEN] else 0


if __name__ == "__main__":
    sys.exit(main())
