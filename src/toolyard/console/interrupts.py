"""Interrupts that are heard between two steps, so that no step is left half done."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While inside, an interrupt is noted, and raised where it is asked for.

    It is noted in a pipe: a handler may run between any two instructions of ours, also of those
    that hold a lock, and an exception that it raised in a finalizer would be lost.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._before: dict[signal.Signals, Any] = {}
        self._is_finished = False

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._is_finished else handler)
        os.close(self._reader)
        os.close(self._writer)

    def finish(self) -> None:
        """Ignore interrupts to the end of the process: all is done, and is not undone any more.

        One that came while the last words are printed, or while Python cleans up, would make the
        process end as if it had been heard.
        """
        self._is_finished = True

    def check(self) -> None:
        """Go on, unless somebody interrupted.

        Raises:
            KeyboardInterrupt: Somebody did.
        """
        self.pause(0)

    def pause(self, seconds: float) -> None:
        """Wait a little, at most until somebody interrupts.

        Raises:
            KeyboardInterrupt: Somebody did.
        """
        if select.select([self._reader], [], [], seconds)[0]:
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        with suppress(BlockingIOError):  # it is full of them already
            os.write(self._writer, b"!")
