"""Waits that executors need: bounded ones, and ones that handle cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event, `seconds` at most; return True if it happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def within_either(seconds: float, first: asyncio.Event, second: asyncio.Event) -> None:
    """Wait until one of two events happens, `seconds` at most."""
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(event.wait()) for event in (first, second)]
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()


async def through(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work even if the caller is cancelled meanwhile, and only then raise that."""
    task = asyncio.ensure_future(work)  # noqa: TID251 - awaited right here, to its end
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # marks it as retrieved
        raise cancelled
    return task.result()


async def heeding(work: Awaitable[T], undo: Callable[[T], None]) -> T:
    """Await the work of a library without losing a cancellation.

    Up to Python 3.11 `asyncio.wait_for` loses one that comes at the moment the work is done.
    """
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    result = await work
    if task.cancelling() > before:
        undo(result)
        raise asyncio.CancelledError
    return result
