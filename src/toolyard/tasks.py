"""An owner for work that is born outside of a coroutine, in a callback of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks, keeps them, and ends them all when closed; waits without a task, too."""

    __slots__ = ("_closed", "_tasks")

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Run `work` as a task of this owner; nothing starts once it is closed."""
        if self._closed:
            work.close()
            return None
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    @property
    def is_closed(self) -> bool:
        """True once nothing starts any more."""
        return self._closed

    def keep(self, wait: asyncio.Future[Any]) -> None:
        """Own something that is waited for in callbacks alone, until it is let go."""
        self._tasks.add(wait)

    def let_go(self, wait: asyncio.Future[Any]) -> None:
        """Forget a wait that is over."""
        self._tasks.discard(wait)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task failed", exc_info=error)

    async def settle(self, seconds: float) -> None:
        """Wait until the work that is under way now has ended, so long at most."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    async def close(self) -> None:
        """Cancel what is under way and wait until it has ended."""
        self._closed = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
