"""Interrupts that are heard between two steps, so that no step is left half done."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While inside, an interrupt is noted, and raised where it is asked for."""

    def __init__(self) -> None:
        self._noted = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

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
        if self._noted.wait(seconds) if seconds else self._noted.is_set():
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._noted.set()
