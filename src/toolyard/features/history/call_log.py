"""Calls that are over: noted while clients are answered, written many at a time by a thread.

Noting one costs an object and an append. The database's own thread leaves secrets out of what
is kept of arguments and results, and writes a plain row for each call.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic, time
from typing import Final

from msgspec import Raw

from toolyard.features.history.call_counters import CallCounters
from toolyard.features.history.call_endings import agent_name, read_failure, without_secrets
from toolyard.features.history.model import Bodies, LoggedCall, Outcome
from toolyard.records.calls import CALL_COLUMNS, DAY_SECONDS, CallRows, SqliteCalls
from toolyard.records.database import Database, Row
from toolyard.records.places import RecordPlaces
from toolyard.records.seals.chain import LogChain
from toolyard.relay.calls import Origin
from toolyard.relay.questions import Wait
from toolyard.wire.jsonrpc import Message

BATCH: Final = 4000
BATCH_SECONDS: Final = 1.0
"""Seconds that a crash may cost; each batch costs a transaction, however small it is."""
BATCH_BYTES: Final = 4 * 1024 * 1024
BODY_BYTES: Final = 64 * 1024
"""The largest arguments, or result, that are kept."""
WAITING_BYTES: Final = 32 * 1024 * 1024
"""Arguments and results that may wait; beyond this, calls are recorded without them."""
EDGE: Final = 200
"""Bytes at both ends of a large result in which `isError` is looked for."""
PRUNE_EVERY: Final = 10_000
DAYS_SECONDS: Final = 3600.0
"""Seconds between two searches for calls that are too old, which read all."""

Listener = Callable[[Sequence[LoggedCall]], None]
Column = tuple[str, Sequence[float | str]]
"""A column that most calls leave empty, with its value for each call."""
FindStarts = Callable[[Sequence[LoggedCall], float], Sequence[float] | None]
"""Tells how long calls waited for a start; None if none did. Also told when their clock began."""

_find_error: Final = re.compile(rb'"isError":\s?true').search
_OWNER: Final = "", "", ""
"""The origin of a call that a program of the owner made on this machine."""
_OUTCOMES: Final = {outcome: outcome.value for outcome in Outcome}
"""Outcomes as plain texts, which databases take as they are."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of what is kept."""

    rows: int = 100_000
    days: int = 30
    bodies: bool = False
    """True if arguments and results are kept, without their secrets."""

    @property
    def oldest(self) -> float:
        """The time before which calls are forgotten."""
        return time() - self.days * DAY_SECONDS


class CallLog:
    """Counts calls that are over, tells listeners, and writes them if there is a database."""

    def __init__(
        self, rows: CallRows | None, bounds: Bounds, find_starts: FindStarts | None = None
    ) -> None:
        self.rows = rows
        """The rows of all calls; None if they are not kept."""
        self.bounds = bounds
        self._find_starts = find_starts
        self.counters = CallCounters()
        self.listeners: list[Listener] = []
        """Hear of calls that are over, many at a time."""
        self.passed = 0
        """The number of calls that listeners have heard of since the start."""
        self._calls: list[LoggedCall] = []
        self._bytes = 0
        """Bytes of bodies among them."""
        self._is_due = False
        self._unpruned = PRUNE_EVERY
        self._days_due = 0.0

    @property
    def dropped(self) -> int:
        """The number of calls that could not be recorded."""
        return self.rows.dropped if self.rows is not None else 0

    def catch_up(self) -> None:
        """Group soon the calls that are not, as those of an older version."""
        if self.rows is not None:
            self.rows.group()

    def record(
        self,
        agent: str | bytes,
        server: str,
        tool: str,
        asked: Raw | bytes,
        began: float,
        answer: Message | BaseException,
        caller: str = "",
        wait: Wait | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Note a call that is over.

        Args:
            agent: A name or a raw `clientInfo`.
            wait: When its server put a question to the client, and the seconds it was open.
            origin: Who called and from where, if it was no program of the owner on this machine.
        """
        ended = monotonic()
        if isinstance(agent, bytes):
            agent = agent_name(agent)
        if isinstance(answer, Message) and not answer.error and not looks_failed(answer.result):
            size, outcome, error = len(answer.result), Outcome.OK, ""
        else:
            size, outcome, error = read_failure(answer)
        bodies = self._bodies(asked, answer) if self.bounds.bodies else None
        call = LoggedCall(
            agent,
            caller,
            server,
            tool,
            began,
            ended,
            len(asked),
            size,
            outcome,
            error,
            bodies,
            wait,
            origin,
        )
        self._calls.append(call)
        if len(self._calls) >= BATCH or self._bytes > BATCH_BYTES:
            self.flush()
        elif not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush_due)

    def _bodies(self, asked: Raw | bytes, answer: Message | BaseException) -> Bodies | None:
        """Arguments and result as they were sent, without what is too large to be kept."""
        if self.rows is None or self._bytes + self.rows.waiting_bytes > WAITING_BYTES:
            return None
        body = (answer.error or answer.result) if isinstance(answer, Message) else b""
        arguments = bytes(asked) if len(asked) <= BODY_BYTES else None
        result = bytes(body) if len(body) <= BODY_BYTES else None
        self._bytes += len(arguments or b"") + len(result or b"")
        return arguments, result

    def _flush_due(self) -> None:
        self._is_due = False
        self.flush()

    def flush(self) -> None:
        """Count the calls noted so far, tell listeners, and hand them to the database."""
        calls, self._calls = self._calls, []
        size, self._bytes = self._bytes, 0
        if not calls:
            return
        self.counters.add(calls)
        self.passed += len(calls)
        if self.rows is not None:
            self._write(self.rows, calls, size)
            self._prune(self.rows, len(calls))
        for listener in self.listeners:
            listener(calls)

    def _write(self, rows: CallRows, calls: list[LoggedCall], size: int) -> None:
        epoch = time() - monotonic()
        waits = self._waits(calls, epoch)
        bodies = ("arguments", "result") if self.bounds.bodies else ()
        more = [*waits, *_origins(calls)]
        columns = (*CALL_COLUMNS, *bodies, *(name for name, _ in more))
        rows.add(columns, calls, partial(self._make_rows, epoch, more), size)

    def _waits(self, calls: Sequence[LoggedCall], epoch: float) -> list[Column]:
        """Return the columns of what calls waited for, but none that is empty for all of them.

        Such a one would cost as much to bind as all the rest.
        """
        waits: list[Column] = []
        if self._find_starts is not None and (starts := self._find_starts(calls, epoch)):
            waits.append(("start_ms", starts))
        if any(call.wait for call in calls):
            waits.append(("person_at_ms", [call.person_at_ms for call in calls]))
            waits.append(("person_ms", [call.person_ms for call in calls]))
        return waits

    def _make_rows(
        self, epoch: float, more: Sequence[Column], calls: Sequence[LoggedCall]
    ) -> list[Row]:
        """Make rows, in the database's thread; `epoch` is when their clock began."""
        rows = [_row(epoch, call) for call in calls]
        if self.bounds.bodies:
            rows = [(*row, *_readable(call.bodies)) for row, call in zip(rows, calls, strict=True)]
        if more:
            columns = zip(*(values for _, values in more), strict=True)
            rows = [(*row, *added) for row, added in zip(rows, columns, strict=True)]
        return rows

    def _prune(self, rows: CallRows, added: int) -> None:
        """Forget what is beyond the bounds, now and then; a search keeps to them exactly."""
        self._unpruned += added
        if self._unpruned < PRUNE_EVERY:
            return
        self._unpruned = 0
        is_due = monotonic() > self._days_due
        if is_due:
            self._days_due = monotonic() + DAYS_SECONDS
        rows.forget(self.bounds.rows, self.bounds.days if is_due else None)


def open_calls(
    places: RecordPlaces, database: Database | None, replica: str, chain: LogChain | None
) -> CallRows | None:
    """Open the calls of this hub, or of all that share a database; None if nothing can keep them.

    Args:
        replica: The name under which this hub writes.
        chain: Seals what is written; None if there is no key.
    """
    if places.shared is not None:
        from toolyard.records.postgres.calls import SharedCalls

        return SharedCalls(places.shared, replica, chain)
    return SqliteCalls(database, chain) if database is not None else None


def _origins(calls: Sequence[LoggedCall]) -> list[Column]:
    """Return the columns of who called and from where, but none that is empty for all calls."""
    origins = [call.origin or _OWNER for call in calls]
    columns = zip(("member", "token", "address"), zip(*origins, strict=True), strict=True)
    return [(name, values) for name, values in columns if any(values)]


def looks_failed(result: Raw | bytes) -> bool:
    """Return whether a result may be an error of the tool: quick, and now and then too cautious."""
    if len(result) <= 2 * EDGE:
        return _find_error(result) is not None
    view = memoryview(result)
    return bool(_find_error(view[:EDGE]) or _find_error(view[-EDGE:]))


def _row(epoch: float, call: LoggedCall) -> Row:
    return (
        epoch + call.began,
        call.agent,
        call.caller,
        call.server,
        call.tool,
        call.ms,
        call.asked,
        call.answered,
        _OUTCOMES[call.outcome],
        call.error,
    )


def _readable(bodies: Bodies | None) -> tuple[str | None, str | None]:
    """Return arguments and result as they may be kept."""
    if bodies is None:
        return None, None
    arguments, result = bodies
    return without_secrets(arguments), without_secrets(result)
