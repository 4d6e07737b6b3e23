"""The instructions for a client that comes: words of the hub, then those of its servers.

Clients take only so much. What servers say shares the room that the hub's own words leave: short
texts stay whole, long ones are cut to the same length, with a mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolyard.relay.view import View

USUAL: Final = 8192
"""Characters of all instructions together, for a client of which nothing else is known."""
_CUT: Final = " [cut by toolyard: {} of {} characters]"
_LEFT_OUT: Final = "\n\n[toolyard left out what {} more servers say]"
_MARK_ROOM: Final = 60
"""Characters of the longer mark, with room for the numbers."""
_LEAST: Final = 100
"""Characters of a text that are worth showing."""


def instructions(view: View, own: str, most: int = 0) -> str:
    """All that the clients of a view are told, in so many characters.

    Who comes for one server alone is told what that server says, word for word, and nothing else.
    """
    if view.key.server:
        entry = view.entries.get(view.key.server)
        return entry.instructions if entry is not None else ""
    pairs = [(alias, entry.instructions.strip()) for alias, entry in view.entries.items()]
    texts = [(_head(view, alias), text) for alias, text in pairs if text]
    return own + _shared(texts, (most or USUAL) - len(own))


def _head(view: View, alias: str) -> str:
    separator = view.filter.separator
    tools = f" (its tools are {alias}{separator}*)" if separator else ""
    return f"\n\nThe server {alias}{tools} says:\n"


def _shared(texts: list[tuple[str, str]], room: int) -> str:
    """As many texts as fit, each with its head, in shares as equal as their lengths allow."""
    shown = list(_worth_showing(texts, room - _MARK_ROOM))
    left_out = len(texts) - len(shown)
    room -= sum(len(head) for head, _ in shown) + (_MARK_ROOM if left_out else 0)
    share = _fair_share((len(text) for _, text in shown), room)
    parts = [head + _cut(text, share) for head, text in shown]
    return "".join(parts) + (_LEFT_OUT.format(left_out) if left_out else "")


def _worth_showing(texts: list[tuple[str, str]], room: int) -> Iterator[tuple[str, str]]:
    """The first texts, as long as there is room for a part of each that says something."""
    for head, text in texts:
        room -= len(head) + min(len(text), _LEAST + _MARK_ROOM)
        if room < 0:
            return
        yield head, text


def _fair_share(lengths: Iterable[int], room: int) -> int:
    """The length to which the longest are cut, so that all together have room."""
    waiting = sorted(lengths)
    for number, length in enumerate(waiting):
        left = len(waiting) - number
        if length * left > room:
            return room // left
        room -= length
    return max(waiting, default=0)


def _cut(text: str, share: int) -> str:
    if len(text) <= share:
        return text
    part = text[: share - _MARK_ROOM].rstrip()
    return part + _CUT.format(len(part), len(text))
