"""From measurements to rows with their targets, and rows to a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from load import Tally


@dataclass
class Row:
    """One line of the report; each figure is a median, with its lowest and highest round."""

    work: str
    measured: str
    hub: float | None = None
    relay: float | None = None
    ratio: float | None = None
    """The hub as a multiple of the relay, within a round."""
    target: str = ""
    met: bool | None = None
    per_second: float | None = None
    p99_ms: float | None = None
    before: float | None = None
    """Of the hub that it is compared with."""
    change: float | None = None
    """The hub as a multiple of that one, within a round."""
    spreads: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The lowest and the highest round of a figure."""

    def put(self, figure: str, rounds: Sequence[float]) -> None:
        """Set a figure from its rounds."""
        setattr(self, figure, median(rounds))
        if len(rounds) > 1:
            self.spreads[figure] = (min(rounds), max(rounds))

    def compare(self, hub: Sequence[float], before: Sequence[float]) -> None:
        """Set the hub and what it is compared with, from the same rounds."""
        self.put("hub", hub)
        self.put("before", before)
        self.put("change", ratios(hub, before))


# The most CPU of the hub for a call, as a multiple of the relay's: the goals of the project.
RATIOS = {
    "echo": 2.0,
    "echo, 1 caller": 2.0,
    "echo, 64 callers": 2.0,
    "echo modern": 2.0,
    "echo modern, 1 caller": 2.0,
    "echo modern, 64 callers": 2.0,
    "echo stdio": 2.0,
    "1 MiB": 1.0,
    "churn": 2.0,
    "sleep": 2.0,
}
MOST_P99 = 2.0
"""At 64 callers, as a multiple of the relay's."""
# Two runs of one and the same program differ by this much.
NOISE = 1.05
MOST_LIST_US = 2500.0
MOST_BURST = 0.3

Round = dict[str, Tally]
Figure = Callable[[Tally], float]


def ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Multiples, round by round."""
    return [value / other for value, other in zip(values, others, strict=True)]


def rows_of(work: str, rounds: list[Round]) -> list[Row]:
    """The rows of a work: CPU, and what else matters of it."""
    rows = [cpu_row(work, rounds)]
    if work == "echo, 64 callers":
        rows.append(p99_row(work, rounds))
    if work.startswith("sleep"):
        rows.append(burst_row(work, rounds))
    return rows


def compared(row: Row, rounds: list[Round], figure: Figure) -> Row:
    """Fill a row with a figure of every contestant; ratios are taken within a round."""
    found = {who: [figure(tallies[who]) for tallies in rounds] for who in rounds[0]}
    row.put("relay", found["relay"])
    if "hub" in found:
        row.put("hub", found["hub"])
        row.put("ratio", ratios(found["hub"], found["relay"]))
    if "hub" in found and "before" in found:
        row.compare(found["hub"], found["before"])
    return row


def cpu_row(work: str, rounds: list[Round]) -> Row:
    """The CPU of a call, and how many of them there were each second."""
    row = compared(Row(work, "CPU us/call"), rounds, lambda tally: tally.cpu_us)
    who = "hub" if "hub" in rounds[0] else "relay"
    row.put("per_second", [tallies[who].per_second for tallies in rounds])
    if rounds[0][who].latencies:
        row.put("p99_ms", [tallies[who].quantile_ms(0.99) for tallies in rounds])
    if work in RATIOS:
        row.target = f"at most {RATIOS[work]:g} x the relay"
        row.met = None if row.ratio is None else row.ratio <= RATIOS[work] * NOISE
    elif work == "list":
        row.target = f"at most {MOST_LIST_US:g} us"
        row.met = None if row.hub is None else row.hub <= MOST_LIST_US
    return row


def p99_row(work: str, rounds: list[Round]) -> Row:
    """The slowest of a hundred calls."""
    row = compared(Row(work, "p99 ms"), rounds, lambda tally: tally.quantile_ms(0.99))
    row.target = f"at most {MOST_P99:g} x the relay"
    row.met = None if row.ratio is None else row.ratio <= MOST_P99 * NOISE
    return row


def burst_row(work: str, rounds: list[Round]) -> Row:
    """The time until all calls of a burst are answered."""
    row = compared(Row(work, "500 x 100 ms, s"), rounds, lambda tally: tally.seconds)
    row.target = f"at most {MOST_BURST:g} s"
    row.met = None if row.hub is None else row.hub <= MOST_BURST
    return row


def judge_stdio(rows: list[Row]) -> None:
    """A call to a stdio server may cost what one to an HTTP server may, and no more."""
    found = {row.work: row for row in rows if row.measured == "CPU us/call"}
    echo, row = found.get("echo"), found.get("echo stdio")
    if echo is None or row is None or echo.relay is None:
        return
    row.target = f"at most {RATIOS['echo stdio']:g} x the relay over HTTP"
    row.met = None if row.hub is None else row.hub <= RATIOS["echo stdio"] * NOISE * echo.relay


def limit(work: str, measured: str, rounds: Sequence[float], most: float, unit: str) -> Row:
    """A row about the hub alone: its figure and the most it may be."""
    row = Row(work, measured, target=f"at most {most:g} {unit}")
    row.put("hub", rounds)
    row.met = median(rounds) <= most
    return row


FIGURES = {
    "hub": "hub",
    "relay": "relay",
    "ratio": "ratio",
    "per_second": "per s",
    "p99_ms": "p99 ms",
    "before": "before",
    "change": "change",
}
SPREAD = {"hub", "relay", "ratio", "before", "change"}
"""Figures that are shown with their lowest and highest round."""


def show(rows: list[Row], markdown: bool = False) -> str:
    """The rows as text; columns in which nothing stands are left out."""
    heads = ("work", "measured", *FIGURES.values(), "target", "")
    lines = [heads, *(cells(row) for row in rows)]
    used = [
        column
        for column in range(len(heads))
        if column < 2 or any(line[column] for line in lines[1:])
    ]
    lines = [tuple(line[column] for column in used) for line in lines]
    right = [heads[column] in FIGURES.values() for column in used]
    return as_markdown(lines, right) if markdown else as_text(lines, right)


def as_text(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def as_markdown(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table for a page of the docs."""
    rule = ["---:" if is_right else "---" for is_right in right]
    head, *rest = lines
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rest))


def cells(row: Row) -> tuple[str, ...]:
    """One row as text."""
    verdict = {True: "pass", False: "FAIL", None: ""}[row.met]
    return (row.work, row.measured, *(cell(row, figure) for figure in FIGURES), row.target, verdict)


def cell(row: Row, figure: str) -> str:
    """A figure, with its spread where that is worth reading."""
    value: float | None = getattr(row, figure)
    if figure not in SPREAD or figure not in row.spreads:
        return number(value)
    low, high = row.spreads[figure]
    return f"{number(value)} ({number(low)} to {number(high)})"


def number(value: float | None) -> str:
    """A number with as many digits as are worth reading."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
