"""The wishes of clients in the database that replicas share.

They are written with the next heartbeat, which is at once. Two replicas may have heard different
wishes of one client: each writes what has changed, not all that it knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.postgres.connections import Connection
from toolyard.records.postgres.heartbeat import Statements, TakeIn
from toolyard.records.postgres.session_rows import (
    BEGINNING,
    change_note,
    read_changed_notes,
    read_mark,
    read_note,
)
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.relay.session_notes import NO_NOTE, NOTES, SessionNote, fitting

log = logging.getLogger(__name__)

EMPTY_SECONDS: Final = 3600.0
"""The time that an empty note is kept: long enough for all to notice that it is empty."""
WRITTEN_AT_ONCE: Final = 500

Notes = Mapping[str, SessionNote]


class SharedNotes:
    """Notes that all replicas read; those of sessions that are here are followed."""

    def __init__(
        self,
        database: SharedDatabase,
        seconds: float,
        here: Callable[[], Iterable[str]],
        renew: Callable[[str, SessionNote], None],
        wake: Callable[[], None],
        hear: Callable[[], Awaitable[None]],
    ) -> None:
        """Keep notes for some time.

        Args:
            here: Gives the principals of the sessions that are here.
            renew: Hears of a note that another replica has changed.
            wake: Have the next heartbeat come at once.
            hear: Have it come at once, and wait for it.
        """
        self._database = database
        self._seconds = seconds
        self._here = here
        self._renew = renew
        self._wake = wake
        self._hear = hear
        self._wanted: dict[str, SessionNote] = {}
        self._stored: OrderedDict[str, SessionNote] = OrderedDict()
        """The notes as they were last read or written, the oldest first."""
        self._mark = BEGINNING

    async def read(self, principal: str) -> SessionNote:
        """The note of a session; an empty one if there is none, or the database is away."""
        try:
            text = await asyncio.to_thread(self._look_up, principal)
        except StoreError as error:
            log.warning("the wishes of a client are not known", extra={"why": str(error)})
            return NO_NOTE
        return self._store(principal, _read(text))

    def write(self, principal: str, note: SessionNote) -> None:
        """Keep a note in place of the last one, with the next heartbeat."""
        if principal in self._wanted or len(self._wanted) < NOTES:
            self._wanted[principal] = note
            self._wake()

    async def settle(self) -> None:
        """Wait until all replicas can read what was written, unless the database is away."""
        if self._wanted:
            await self._hear()

    def prepare(self) -> Statements:
        """Take down the notes to write, and whose to read."""
        wanted = dict(sorted(self._wanted.items())[:WRITTEN_AT_ONCE])
        stored = {principal: self._stored.get(principal, NO_NOTE) for principal in wanted}
        return partial(self._carry_out, wanted, stored, list(self._here()), self._mark)

    def _carry_out(
        self,
        wanted: Notes,
        stored: Notes,
        here: list[str],
        mark: datetime,
        connection: Connection,
    ) -> TakeIn:
        following = read_mark(connection)
        written: dict[str, SessionNote] = {}
        for principal, note in wanted.items():  # in their order: two replicas wait for no circle
            seconds = self._seconds if note != NO_NOTE else EMPTY_SECONDS
            change = partial(_changed, stored[principal], note)
            written[principal] = _read(change_note(connection, principal, change, seconds))
        changed = read_changed_notes(connection, here, mark)
        others = {principal: _read(text) for principal, text in changed.items()}
        return partial(self._take_in, wanted, {**others, **written}, following)

    def _take_in(self, wanted: Notes, notes: Notes, mark: datetime) -> None:
        self._mark = mark
        for principal, note in wanted.items():
            if self._wanted.get(principal) == note:
                del self._wanted[principal]
        for principal, note in notes.items():
            is_news = note != wanted.get(principal, self._stored.get(principal, NO_NOTE))
            self._store(principal, note)
            if is_news and principal not in self._wanted:
                self._renew(principal, note)

    def _look_up(self, principal: str) -> str | None:
        with self._database.transaction() as connection:
            return read_note(connection, principal)

    def _store(self, principal: str, note: SessionNote) -> SessionNote:
        self._stored.pop(principal, None)
        self._stored[principal] = note
        if len(self._stored) > NOTES:
            self._stored.popitem(last=False)
        return note


def merged(before: SessionNote, wanted: SessionNote, stored: SessionNote) -> SessionNote:
    """The stored note with what has changed between two others."""
    is_same_level = wanted.log_level == before.log_level
    kept = [uri for uri in stored.watched if uri in wanted.watched or uri not in before.watched]
    added = [uri for uri in wanted.watched if uri not in before.watched and uri not in kept]
    level = stored.log_level if is_same_level else wanted.log_level
    return SessionNote(level, fitting([*kept, *added]))


def _changed(before: SessionNote, wanted: SessionNote, stored: str | None) -> str:
    return msgspec.json.encode(merged(before, wanted, _read(stored))).decode()


def _read(text: str | None) -> SessionNote:
    return msgspec.json.decode(text, type=SessionNote) if text is not None else NO_NOTE
