"""Decides which new parts of servers a person must look at first, without holding up the hub.

A little is read at once. Of a server that says much more, everything new waits until a thread has
read it, which takes a second or two, and then it is judged again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from toolyard.core.model import Part, ServerId
from toolyard.features.approvals.inspecting import is_alarming

AT_ONCE: Final = 1 << 18
"""Bytes of new parts that are read while the hub waits; about 150 ms."""
READABLE: Final = 1 << 23
"""Bytes of new parts of one server that are read at all; the rest waits for a person."""
MOST_READ: Final = 50_000
"""Parts of one server that are read at all."""
_REMEMBERED: Final = 100_000


class Inspected(NamedTuple):
    """New parts, by what is known of their words."""

    alarming: set[Part]
    """A person must look at them."""
    unread: set[Part]
    """Nobody knows yet; they will be judged again."""


class Inspector:
    """Reads parts, and remembers which of them were alarming."""

    def __init__(self) -> None:
        self._read: dict[bytes, bool] = {}
        """By the digest of a part, the oldest first."""
        self._waiting: dict[ServerId, dict[Part, bytes]] = {}
        self._is_needed = asyncio.Event()

    def inspect(self, id_: ServerId, parts: Mapping[Part, bytes]) -> Inspected:
        """Tell parts of a server apart; what is too much to read at once is read by `read_next`."""
        marks = {part: _digest(part, raw) for part, raw in parts.items()}
        fresh = [part for part in parts if marks[part] not in self._read]
        fresh.sort(key=lambda part: (len(parts[part]), part))
        readable, beyond = _split(fresh, parts, READABLE)
        if sum(len(parts[part]) for part in readable) > AT_ONCE:
            self._waiting[id_] = {part: parts[part] for part in readable}
            self._is_needed.set()
            unread = set(readable)
        else:
            for part in readable:
                self._note(marks[part], is_alarming(part, parts[part]))
            unread = set()
        alarming = {part for part, mark in marks.items() if self._read.get(mark)}
        return Inspected(alarming | set(beyond), unread)

    async def read_next(self) -> ServerId:
        """Read what waits of one server, in a thread; return the server, to be judged again."""
        while not self._waiting:
            self._is_needed.clear()
            await self._is_needed.wait()
        id_, parts = next(iter(self._waiting.items()))
        results = await asyncio.to_thread(_read_all, parts)
        for mark, alarms in results.items():
            self._note(mark, alarms)
        if self._waiting.get(id_) is parts:  # else the server has said something else meanwhile
            del self._waiting[id_]
        return id_

    def _note(self, mark: bytes, alarms: bool) -> None:
        while len(self._read) >= _REMEMBERED:
            del self._read[next(iter(self._read))]
        self._read[mark] = alarms


def _split(
    order: list[Part], parts: Mapping[Part, bytes], most: int
) -> tuple[list[Part], list[Part]]:
    """Return the first of these parts, with so many bytes together, and the others."""
    for place, part in enumerate(order):
        most -= len(parts[part])
        if most < 0 or place == MOST_READ:
            return order[:place], order[place:]
    return order, []


def _read_all(parts: Mapping[Part, bytes]) -> dict[bytes, bool]:
    return {_digest(part, raw): is_alarming(part, raw) for part, raw in parts.items()}


def _digest(part: Part, raw: bytes) -> bytes:
    name = "\0".join(part).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(b"%b\0%b" % (name, raw), digest_size=16).digest()
