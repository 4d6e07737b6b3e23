"""Notes on their way to a shared database: written soon by a thread, kept while it is away."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from toolyard.core.errors import DatabaseAwayError, StoreError

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.5
"""The pause before another try, half of it by chance."""
SETTLE_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 5.0
MOST: Final = 50_000
"""The weight of all notes that may wait."""

Item = TypeVar("Item")


class SentNote(Generic[Item]):
    """A note that was handed in."""

    def __init__(self, item: Item, weight: int) -> None:
        self.item = item
        self.weight = weight
        self.revision: int | None = None
        """The revision at which it was written, once it is."""


class Outbox(Generic[Item]):
    """Writes notes in their order, as many at once as wait; none is lost but with the process."""

    def __init__(
        self,
        write: Callable[[Sequence[Item]], int],
        refuse: Callable[[Item], None] = lambda _: None,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        """Write nothing yet.

        Args:
            write: Writes items together or not at all, in the thread, and returns the revision
                at which they are; it may be tried several times.
            refuse: Hears of an item that the database does not take.
        """
        self._write_items = write
        self._refuse = refuse
        self._pause_seconds = pause_seconds
        self._waiting: list[SentNote[Item]] = []
        self._weight = 0
        self._changed = threading.Condition()
        self._is_closing = False
        self._is_away = False
        self._writer: threading.Thread | None = None

    def add(self, item: Item, weight: int = 1) -> SentNote[Item]:
        """Hand in a note; never waits.

        Raises:
            StoreError: Too much waits already.
        """
        with self._changed:
            if self._weight + weight > MOST:
                raise StoreError("too much waits to be written to the shared database")
            note = SentNote(item, weight)
            self._waiting.append(note)
            self._weight += weight
            if self._writer is None:
                self._writer = threading.Thread(target=self._run, name="outbox", daemon=True)
                self._writer.start()
            self._changed.notify_all()
        return note

    def settle(self, *, while_away: bool = True) -> None:
        """Wait until all that was handed in is written, within bounds."""

        def is_settled() -> bool:
            return not self._waiting or (self._is_away and not while_away)

        with self._changed:
            self._changed.wait_for(is_settled, SETTLE_SECONDS)

    def close(self) -> None:
        """Try once more to write what waits, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._writer is not None:
            self._writer.join(CLOSE_SECONDS)

    def _run(self) -> None:
        most = MOST
        while notes := self._next()[:most]:
            try:
                self._write(notes)
            except DatabaseAwayError as error:
                if self._is_closing:
                    return
                self._note_away(error)
                continue
            except Exception as error:
                if len(notes) == 1:
                    log.error("a note was refused by the database", extra={"why": str(error)})
                    self._refuse(notes[0].item)
                    self._take_out(notes)
                # One of several cannot be written: the others can, one by one.
                most = 1
                continue
            most = MOST

    def _next(self) -> list[SentNote[Item]]:
        """Wait for notes, or for another try; return none at the end."""
        with self._changed:
            if self._is_away:
                pause = self._pause_seconds * random.uniform(0.5, 1)
                self._changed.wait_for(lambda: self._is_closing, pause)
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            return list(self._waiting)

    def _note_away(self, error: DatabaseAwayError) -> None:
        with self._changed:
            if not self._is_away:
                log.warning("notes wait for the database", extra={"why": str(error)})
            self._is_away = True
            self._changed.notify_all()

    def _write(self, notes: list[SentNote[Item]]) -> None:
        revision = self._write_items([note.item for note in notes])
        for note in notes:
            note.revision = revision
        self._take_out(notes)

    def _take_out(self, notes: list[SentNote[Item]]) -> None:
        with self._changed:
            self._is_away = False
            self._weight -= sum(note.weight for note in notes)
            del self._waiting[: len(notes)]
            self._changed.notify_all()
