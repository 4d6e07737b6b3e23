"""URI templates: whether a URI is one that a template gives.

A template is a stranger's text, and so is the URI. No regular expression is made of it: the
places reached in the URI are one set, held as the bits of an integer, and each character or
variable of the template moves the whole set once. There is nothing to try again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_PARTS: Final = re.compile(r"(\{[^{}]*\})")
_ENDS: Final = "/?#"
"""The characters that a plain variable does not reach across."""


class Spread:
    """The places of each character in a URI, as sets: made once for many templates."""

    __slots__ = ("_at", "_inner", "all", "uri")

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.all = (1 << len(uri) + 1) - 1
        """The places between characters: bit n stands for the one after n of them."""
        self._at: dict[str, int] = {}
        self._inner = -1

    def at(self, character: str) -> int:
        """The places right before this character."""
        if not self._at:
            for place, other in enumerate(self.uri):
                self._at[other] = self._at.get(other, 0) | 1 << place
        return self._at.get(character, 0)

    @property
    def inner(self) -> int:
        """The places right before a character that a plain variable may hold."""
        if self._inner < 0:
            ends = 0
            for character in _ENDS:
                ends |= self.at(character)
            self._inner = (self.all >> 1) & ~ends
        return self._inner

    def after(self, places: int) -> int:
        """The first of these places, and all that follow."""
        first = places & -places
        return self.all & ~(first - 1) if first else 0


Step = str | Callable[[Spread, int], int]
"""One character, or what a variable makes of the places reached before it."""


class Template:
    """A URI template, ready to be compared with URIs."""

    __slots__ = ("_head", "_rest", "_steps")

    def __init__(self, text: str) -> None:
        self._head = text.partition("{")[0]
        self._rest = text.removeprefix(self._head)
        self._steps: tuple[Step, ...] | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps after the head; made when first needed, for most templates never are."""
        if self._steps is None:
            steps: list[Step] = []
            for part in _PARTS.split(self._rest):
                steps += [_variable(part)] if _PARTS.fullmatch(part) else part
            self._steps = tuple(steps)
        return self._steps

    def gives(self, spread: Spread) -> bool:
        """Return whether a URI is this template's, in as many steps as the template is long."""
        if not spread.uri.startswith(self._head):
            return False
        places = 1 << len(self._head)
        for step in self.steps:
            if isinstance(step, str):
                places = (places & spread.at(step)) << 1
            else:
                places = step(spread, places)
            if not places:
                return False
        return bool(places >> len(spread.uri))


def _variable(expression: str) -> Callable[[Spread, int], int]:
    if expression[1:2] in ("?", "&"):
        return _query
    wide = expression[1:2] in ("+", "/", "#") or expression.endswith("*}")
    return _anything if wide else _segment


def _segment(spread: Spread, places: int) -> int:
    """On to the next end of a segment: the sum carries each place through its run of bits."""
    inner = spread.inner
    return places | ((places & inner) + inner) ^ inner


def _anything(spread: Spread, places: int) -> int:
    return spread.after(places)


def _query(spread: Spread, places: int) -> int:
    """Nothing, or all that follows a question mark or an ampersand."""
    marks = places & (spread.at("?") | spread.at("&"))
    return places | spread.after(marks)
