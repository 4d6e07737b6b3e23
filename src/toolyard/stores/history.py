"""Every call that is over, in the database: bounded, searchable, written off the hot path.

While calls are answered, `record` only takes them down. They are counted, packed and
written many at a time, by the database's own thread; a search unpacks them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from time import monotonic, time
from typing import Final

from msgspec import Raw

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.history import Call, Outcome, Timing
from toolyard.records.database import Database, Row
from toolyard.stores.taken import (
    BODY_BYTES,
    PLAIN,
    SMALL,
    Packed,
    Taken,
    agent_name,
    ending,
    find_error,
    finish,
    pack,
    says_error,
    unpack,
    unpack_bodies,
    without_secrets,
)
from toolyard.stores.tally import Tally
from toolyard.wire.jsonrpc import Message

BATCH: Final = 1000
BATCH_SECONDS: Final = 1.0
"""What a crash may cost; each batch costs a transaction, however small it is."""
BATCH_BYTES: Final = 4 * 1024 * 1024
HELD_BYTES: Final = 32 * 1024 * 1024
"""Arguments and results that may wait; beyond this, calls are recorded without them."""
Listener = Callable[[Sequence[Taken]], None]
FAILED: Final = "failed"
"""Stands for every outcome that is an error, in a search."""

_END: Final = "coalesce((SELECT first + number FROM calls ORDER BY first DESC LIMIT 1), 1)"
_INSERT: Final = f"INSERT INTO calls VALUES ({_END}, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_PRUNE_ROWS: Final = f"DELETE FROM calls WHERE first <= {_END} - ?"  # noqa: S608
_PRUNE_DAYS: Final = "DELETE FROM calls WHERE until < ?"
_SELECT: Final = (
    "SELECT first, epoch, rows, bodies IS NOT NULL FROM calls WHERE first < ? AND until >= ?"
    " ORDER BY first DESC LIMIT ?"
)
_BODIES: Final = "SELECT bodies FROM calls WHERE first = ?"
PRUNE_EVERY: Final = 10_000
AT_ONCE: Final = 32
"""Batches that a search takes at a time."""
DAYS_SECONDS: Final = 3600.0
"""How often calls that are too old are looked for, which reads all."""


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
    """What the client called itself."""
    caller: str = ""
    """Whose token it came with."""
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
        self._taken: list[Taken] = []
        self._bodies: list[Row] = []
        self._weight = self._held = self._let_go = 0
        self._odd = False
        """Whether some of what was taken down did not end well."""
        self._due = self._steady = False
        """Whether a flush is due, and whether there is nothing else to do for a call."""
        self._days_due = 0.0
        self._unpruned = PRUNE_EVERY
        self.passed = 0
        """How many calls listeners have heard of since the start, one after the other."""
        self.listeners: list[Listener] = []
        """Hear of calls that are over, many at a time."""

    @property
    def is_kept(self) -> bool:
        """Whether calls can be asked for, and not only their counts."""
        return self._database is not None

    @property
    def dropped(self) -> int:
        """How many calls could not be recorded."""
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
        caller: str = "",
    ) -> None:
        """Take down a call that is over; `agent` is a name or a raw `clientInfo`."""
        ended = monotonic()
        if agent.__class__ is bytes:
            agent = agent_name(agent)
        taken = self._taken
        if answer.__class__ is Message and not answer.error:
            raw = answer.result
            size = len(raw)
            if not (find_error(raw) if size <= SMALL else says_error(raw)):
                taken.append((agent, server, tool, began, ended, len(asked), size, caller))
                if self._steady and len(taken) < BATCH:
                    return
                self._taken_one(asked, answer)
                return
        size, outcome, said = ending(answer)
        plain = agent, server, tool, began, ended, len(asked), size, caller
        taken.append((*plain, outcome, said))
        self._odd = True
        self._taken_one(asked, answer)

    def _taken_one(self, asked: Raw | bytes, answer: Message | BaseException) -> None:
        """What is seldom to do once a call is taken down."""
        if self.bounds.bodies:
            self._keep_bodies(asked, answer)
        if len(self._taken) >= BATCH or self._weight > BATCH_BYTES:
            self.flush()
        elif not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush_due)
        self._steady = self._due and not self.bounds.bodies

    def _keep_bodies(self, asked: Raw | bytes, answer: Message | BaseException) -> None:
        if self._held - self._let_go > HELD_BYTES or self._database is None:
            return
        said = (answer.error or answer.result) if isinstance(answer, Message) else b""
        bodies = [bytes(raw) if len(raw) <= BODY_BYTES else None for raw in (asked, said)]
        weight = sum(len(body) for body in bodies if body)
        self._weight += weight
        self._held += weight
        self._bodies.append((len(self._taken) - 1, *bodies))

    def _flush_due(self) -> None:
        self._due = self._steady = False
        self.flush()

    def flush(self) -> None:
        """Hand over what was taken down so far."""
        taken, self._taken = self._taken, []
        bodies, self._bodies = self._bodies, []
        weight, self._weight = self._weight, 0
        odd, self._odd = self._odd, False
        if not taken:
            return
        self.tally.add(taken, odd)
        self.passed += len(taken)
        for hear in self.listeners:
            hear(taken)
        if self._database is not None:
            self._hand_over(self._database, (time() - monotonic(), taken, odd, bodies, weight))

    def _hand_over(self, database: Database, row: Row) -> None:
        _, taken, odd, bodies, weight = row
        if odd or bodies:
            if not database.later_all(_INSERT, [row], self._pack, len(taken)):
                self._let_go += weight
        else:
            # So quick that a switch of threads would cost more.
            database.later_all(_INSERT, [self._pack(row)], None, len(taken))
        self._unpruned += len(taken)
        if self._unpruned >= PRUNE_EVERY:
            self._unpruned = 0
            self._prune(database)

    def _prune(self, database: Database) -> None:
        # By the key alone, which is quick; a search keeps to the bounds exactly.
        database.later(_PRUNE_ROWS, (self.bounds.rows + BATCH,))
        if monotonic() > self._days_due:
            self._days_due = monotonic() + DAYS_SECONDS
            database.later(_PRUNE_DAYS, (self._oldest(),))

    def _pack(self, row: Row) -> Row:
        """Make a row of what was taken down: errors read, secrets left out."""
        epoch, taken, odd, bodies, weight = row
        self._let_go += weight
        calls = [each if len(each) == PLAIN else finish(each) for each in taken] if odd else taken
        starts = list(map(_BEGAN, calls))
        since, until = epoch + min(starts), epoch + max(starts)
        kept = [(place, *map(without_secrets, pair)) for place, *pair in bodies]
        return (len(calls), since, until, epoch, pack(calls), pack(kept) if kept else None)

    # Questions. They wait for the disk: ask from a thread, after `flush`.

    def search(self, wanted: Search) -> list[Call]:
        """The calls that match, newest first."""
        found: list[Call] = []
        for id_, at, each in self._matching(wanted):
            found.append(_call(id_, at, each))
            if len(found) == wanted.limit:
                break
        return found

    def timings(self, wanted: Search) -> list[Timing]:
        """What statistics need of all the calls that match."""
        found = self._matching(wanted)
        return [Timing(each.server, each.tool, each.outcome, each.ms) for _, _, each in found]

    def get(self, id_: int) -> Kept:
        """One call.

        Raises:
            UnknownNameError: It is not, or no more, in the history.
        """
        for found, at, each in self._matching(Search(before=id_ + 1)):
            if found != id_:
                break
            return Kept(_call(id_, at, each), *self._bodies_of(id_))
        text = f"there is no call {id_} in the history"
        raise UnknownNameError(text, "see which there are: toolyard history")

    def _bodies_of(self, id_: int) -> tuple[bytes | None, bytes | None]:
        sql = "SELECT first, bodies FROM calls WHERE first <= ? ORDER BY first DESC LIMIT 1"
        for first, bodies in self._open().read(sql, (id_,)):
            for place, arguments, result in unpack_bodies(bodies) if bodies else ():
                if first + place == id_:
                    return arguments, result
        return None, None

    def _open(self) -> Database:
        if self._database is None:
            text = "this hub keeps no history"
            raise ConfigError(text, "start it with TOOLYARD_HISTORY=on; see toolyard doctor")
        return self._database

    def _matching(self, wanted: Search) -> Iterator[tuple[int, float, Packed]]:
        """Id, time and content of what matches, newest first, unpacked as far as it is wanted."""
        database = self._open()
        database.settle()
        ((end,),) = database.read(f"SELECT {_END}")
        least = max(end - self.bounds.rows, 1)
        before = min(wanted.before or end, end)
        since = max(wanted.since, self._oldest())
        while before > least:
            batches = database.read(_SELECT, (before, since, AT_ONCE))
            for first, epoch, rows, has_bodies in batches:
                calls = unpack(rows)
                said = self._said(database, first) if wanted.text and has_bodies else {}
                for id_ in range(min(first + len(calls), before) - 1, max(first, least) - 1, -1):
                    each = calls[id_ - first]
                    at = epoch + each.began
                    if at >= since and _matches(each, wanted, said.get(id_ - first, "")):
                        yield id_, at, each
            if len(batches) < AT_ONCE:
                return
            before = batches[-1][0]

    @staticmethod
    def _said(database: Database, first: int) -> dict[int, str]:
        """What was kept of arguments and results in a batch, by place, as text."""
        ((bodies,),) = database.read(_BODIES, (first,))
        return {
            place: f"{arguments.decode()} {result.decode()}".lower()
            for place, arguments, result in unpack_bodies(bodies)
        }

    def _oldest(self) -> float:
        return time() - self.bounds.days * 86400.0


_BEGAN: Final = itemgetter(3)


def _matches(each: Packed, wanted: Search, said: str) -> bool:
    """Whether a call is wanted; `said` is what was kept of its arguments and result."""
    for asked, has in (
        (wanted.server, each.server),
        (wanted.tool, each.tool),
        (wanted.agent, each.agent),
        (wanted.caller, each.caller),
    ):
        if asked and asked != has:
            return False
    if wanted.outcome == FAILED:
        if each.outcome not in (Outcome.ERROR, Outcome.TOOL_ERROR):
            return False
    elif wanted.outcome and wanted.outcome != each.outcome:
        return False
    text = wanted.text.lower()
    names = (each.server, each.tool, each.agent, each.caller, each.error) if text else ()
    return text in " ".join(names).lower() or text in said


def _call(id_: int, at: float, each: Packed) -> Call:
    when, sizes = datetime.fromtimestamp(at, UTC), (each.asked, each.answered)
    who, ended = (each.agent, each.caller), (each.outcome, each.error)
    return Call(id_, when, *who, each.server, each.tool, each.ms, *sizes, *ended)
