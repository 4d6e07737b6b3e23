"""Waits that executors need: bounded ones, and those that deal with being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it happens in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def within_either(seconds: float, first: asyncio.Event, second: asyncio.Event) -> None:
    """Wait until one of two things happens, so long at most."""
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(event.wait()) for event in (first, second)]
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()


async def through(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work even if we are cancelled meanwhile, and only then be cancelled."""
    task = asyncio.ensure_future(work)  # noqa: TID251 - awaited right here, to its end
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # it counts as seen
        raise cancelled
    return task.result()


async def heeding(work: Awaitable[T], undo: Callable[[T], None]) -> T:
    """Await a library's work, and be cancelled if we were.

    Up to Python 3.11 `asyncio.wait_for` forgets that where the work is done at that very moment.
    """
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    made = await work
    if task.cancelling() > before:
        undo(made)
        raise asyncio.CancelledError
    return made
