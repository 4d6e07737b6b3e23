"""Searches the tools of a view, by an index that goes on from picture to picture."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolyard.core.model import Offer
from toolyard.core.search import Index, Matches, TextGroup
from toolyard.relay.routes import Route
from toolyard.wire import jsonrpc

SLICE_TOOLS: Final = 16
SLICE_BYTES: Final = 64 * 1024
"""The most that is taken into the index at one go: about a millisecond. Then others have a turn."""
COMPARED_SLICES: Final = 64
"""The most that are prepared at one go, to be compared with those in the index."""

NamesOf = Mapping[str, Sequence[str]]
"""The exposed names of tools, by the alias of their server."""


class ToolSearch:
    """The index of all views of one key, the latest that was searched.

    One that is older and still searched gets it back; the way is as short as it was there.
    """

    def __init__(self) -> None:
        self._index = Index(_description)
        self._lock = asyncio.Lock()
        self._revision: int | None = None
        """Of the picture whose tools are in the index; None on the way to another."""

    async def find(
        self,
        revision: int,
        tools: Mapping[str, Route],
        names_of: NamesOf,
        query: str,
        alias: str,
        most: int | None,
    ) -> Matches:
        """Find the tools of a view, as positions among all; see `Index.search`."""
        async with self._lock:
            if self._revision != revision:
                self._revision = None
                await self._follow(tools, names_of)
                self._revision = revision
            return self._index.search(query, most, alias)

    async def _follow(self, tools: Mapping[str, Route], names_of: NamesOf) -> None:
        slices: list[TextGroup[Offer]] = []
        for part in _slices(tools, names_of):
            slices.append(part)
            if len(slices) % COMPARED_SLICES == 0:
                await asyncio.sleep(0)
        for _ in self._index.follow(slices):
            await asyncio.sleep(0)


def _slices(tools: Mapping[str, Route], names_of: NamesOf) -> Iterator[TextGroup[Offer]]:
    """The tools of each server, in parts that can be taken in at one go."""
    for alias, names in names_of.items():
        offers = tuple(tools[name].offer for name in names)
        for start in range(0, len(names), SLICE_TOOLS):
            end = start + SLICE_TOOLS
            whole = TextGroup(alias, tuple(names[start:end]), offers[start:end])
            is_long = sum(len(offer.raw) for offer in whole.sources) > SLICE_BYTES
            yield from _singly(whole) if is_long else (whole,)


def _singly(group: TextGroup[Offer]) -> Iterator[TextGroup[Offer]]:
    for name, offer in zip(group.names, group.sources, strict=True):
        yield TextGroup(group.key, (name,), (offer,))


def _description(offer: Offer) -> str:
    fields = jsonrpc.fields(offer.raw)
    parts = [jsonrpc.to_python(fields[k]) for k in ("title", "description") if k in fields]
    return " ".join(p for p in parts if isinstance(p, str))
