"""Calls that are over: the record of one, and the statistics of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from toolyard.core.errors import ConfigError
from toolyard.records.durations import find_percentiles, pack_durations

ERROR_LENGTH: Final = 200
"""Characters that are kept of what a server said went wrong."""
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Outcome(StrEnum):
    """The way a call ended."""

    OK = "ok"
    TOOL_ERROR = "tool-error"
    """The tool answered that it failed."""
    ERROR = "error"
    """The server refused the call, could not be reached, or was late."""
    CANCELLED = "cancelled"
    """The client did not want the answer any more."""

    __hash__ = str.__hash__
    """That of enums is a function in Python, and every call is counted by its outcome."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that is over."""

    id: int
    at: datetime
    """The moment it began."""
    agent: str
    """The name that the client gave itself."""
    caller: str
    """The name of its token, `control` for the hub's own; empty where none is asked for."""
    server: str
    """The alias."""
    tool: str
    """The tool's own name at its server."""
    ms: float
    asked: int
    """Bytes of the arguments."""
    answered: int
    """Bytes of the result, or of the error."""
    outcome: Outcome
    error: str = ""
    start_ms: float = 0.0
    """The part of that time in which its server had yet to start."""
    person_at_ms: float = 0.0
    """The time after which its server first asked the person something, if it did."""
    person_ms: float = 0.0
    """The part of its time in which such a question was open."""
    replica: str = ""
    """The hub that served it; empty where hubs share no database."""
    member: str = ""
    """The key of the member who called; empty for the hub's owner and for agents."""
    token: str = ""
    """The mark of the token that a member made and came in with."""
    address: str = ""
    """The address it came from; empty for this machine."""
    ordered: int = 0
    """The newest order when it was written down: what was ordered up to then held."""
    lock: str = ""
    """The beginning of the SHA-256 digest of the lock file at that time; empty without one."""


Bodies = tuple[bytes | None, bytes | None]
"""Arguments and result of a call as they were sent; None for one that is too large to be kept."""


class LoggedCall(msgspec.Struct, frozen=True, gc=False):
    """One call that is over, as it is noted while clients are answered."""

    agent: str
    caller: str
    server: str
    tool: str
    began: float
    """On the clock of this process, as its end."""
    ended: float
    asked: int
    answered: int
    outcome: Outcome = Outcome.OK
    error: str = ""
    bodies: Bodies | None = None
    wait: tuple[float, float] | None = None
    """When its server put the first question to the client, on the same clock, and the seconds in
    which any was open; None if it put none."""
    origin: tuple[str, str, str] | None = None
    """The member, the mark of their token, and the address; None if all are empty."""

    @property
    def ms(self) -> float:
        """The time it took, in milliseconds."""
        return _ms(self.ended - self.began)

    @property
    def person_at_ms(self) -> float:
        """The time after which the person was asked."""
        return _ms(self.wait[0] - self.began) if self.wait else 0.0

    @property
    def person_ms(self) -> float:
        """The time for which the person was waited for."""
        return _ms(self.wait[1]) if self.wait else 0.0


def _ms(seconds: float) -> float:
    # To round to three digits would make a text of the number and read it again.
    return round(seconds * 1e6) / 1000


class Durations:
    """The calls of one tool by how they ended and how long they took."""

    __slots__ = ("cancelled", "errors", "packed", "times")

    def __init__(self) -> None:
        self.times: list[float] = []
        """Milliseconds of calls that were read one by one."""
        self.packed: list[bytes] = []
        """Those of all others; see `records/durations.py`."""
        self.errors = self.cancelled = 0

    def add(self, outcome: str, times: Sequence[float], packed: bytes = b"") -> None:
        """Count calls that ended alike."""
        self.times += times
        self.packed.append(packed)
        if outcome == Outcome.CANCELLED:
            self.cancelled += len(times) + len(packed)
        elif outcome in (Outcome.ERROR, Outcome.TOOL_ERROR):
            self.errors += len(times) + len(packed)

    def include(self, other: Durations) -> None:
        """Count all that another has counted."""
        self.times += other.times
        self.packed += other.packed
        self.errors += other.errors
        self.cancelled += other.cancelled


@dataclass(frozen=True, slots=True)
class Statistic:
    """The figures of all calls of one tool, or of all tools of a server."""

    server: str
    tool: str
    """Empty for the server as a whole."""
    calls: int
    errors: int
    """Of the tool or of the server; cancelled calls are no errors."""
    cancelled: int
    error_rate: float
    p50_ms: float
    """Of many calls, durations are rounded by 6 % at most."""
    p95_ms: float


Timing = tuple[str, str, str, Sequence[float], bytes]
"""Server, tool and outcome of calls, and the milliseconds they took: those of some, and those of
others as bytes."""


def statistics(timings: Iterable[Timing]) -> list[Statistic]:
    """One line per server, each followed by one per tool of it, in order of names."""
    tools: dict[tuple[str, str], Durations] = {}
    for server, tool, outcome, times, packed in timings:
        tools.setdefault((server, tool), Durations()).add(outcome, times, packed)
    groups = dict(tools)
    for (server, _), durations in tools.items():
        groups.setdefault((server, ""), Durations()).include(durations)
    return [_statistic(*key, group) for key, group in sorted(groups.items())]


def _statistic(server: str, tool: str, group: Durations) -> Statistic:
    packed = b"".join(group.packed)
    calls = len(group.times) + len(packed)
    rate = round(group.errors / calls, 4)
    p50, p95 = _percentiles(group.times, packed)
    return Statistic(server, tool, calls, group.errors, group.cancelled, rate, p50, p95)


def _percentiles(times: list[float], packed: bytes) -> tuple[float, float]:
    """Return the median and the 95th percentile: exactly, if nothing is packed."""
    if not packed:
        ordered = sorted(times)
        return percentile(ordered, 50), percentile(ordered, 95)
    p50, p95 = find_percentiles(packed + pack_durations(times), 50, 95)
    return p50, p95


def percentile(ordered: list[float], percent: int) -> float:
    """The smallest of the ordered values that so many percent do not exceed; 0 of none."""
    if not ordered:
        return 0.0
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def moment(text: str, now: datetime) -> datetime:
    """The moment that `1h`, `30m`, `2d` ago was, or that an ISO 8601 time names.

    Raises:
        ConfigError: It is neither.
    """
    number, unit = text[:-1], text[-1:]
    try:
        if unit in UNITS and number.isascii() and number.isdigit():
            return now - timedelta(**{UNITS[unit]: int(number)})
        parsed = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        parsed = None
    if parsed is None:
        raise ConfigError(f"{text!r} is no time", "write 30m, 1h or 2d, or 2026-01-31T08:00")
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
