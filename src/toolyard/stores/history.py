"""Every call that is over, in the database: bounded, searchable, written off the hot path.

While calls are answered, `record` only takes values down. They are made into rows in
the database's own thread, some hundred at a time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic, time
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.history import ERROR_LENGTH, Call, Outcome, Timing, redact
from toolyard.stores.database import Database, Row
from toolyard.stores.tally import Tally
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import NOTHING, Message

BATCH: Final = 1000
BATCH_SECONDS: Final = 0.5
BODY_BYTES: Final = 64 * 1024
HELD_BYTES: Final = 32 * 1024 * 1024
"""Bodies that may wait to be written; beyond this, calls are recorded without them."""
DAYS_SECONDS: Final = 3600.0
"""How often calls that are too old are looked for, which reads all."""
EDGE: Final = 200
"""Where `isError` is looked for: so many bytes at both ends of a result."""
FAILED: Final = "failed"
"""Stands for every outcome that is an error, in a search."""
TOO_LARGE: Final = b'"[larger than 64 KiB: not kept]"'
NO_JSON: Final = b'"[no JSON: not kept]"'

_INSERT: Final = (
    "INSERT INTO calls (at, agent, server, tool, ms, asked, answered, outcome, error, arguments,"
    " result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_COLUMNS: Final = "id, at, agent, server, tool, ms, asked, answered, outcome, error"
_PRUNE_ROWS: Final = "DELETE FROM calls WHERE id <= (SELECT max(id) FROM calls) - ?"
_PRUNE_DAYS: Final = "DELETE FROM calls WHERE at < ?"
_TEXTS: Final = (
    "server",
    "tool",
    "agent",
    "error",
    "CAST(arguments AS TEXT)",
    "CAST(result AS TEXT)",
)
_OK: Final = str(Outcome.OK)
_ERROR: Final = str(Outcome.ERROR)
_TOOL_ERROR: Final = str(Outcome.TOOL_ERROR)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept."""

    rows: int = 100_000
    days: int = 30
    bodies: bool = False
    """Whether arguments and results are kept, without their secrets."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which calls to find; what is empty matches all."""

    server: str = ""
    tool: str = ""
    agent: str = ""
    outcome: str = ""
    """One of the outcomes, or `failed` for both kinds of errors."""
    text: str = ""
    """Stands in a name, in the error, or in what was kept of arguments and result."""
    since: float = 0.0
    before: int = 0
    """Only calls with a smaller id: the last one of the page before."""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Kept:
    """One call, with what was kept of its arguments and result as JSON."""

    call: Call
    arguments: bytes | None
    result: bytes | None


class History:
    """The calls that are over; without a database only their counts."""

    def __init__(self, database: Database | None, bounds: Bounds) -> None:
        self.bounds = bounds
        self.tally = Tally()
        self._database = database
        self._rows: list[Row] = []
        self._days_due = 0.0
        self._held = self._let_go = 0

    @property
    def dropped(self) -> int:
        """How many calls could not be written."""
        return self._database.dropped if self._database is not None else 0

    # While calls are answered: on the loop, as little as possible.

    def record(
        self,
        agent: str | bytes,
        server: str,
        tool: str,
        asked: Raw | bytes,
        began: float,
        answer: Message | BaseException,
    ) -> None:
        """Take down a call that is over; `agent` is a name or a raw `clientInfo`."""
        ms = (monotonic() - began) * 1000
        at = time() - ms / 1000
        outcome, raw = _OK, NOTHING
        error: str | bytes | None = None
        if not isinstance(answer, Message):
            outcome, error = _ended(answer)
        elif answer.error:
            outcome, raw = _ERROR, answer.error
            error = _start(raw)
        else:
            raw = answer.result
            if _says_error(raw):
                outcome, error = _TOOL_ERROR, _start(raw)
        arguments = result = None
        if self.bounds.bodies:
            arguments, result = self._bodies(asked, raw)
        rows = self._rows
        rows.append(
            (at, agent, server, tool, ms, len(asked), len(raw), outcome, error, arguments, result)
        )
        if len(rows) >= BATCH:
            self.flush()
        elif len(rows) == 1:
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)

    def _bodies(self, *raws: Raw | bytes) -> tuple[bytes | None, ...]:
        if self._held - self._let_go > HELD_BYTES or self._database is None:
            return None, None
        bodies = tuple(bytes(raw) if len(raw) <= BODY_BYTES else TOO_LARGE for raw in raws)
        self._held += sum(map(len, bodies))
        return bodies

    def flush(self) -> None:
        """Hand over what was taken down so far."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        if self._database is None or not self._database.later_all(_INSERT, rows, self._finish):
            for row in rows:
                self._finish(row)
            return
        self._database.later(_PRUNE_ROWS, (self.bounds.rows,))
        if monotonic() > self._days_due:
            self._days_due = monotonic() + DAYS_SECONDS
            self._database.later(_PRUNE_DAYS, (self._oldest(),))

    # In the thread of the database.

    def _finish(self, row: Row) -> Row:
        """Make what was taken down a row: texts read, secrets left out."""
        at, agent, server, tool, ms, asked, answered, outcome, error, arguments, result = row
        if error is None and arguments is None and isinstance(agent, str):
            self.tally.add(server, outcome, ms)
            return row
        if isinstance(agent, bytes):
            agent = _name(agent)
        if error is not None:
            outcome, error = _why(outcome, error)
        if arguments is not None:
            self._let_go += len(arguments) + len(result)
            arguments, result = _redacted(arguments), _redacted(result)
        self.tally.add(server, outcome, ms)
        return (at, agent, server, tool, ms, asked, answered, outcome, error, arguments, result)

    # Questions. They wait for the disk: ask from a thread, after `flush`.

    def search(self, wanted: Search) -> list[Call]:
        """The calls that match, newest first."""
        conditions, values = _conditions(wanted)
        sql = f"SELECT {_COLUMNS} FROM calls WHERE {conditions} ORDER BY id DESC LIMIT ?"  # noqa: S608
        return [_call(row) for row in self._read(sql, (*values, wanted.limit))]

    def timings(self, wanted: Search) -> list[Timing]:
        """What statistics need of all the calls that match."""
        conditions, values = _conditions(wanted)
        sql = f"SELECT server, tool, outcome, ms FROM calls WHERE {conditions}"  # noqa: S608
        return [Timing(*row) for row in self._read(sql, values)]

    def get(self, id_: int) -> Kept:
        """One call.

        Raises:
            UnknownNameError: It is not, or no more, in the history.
        """
        sql = f"SELECT {_COLUMNS}, arguments, result FROM calls WHERE id = ?"  # noqa: S608
        for *columns, arguments, result in self._read(sql, (id_,)):
            return Kept(_call(tuple(columns)), arguments, result)
        text = f"there is no call {id_} in the history"
        raise UnknownNameError(text, "see which there are: toolyard history")

    def _read(self, sql: str, values: tuple[Any, ...]) -> list[Row]:
        if self._database is None:
            text = "this hub keeps no history"
            raise ConfigError(text, "start it with TOOLYARD_HISTORY=on; see toolyard doctor")
        self._database.settle()
        # What is shown keeps to the bounds exactly, whenever it was last tidied up.
        self._database.write(_PRUNE_ROWS, (self.bounds.rows,))
        self._database.write(_PRUNE_DAYS, (self._oldest(),))
        return self._database.read(sql, values)

    def _oldest(self) -> float:
        return time() - self.bounds.days * 86400.0


def _says_error(raw: Raw) -> bool:
    if len(raw) <= 2 * EDGE:
        edges = bytes(raw)
    else:
        view = memoryview(raw)
        edges = bytes(view[:EDGE]) + b" " + bytes(view[-EDGE:])
    return b'"isError":true' in edges or b'"isError": true' in edges


def _ended(error: BaseException) -> tuple[str, str | None]:
    """The outcome of a call that has no answer, and why."""
    if isinstance(error, asyncio.CancelledError):
        return str(Outcome.CANCELLED), None
    return _ERROR, str(error)


def _start(raw: Raw) -> bytes:
    return bytes(raw if len(raw) <= BODY_BYTES else memoryview(raw)[:BODY_BYTES])


@lru_cache(256)
def _name(info: bytes) -> str:
    """What a client calls itself."""
    try:
        name = jsonrpc.to_python(jsonrpc.fields(info).get("name", b'""'))
    except jsonrpc.MalformedError:
        return ""
    return name[:100] if isinstance(name, str) else ""


def _why(outcome: str, said: str | bytes) -> tuple[str, str | None]:
    """What went wrong, in short; a result that only looked like an error is none."""
    if isinstance(said, bytes):
        text = jsonrpc.read_fault(said).message if outcome == _ERROR else _complaint(said)
    else:
        text = said
    if text is None:
        return _OK, None
    short: str = redact(text)[:ERROR_LENGTH]
    return outcome, short


def _complaint(raw: bytes) -> str | None:
    """What a tool's result says went wrong; None if it does not say so."""
    try:
        result = jsonrpc.to_python(raw)
    except jsonrpc.MalformedError:  # cut, because it was too long
        return raw[: 2 * ERROR_LENGTH].decode("utf-8", "replace")
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return next((text for text in texts if isinstance(text, str)), "")


def _redacted(raw: bytes) -> bytes:
    try:
        return jsonrpc.encode(redact(jsonrpc.to_python(raw)))
    except jsonrpc.MalformedError:
        return NO_JSON if raw else b"null"


def _conditions(wanted: Search) -> tuple[str, tuple[Any, ...]]:
    """The condition of a query, and the values it holds."""
    named = {"server": wanted.server, "tool": wanted.tool, "agent": wanted.agent}
    parts: list[tuple[str, tuple[Any, ...]]] = [
        (f"{column} = ?", (value,)) for column, value in named.items() if value
    ]
    if wanted.outcome == FAILED:
        parts.append(("outcome IN (?, ?)", (_ERROR, _TOOL_ERROR)))
    elif wanted.outcome:
        parts.append(("outcome = ?", (wanted.outcome,)))
    if wanted.text:
        likes = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in _TEXTS)
        parts.append((f"({likes})", (_pattern(wanted.text),) * len(_TEXTS)))
    if wanted.since:
        parts.append(("at >= ?", (wanted.since,)))
    if wanted.before:
        parts.append(("id < ?", (wanted.before,)))
    conditions = " AND ".join(condition for condition, _ in parts) or "1"
    return conditions, tuple(value for _, values in parts for value in values)


def _pattern(text: str) -> str:
    for each in ("\\", "%", "_"):
        text = text.replace(each, "\\" + each)
    return f"%{text}%"


def _call(row: Row) -> Call:
    id_, at, agent, server, tool, ms, asked, answered, outcome, error = row
    when = datetime.fromtimestamp(at, UTC)
    ended = Outcome(outcome)
    return Call(id_, when, agent, server, tool, round(ms, 3), asked, answered, ended, error or "")
