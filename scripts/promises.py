"""The table of promises, what was last measured of it, and the page that states both.

The table is `promises.toml`: every threat and fault that we look at, and for each a promise with
the tests that show it, or the reason why there is none. The figures are in
`docs/explanation/promises.json`; `scripts/proof.py --record` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_name("promises.toml")
FIGURES = ROOT / "docs" / "explanation" / "promises.json"
GROUPS = {
    "A": "Reaching the hub",
    "B": "Adding and starting servers",
    "C": "Files and ports shared with others",
    "D": "Traffic between clients, hub and servers",
    "F": "Faults",
}
HELD = "held"


class Promise(Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence that tests show."""

    row: str
    """The threat or fault that it answers."""
    says: str
    tests: tuple[str, ...]
    """Files or tests, as pytest names them."""
    long: tuple[str, ...] = ()
    """Tests that only the long form runs: they need minutes, a browser or an engine."""
    scripts: tuple[str, ...] = ()
    """Programs that only the long form runs; each ends with 0 and prints its figures."""
    open: str = ""
    """The part of the threat that these tests do not show."""

    def shown_by(self, is_short: bool) -> tuple[str, ...]:
        """Return the tests of a form."""
        return self.tests if is_short else (*self.tests, *self.long)


class Uncovered(Struct, frozen=True, forbid_unknown_fields=True):
    """A threat or fault that nothing shows."""

    row: str
    reason: str


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Every threat and fault, and what we say of it."""

    rows: dict[str, str]
    promise: tuple[Promise, ...]
    uncovered: tuple[Uncovered, ...] = ()
    may_skip: frozenset[str] = frozenset()
    """Reasons for which the test of a promise may be skipped; any other breaks the promise."""

    def chosen(self, names: list[str]) -> list[Promise]:
        """Return the promises of these rows, or all.

        Raises:
            SystemExit: There is no promise of one of the names.
        """
        promises = {promise.row: promise for promise in self.promise}
        if unknown := [name for name in names if name not in promises]:
            raise SystemExit(f"no promise is called {', '.join(unknown)}; see {TABLE.name}")
        return [promises[name] for name in names] if names else list(self.promise)


class Figure(Struct, frozen=True):
    """The last measurement of a promise."""

    state: str
    """Held, broken, or not shown."""
    figure: str
    seconds: float
    date: str
    commit: str
    form: str


class Figures(Struct, frozen=True):
    """The last measurement of every promise."""

    machine: str
    rows: dict[str, Figure]


def read_table(path: Path = TABLE) -> Table:
    """Read the table."""
    return msgspec.toml.decode(path.read_bytes(), type=Table)


def read_figures(path: Path = FIGURES) -> Figures:
    """Read what was measured last; empty if nothing was."""
    if not path.exists():
        return Figures("", {})
    return msgspec.json.decode(path.read_bytes(), type=Figures)


def write_figures(figures: Figures, path: Path = FIGURES) -> None:
    """Write what was measured, so that people can read the difference."""
    text = msgspec.json.format(msgspec.json.encode(figures), indent=2)
    path.write_bytes(text + b"\n")


def promises_part(table: Table, figures: Figures) -> str:
    """The generated part of the page."""
    covered = f"{len(table.promise)} of {len(table.rows)} rows have a promise"
    lines = [f"{covered}; {len(table.uncovered)} have none."]
    if figures.machine:
        lines.append(f"Last measured on {figures.machine}.")
    for letter, title in GROUPS.items():
        lines += ["", f"## {title}", "", *_group(letter, table, figures)]
    lines += ["", "## What is not shown", "", *_not_shown(table)]
    return "\n".join(lines)


def _group(letter: str, table: Table, figures: Figures) -> Iterator[str]:
    yield "| Row | Threat or fault | Promise | Last measured | Command |"
    yield "|---|---|---|---|---|"
    for promise in table.promise:
        if promise.row.startswith(letter):
            measured = _measured(figures.rows.get(promise.row))
            cells = (promise.row, table.rows[promise.row], promise.says, measured)
            yield f"| {' | '.join(cells)} | `make proof ARGS={promise.row}` |"


def _measured(figure: Figure | None) -> str:
    if figure is None:
        return "not yet"
    state = "" if figure.state == HELD else f"**{figure.state}**: "
    return f"{state}{figure.figure} ({figure.date}, {figure.form})"


def _not_shown(table: Table) -> Iterator[str]:
    yield "| Row | Threat or fault | Reason |"
    yield "|---|---|---|"
    reasons = {gap.row: f"No promise. {gap.reason}" for gap in table.uncovered}
    reasons |= {promise.row: promise.open for promise in table.promise if promise.open}
    for row, title in table.rows.items():
        if row in reasons:
            yield f"| {row} | {title} | {reasons[row]} |"
