"""Fewer tools than there are, for a client that takes only so many."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from toolyard.relay.routes import Item


def limit_tools(items: list[Item], most: int, come_first: Iterable[bool]) -> list[Item]:
    """Return at most so many tools, 0 for all: those that come first, then the others, in order.

    What is left out can be called all the same.
    """
    if not most or len(items) <= most:
        return items
    first = list(islice(come_first, len(items)))
    order = sorted(range(len(items)), key=lambda index: not first[index])
    return [items[index] for index in order[:most]]
