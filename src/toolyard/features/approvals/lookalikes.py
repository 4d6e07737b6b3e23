"""Finds names that are easily taken for others, and words about tools of other servers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from toolyard.features.approvals.plain_text import unmask

OURS: Final = "toolyard"
"""The beginning of the names of the hub's own tools."""
_DRAWN: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_FIGURES: Final = str.maketrans("01|!i5", "olllls")
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.-]+[A-Za-z0-9]+)+|[a-z]+[A-Z]\w{2,60}")
_CLOSE: Final = (8, 64)
"""Letters of a name that can be another with a slip of the pen; in shorter ones that is chance."""


class Confusion(NamedTuple):
    """A name, or words about one, that lead to another tool than they seem to."""

    is_serious: bool
    text: str
    why: str


def skeleton(name: str) -> str:
    """Return what a name looks like: names with the same one are taken for each other."""
    plain = unmask(name).lower().translate(_FIGURES)
    for drawn, letter in _DRAWN:
        plain = plain.replace(drawn, letter)
    return plain


class Neighbours:
    """The names of tools of other servers, to be compared with."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take names, each with the server whose tool it is."""
        self._names = names
        self._drawn = {skeleton(name): name for name in names}
        self._slips = {slip: name for name in names for slip in _slips(name)}

    def find_alike(self, name: str) -> Confusion | None:
        """Return of which tool another is taken for; None if it is alike to none, or the same."""
        if name in self._names:
            return None  # many servers have a `search`: it is shown with its server's name
        other = self._drawn.get(skeleton(name))
        if other is not None:
            return Confusion(False, name, f"looks like {other!r} of {self._names[other]!r}")
        for slip in _slips(name):
            other = self._slips.get(slip)
            if other is not None and _is_slip(name, other):
                return Confusion(False, name, f"nearly {other!r} of {self._names[other]!r}")
        return None

    def find_named(self, text: str, own: Iterable[str]) -> Iterator[Confusion]:
        """Yield the tools of others that a text speaks of."""
        mentioned = {match.group() for match in _IDENTIFIER.finditer(text)}
        for name in sorted((mentioned & self._names.keys()) - set(own)):
            yield Confusion(False, name, f"speaks of {name!r}, a tool of {self._names[name]!r}")


def find_ours(name: str) -> Confusion | None:
    """Return that a name looks like one of the hub's own, if it does."""
    if skeleton(name).startswith(skeleton(OURS)):
        return Confusion(True, name, "is named like a tool of the hub itself")
    return None


def _slips(name: str) -> Iterator[str]:
    """Yield a name without each of its letters: names one slip apart share one of these."""
    if _CLOSE[0] <= len(name) <= _CLOSE[1]:
        yield name
        yield from (name[:at] + name[at + 1 :] for at in range(len(name)))


def _is_slip(name: str, other: str) -> bool:
    """Return whether a name is another with a slip of the pen, not with another meaning."""
    if sorted(name) == sorted(other):
        return True  # two letters in the other order
    if abs(len(name) - len(other)) != 1:
        return False  # one letter for another: `get_user` and `set_user` mean two things
    longer, shorter = sorted((name, other), key=len, reverse=True)
    at = next((i for i, c in enumerate(shorter) if longer[i] != c), len(shorter))
    is_end = at == len(shorter) or not longer[at + 1 : at + 2].isalnum()
    doubled = at > 0 and longer[at] == longer[at - 1]
    return longer[at].isalpha() and (doubled or not (is_end and longer[at] in "sd"))
