"""The calls that are asked for, and the SQL that finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolyard.features.history.model import Outcome
from toolyard.records.calls import CallSql

FAILED: Final = "failed"
"""Stands for every outcome that is an error, in a search."""
FAILURES: Final = (Outcome.ERROR.value, Outcome.TOOL_ERROR.value)
_NAMES: Final = ("server", "tool", "agent", "caller")


@dataclass(frozen=True, slots=True)
class Search:
    """The calls to find; what is empty matches all."""

    server: str = ""
    tool: str = ""
    agent: str = ""
    """The name that the client gave itself."""
    caller: str = ""
    """The name of the token it came with."""
    outcome: str = ""
    """One of the outcomes, or `failed` for both kinds of errors."""
    text: str = ""
    """Stands in a name, in the error, or in what was kept of arguments and result."""
    since: float = 0.0
    before: int = 0
    """Only calls with a smaller id: the last one of the page before."""
    limit: int = 50

    @property
    def needle(self) -> str:
        """The text as it is looked for."""
        return self.text.casefold()


@dataclass(frozen=True, slots=True)
class Conditions:
    """SQL to append to a `WHERE`, and the values that it refers to; empty if all calls match."""

    sql: str = ""
    values: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sql)


def call_conditions(wanted: Search, sql: CallSql) -> Conditions:
    """Return what is true of the calls that match."""
    return _conditions(wanted, sql.text, 2)


def group_conditions(wanted: Search, sql: CallSql) -> Conditions:
    """Return what is true of the groups in which calls may match: without a text, all of them."""
    has_text = f"(bodies = 1 OR texts IS NULL OR {sql.find}(texts, ?) > 0)"
    return _conditions(wanted, has_text, 1)


def _conditions(wanted: Search, has_text: str, slots: int) -> Conditions:
    conditions, values = "", list[str]()
    for column in _NAMES:
        if value := getattr(wanted, column):
            conditions += f" AND {column} = ?"
            values.append(value)
    if wanted.outcome == FAILED:
        conditions += " AND outcome IN (?, ?)"
        values += FAILURES
    elif wanted.outcome:
        conditions += " AND outcome = ?"
        values.append(wanted.outcome)
    if wanted.text:
        conditions += f" AND {has_text}"
        values += [wanted.needle] * slots
    return Conditions(conditions, tuple(values))
