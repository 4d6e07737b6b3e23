"""The last lines that a server wrote to its stderr."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from toolyard.core.errors import UnknownNameError
from toolyard.core.lookup import find_entry
from toolyard.links.pool import LinkPool
from toolyard.yard import Stopping, Yard

FOLLOW_SECONDS: Final = 0.25
Lines = tuple[str, ...]


def read_log(yard: Yard, alias: str) -> Lines:
    """Return the lines there are.

    Raises:
        UnknownNameError: There is no such server.
    """
    id_ = find_entry(yard.snapshot, alias).server.id
    keeper = yard.part(LinkPool).keepers.get(id_)
    return keeper.trace if keeper is not None else ()


async def follow_log(
    yard: Yard, alias: str, lines: Lines, *, goes_on: bool
) -> AsyncIterator[bytes]:
    """Tell these lines; if it goes on, also those that are added, until the server is gone."""
    yield _text(lines)
    stopping = yard.part(Stopping)
    while goes_on and not stopping.is_set():
        await asyncio.sleep(FOLLOW_SECONDS)
        try:
            latest = read_log(yard, alias)
        except UnknownNameError:
            return  # it was taken away
        if latest != lines:
            yield _text(_added(lines, latest))
            lines = latest


def _added(before: Lines, after: Lines) -> Lines:
    """The lines that are new: the tail of a ring overlaps with what was told."""
    for size in range(min(len(before), len(after)), 0, -1):
        if before[-size:] == after[:size]:
            return after[size:]
    return after


def _text(lines: Lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
