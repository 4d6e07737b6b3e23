"""From measurements to rows with their targets, and rows to a table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from load import Tally


@dataclass
class Row:
    """One line of the report."""

    work: str
    measured: str
    hub: float | None = None
    relay: float | None = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None
    per_second: float | None = None
    p99_ms: float | None = None
    before: float | None = None
    """Of the hub that it is compared with."""
    change: float | None = None
    """The hub as a multiple of that one, within a round."""


# Of CPU: the most the hub may cost as a multiple of the relay.
RATIOS = {"echo": 3.0, "1 MiB": 1.0}
# Two runs of one and the same program differ by this much.
NOISE = 1.05
MOST_LIST_US = 2500.0
LEAST_CHURN = 1500.0
MOST_BURST = 0.3


def medians(work: str, rounds: list[dict[str, Tally]]) -> Row:
    """One row from all rounds of a work; ratios are taken within a round."""
    row = Row(work, "CPU us/call")
    row.relay = median(found["relay"].cpu_us for found in rounds)
    who = "hub" if "hub" in rounds[0] else "relay"
    row.per_second = median(found[who].per_second for found in rounds)
    row.p99_ms = median(found[who].quantile_ms(0.99) for found in rounds)
    if who == "hub":
        row.hub = median(found["hub"].cpu_us for found in rounds)
        row.ratio = median(found["hub"].cpu_us / found["relay"].cpu_us for found in rounds)
    if "before" in rounds[0]:
        row.before = median(found["before"].cpu_us for found in rounds)
        row.change = median(found["hub"].cpu_us / found["before"].cpu_us for found in rounds)
    judge(row, rounds, who)
    return row


def judge(row: Row, rounds: list[dict[str, Tally]], who: str) -> None:
    """Put the target beside the measurement; the relay alone is judged by nothing."""
    if row.work in RATIOS:
        row.target = f"at most {RATIOS[row.work]:g} x the relay"
        row.met = None if row.ratio is None else row.ratio <= RATIOS[row.work] * NOISE
    elif row.work == "list":
        row.target = f"at most {MOST_LIST_US:g} us"
        row.met = None if row.hub is None else row.hub <= MOST_LIST_US
    elif row.work == "churn":
        row.target = f"at least {LEAST_CHURN:g}/s"
        row.met = None if row.hub is None else (row.per_second or 0) >= LEAST_CHURN
    elif row.work.startswith("sleep"):
        row.measured = "500 x 100 ms, s"
        for name in ("relay", "hub"):
            if name in rounds[0]:
                setattr(row, name, median(found[name].seconds for found in rounds))
        row.ratio = row.p99_ms = None
        row.target = f"at most {MOST_BURST:g} s"
        row.met = None if row.hub is None else row.hub <= MOST_BURST


def judge_stdio(rows: list[Row]) -> None:
    """A call to a stdio server may cost what one to an HTTP server may, and no more."""
    found = {row.work: row for row in rows}
    echo, row = found.get("echo"), found.get("echo stdio")
    if echo is None or row is None or echo.relay is None:
        return
    row.target = f"at most {RATIOS['echo']:g} x the relay over HTTP"
    row.met = None if row.hub is None else row.hub <= RATIOS["echo"] * echo.relay


def limit(work: str, measured: str, value: float, most: float, unit: str) -> Row:
    """A row about the hub alone: its value and the most it may be."""
    return Row(work, measured, value, target=f"at most {most:g} {unit}", met=value <= most)


def show(rows: list[Row]) -> str:
    """The rows as text."""
    heads = (
        "work",
        "measured",
        "hub",
        "relay",
        "ratio",
        "per s",
        "p99 ms",
        "before",
        "change",
        "target",
        "",
    )
    lines = [heads, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 2 <= column <= 8 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def cells(row: Row) -> tuple[str, ...]:
    """One row as text."""
    verdict = {True: "pass", False: "FAIL", None: ""}[row.met]
    numbers = (row.hub, row.relay, row.ratio, row.per_second, row.p99_ms, row.before, row.change)
    return (row.work, row.measured, *(number(value) for value in numbers), row.target, verdict)


def number(value: float | None) -> str:
    """A number with as many digits as are worth reading."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
