"""Exports calls and orders as they happen: a bounded queue, and a thread that empties it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.features.history.export.lines import logged_lines, order_line
from toolyard.features.history.export.sinks import LogSink
from toolyard.features.history.model import LoggedCall
from toolyard.records.audit_trail import AuditTrail

log = logging.getLogger(__name__)

MOST: Final = 20_000
"""Lines that may wait; beyond this calls are dropped and counted."""
AT_ONCE: Final = 1000
"""Lines of one batch."""
PAUSE_SECONDS: Final = 5.0
"""The pause before a place that did not take lines is tried again."""
CLOSE_SECONDS: Final = 5.0

Batch = Sequence[LoggedCall]


class Exporter:
    """Hands lines to a sink, from a thread; whoever notes calls never waits for it."""

    def __init__(
        self,
        sink: LogSink,
        trail: AuditTrail,
        replica: str = "",
        on_change: Callable[[], None] = lambda: None,
        most: int = MOST,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        """Export nothing yet.

        Args:
            replica: The name of this hub: each exports its own orders.
            on_change: Hears, in the thread, that lines were lost or the sink came or went.
        """
        self._sink, self._trail, self._replica = sink, trail, replica
        self._on_change, self._most, self._pause_seconds = on_change, most, pause_seconds
        self._batches: deque[tuple[Batch, float]] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._has_orders = self._is_closing = False
        self._last_order = 0
        self.lost = 0
        """Lines that nobody will get."""
        self.failure = ""
        """The reason why the sink took nothing the last time; empty if it did."""
        self._thread = threading.Thread(target=self._run, name="history export", daemon=True)

    def start(self) -> None:
        """Export from now on."""
        self._last_order = self._trail.newest()
        self._thread.start()

    def add(self, calls: Batch) -> None:
        """Take calls that are over; never waits, drops rather than grows."""
        with self._changed:
            if self._waiting + len(calls) > self._most:
                self.lost += len(calls)
            else:
                self._batches.append((calls, time() - monotonic()))
                self._waiting += len(calls)
            self._changed.notify()

    def note_order(self) -> None:
        """An order was given: what it changed is read from the trail."""
        with self._changed:
            self._has_orders = True
            self._changed.notify()

    def close(self) -> None:
        """Try once more to hand over what waits, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        is_last, told = False, 0
        while not is_last:
            with self._changed:
                self._changed.wait_for(self._has_work)
                is_last = self._is_closing
            before = self.failure
            self._pass_on()
            if self.failure != before or self.lost != told:
                told = self.lost
                self._on_change()
            if self.failure and not is_last:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_closing, self._pause_seconds)
        self._sink.close()

    def _has_work(self) -> bool:
        return bool(self._batches) or self._has_orders or self._is_closing

    def _pass_on(self) -> None:
        """Hand over all that waits; what is not taken waits on."""
        try:
            self._pass_orders()
            while self._batches:
                calls, epoch = self._batches[0]
                for begin in range(0, len(calls), AT_ONCE):
                    part = calls[begin : begin + AT_ONCE]
                    self._sink.send(logged_lines(part, epoch, self._replica))
                with self._changed:
                    self._batches.popleft()
                    self._waiting -= len(calls)
            self.failure = ""
        except (OSError, StoreError) as error:
            if not self.failure:
                log.warning("the history is not exported", extra={"why": str(error)})
            self.failure = str(error) or type(error).__name__

    def _pass_orders(self) -> None:
        if not self._has_orders:
            return
        self._has_orders = False
        try:
            while orders := self._trail.after(self._last_order, AT_ONCE):
                self._sink.send([order_line(order) for order in orders])
                self._last_order = orders[-1].id
        except BaseException:
            self._has_orders = True
            raise
