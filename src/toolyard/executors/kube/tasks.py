"""Work that is finished even if whoever asked for it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


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
        task.exception()  # it counts as seen
        raise cancelled
    return task.result()
