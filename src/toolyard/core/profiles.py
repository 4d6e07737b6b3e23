"""Profiles: named selections of servers and tools, and how these are shown.

A pattern names a server (`git`, `git@configured`), one of its offers (`git/log`), or the name
clients see (`git__log`); `*`, `?` and `[…]` stand for any characters. What is hidden is hidden,
even where it is allowed too; only a pattern after `!` in the same list excepts something from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from toolyard.core.errors import UnknownNameError
from toolyard.core.names import closest

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A named selection of servers and tools."""

    name: str
    title: str = ""
    allow: tuple[str, ...] = ()
    """What may be seen; everything if empty."""
    hide: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()
    """Tools that are listed even with `search`."""
    rename: Pairs = ()
    describe: Pairs = ()
    environment: Pairs = field(default=(), repr=False)
    """Variables for programs, which then run for the clients of this profile alone."""
    separator: str | None = None
    expose: str | None = None

    def reaches(self, names: Iterable[str], separator: str) -> bool:
        """Return whether anything of a server, known by these names, may be seen."""
        spellings = tuple(names)
        if self._hides(spellings):
            return False
        heads = (_head(pattern, separator) for pattern in self.allow)
        return not self.allow or any(_matches(head, spellings) for head in heads)

    def admits(self, names: Iterable[str], key: str, shown: str) -> bool:
        """Return whether an offer of a server may be seen; `shown` is its name for clients."""
        spellings = _spellings(names, key, shown)
        if self._hides(spellings):
            return False
        return not self.allow or _matches(self.allow, spellings)

    def _hides(self, spellings: tuple[str, ...]) -> bool:
        hidden = (pattern for pattern in self.hide if not pattern.startswith("!"))
        if not _matches(hidden, spellings):
            return False
        excepted = (pattern[1:] for pattern in self.hide if pattern.startswith("!"))
        return not _matches(excepted, spellings)

    def pins(self, names: Iterable[str], key: str, shown: str) -> bool:
        """Return whether a tool is listed even with `search`."""
        return _matches(self.pin, _spellings(names, key, shown))

    def renamed(self, names: Iterable[str], key: str, shown: str) -> str:
        """The name this profile gives a tool; empty if it gives none."""
        return _found(self.rename, _spellings(names, key, shown))

    def described(self, names: Iterable[str], key: str, shown: str) -> str:
        """The description this profile gives a tool; empty if it gives none."""
        return _found(self.describe, _spellings(names, key, shown))


def _head(pattern: str, separator: str) -> tuple[str, ...]:
    """The parts of a pattern that may name the server."""
    heads = {pattern, pattern.partition("/")[0]}
    if separator:
        heads.add(pattern.partition(separator)[0])
    return tuple(heads)


def _spellings(names: Iterable[str], key: str, shown: str) -> tuple[str, ...]:
    spellings = tuple(names)
    return (*spellings, *(f"{name}/{key}" for name in spellings), shown)


def _matches(patterns: Iterable[str], texts: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns for text in texts)


def _found(pairs: Pairs, texts: tuple[str, ...]) -> str:
    return next((value for name, value in pairs if name in texts), "")


def unknown_profile(name: str, profiles: Iterable[str]) -> UnknownNameError:
    """The error that names the profiles there are."""
    names = list(profiles)
    near = closest(name, names) or names[:20]
    hint = f"there are: {', '.join(near)}" if names else "there are none; see: toolyard profile set"
    return UnknownNameError(f"unknown profile {name[:80]!r}", hint)
