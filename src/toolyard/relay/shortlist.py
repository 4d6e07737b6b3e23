"""Fewer tools than there are, for a client that takes only so many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolyard.relay.routes import Item
    from toolyard.relay.view import View


def shortened(view: View, items: list[Item]) -> list[Item]:
    """The list of tools as long as a client takes it: the hub's own, the pinned, then the others.

    What is left out is counted in the view; it can be called all the same.
    """
    most = view.exposure.most
    if not most or len(items) <= most:
        return items
    view.left_out = len(items) - most
    if view.expose != "all":
        return items[:most]  # all of these are pinned
    first = [_comes_first(view, name) for name in view.tools]
    order = sorted(range(len(items)), key=lambda i: not first[i])
    return [items[i] for i in order[:most]]


def _comes_first(view: View, name: str) -> bool:
    route = view.tools[name]
    if route.server is None or name in view.exposure.pinned:
        return True
    return view.selection.pins(view.entries[route.alias], route.key)
