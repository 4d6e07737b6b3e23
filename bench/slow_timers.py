"""A hub whose timers hardly run on once it is told so, for counting what calls alone cost.

    python -P bench/slow_timers.py up --port 0 ...     then: kill -USR1 PID

Under valgrind a call takes so much longer that what a hub does once a second would be counted as if
it belonged to calls. Its words are those of `toolyard`.
"""

from __future__ import annotations

import asyncio
import runpy
import signal
from collections.abc import AsyncIterator
from typing import Any

import uvloop
import watchfiles

SLOWER = 1000.0


class SlowLoop(uvloop.Loop):
    """An event loop on which time can be made to pass slowly."""

    __module__ = "uvloop"  # the hub asks for it where uvloop needs something special
    pace = 1.0

    def call_later(self, delay: float, *words: Any, **context: Any) -> asyncio.TimerHandle:
        """Call something later, and then a little later than that."""
        return super().call_later(delay * self.pace, *words, **context)

    def call_at(self, when: float, *words: Any, **context: Any) -> asyncio.TimerHandle:
        """Call something at a time, as far off as it is here."""
        now = self.time()
        return super().call_at(now + (when - now) * self.pace, *words, **context)


def slow_down(_signal: int, _frame: object) -> None:
    """Make time pass slowly from now on."""
    SlowLoop.pace = SLOWER


async def watch_nothing(*_paths: object, **_options: object) -> AsyncIterator[None]:
    """Never see a change, in place of threads that look 20 times a second in older hubs."""
    await asyncio.Event().wait()
    yield


if __name__ == "__main__":
    watchfiles.awatch = watch_nothing
    signal.signal(signal.SIGUSR1, slow_down)
    uvloop.new_event_loop = SlowLoop
    runpy.run_module("toolyard", run_name="__main__", alter_sys=True)
