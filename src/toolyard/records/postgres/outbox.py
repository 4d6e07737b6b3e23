"""Notes on their way to a shared database: written soon by a thread, kept while it is away."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from toolyard.core.errors import DatabaseAwayError, StoreError
from toolyard.records.postgres.order import RecordOrder

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.5
"""The pause before another try, half of it by chance."""
SETTLE_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 5.0
MOST: Final = 50_000
"""The weight of all notes that may wait."""

Write = Callable[[RecordOrder], None]
"""Writes a note within an order; it may be tried several times."""


class SentNote:
    """A note that was handed in."""

    def __init__(self, write: Write, weight: int) -> None:
        self.write = write
        self.weight = weight
        self.revision: int | None = None
        """The revision at which it was written, once it is."""


class Outbox:
    """Writes notes in their order, as many at once as wait; none is lost but with the process."""

    def __init__(
        self,
        order: Callable[[], AbstractContextManager[RecordOrder]],
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._order = order
        self._pause_seconds = pause_seconds
        self._waiting: list[SentNote] = []
        self._weight = 0
        self._changed = threading.Condition()
        self._is_closing = False
        self._writer: threading.Thread | None = None

    def add(self, write: Write, weight: int = 1) -> SentNote:
        """Hand in a note; never waits.

        Raises:
            StoreError: Too much waits already.
        """
        with self._changed:
            if self._weight + weight > MOST:
                raise StoreError("too much waits to be written to the shared database")
            note = SentNote(write, weight)
            self._waiting.append(note)
            self._weight += weight
            if self._writer is None:
                self._writer = threading.Thread(target=self._run, name="outbox", daemon=True)
                self._writer.start()
            self._changed.notify_all()
        return note

    def settle(self) -> None:
        """Wait until all that was handed in is written, within bounds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, SETTLE_SECONDS)

    def close(self) -> None:
        """Try once more to write what waits, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._writer is not None:
            self._writer.join(CLOSE_SECONDS)

    def _run(self) -> None:
        most, is_away = MOST, False
        while notes := self._next(is_away)[:most]:
            try:
                self._write(notes)
            except DatabaseAwayError as error:
                if self._is_closing:
                    return
                if not is_away:
                    log.warning("notes wait for the database", extra={"why": str(error)})
                is_away = True
                continue
            except Exception as error:
                if len(notes) == 1:
                    log.error("a note was refused by the database", extra={"why": str(error)})
                    self._take_out(notes)
                # One of several cannot be written: the others can, one by one.
                most = 1
                continue
            most, is_away = MOST, False

    def _next(self, is_away: bool) -> list[SentNote]:
        """Wait for notes, or for another try; return none at the end."""
        with self._changed:
            if is_away:
                pause = self._pause_seconds * random.uniform(0.5, 1)
                self._changed.wait_for(lambda: self._is_closing, pause)
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            return list(self._waiting)

    def _write(self, notes: list[SentNote]) -> None:
        with self._order() as order:
            for note in notes:
                note.write(order)
        for note in notes:
            note.revision = order.revision
        self._take_out(notes)

    def _take_out(self, notes: list[SentNote]) -> None:
        with self._changed:
            self._weight -= sum(note.weight for note in notes)
            del self._waiting[: len(notes)]
            self._changed.notify_all()
