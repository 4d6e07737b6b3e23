"""An owner for work that is born outside of a coroutine, in a callback of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks, keeps them, and ends them all when closed; waits without a task, too."""

    __slots__ = ("_tasks", "is_closed", "waits")

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.waits: set[asyncio.Future[Any]] = set()
        """Answers that are waited for in callbacks alone; whoever adds one takes it out again."""
        self.is_closed = False
        """True once nothing starts any more."""

    @property
    def count(self) -> int:
        """The number of tasks that are under way."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Run `work` as a task of this owner; nothing starts once it is closed."""
        if self.is_closed:
            work.close()
            return None
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task failed", exc_info=error)

    async def settle(self, seconds: float) -> None:
        """Wait until the work that is under way now has ended, so long at most."""
        if under_way := self._tasks | self.waits:
            await asyncio.wait(under_way, timeout=seconds)

    async def close(self) -> None:
        """Cancel what is under way and wait until it has ended."""
        self.is_closed = True
        own = asyncio.current_task()
        under_way = [work for work in self._tasks | self.waits if work is not own]
        for work in under_way:
            work.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
