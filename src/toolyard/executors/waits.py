"""Waits that every executor needs: bounded ones, and those that no cancellation cuts short."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it happens in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


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
