"""The tools of a server that a client may use, in the words of a profile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

_SPECIAL: Final = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Patterns of tools that a client hides."""

    hidden: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    """Tools that can be used although a pattern hides them."""

    def hides(self, tool: str) -> bool:
        """Return whether a tool is hidden."""
        return _matches(self.hidden, tool) and not _matches(self.spared, tool)


NOTHING: Final = ToolFilter(("*",))
"""Hides all there is."""


def only(tools: Iterable[str]) -> ToolFilter | None:
    """The filter that shows these tools; None if that is all of them."""
    names = list(tools)
    return None if "*" in names else ToolFilter(("*",), tuple(map(_exact, names)))


def all_but(tools: Iterable[str]) -> ToolFilter:
    """The filter that hides these tools."""
    return ToolFilter(tuple(map(_exact, tools)))


def combined(filters: Sequence[ToolFilter]) -> ToolFilter:
    """The filter that hides whatever one of them hides."""
    hidden = dict.fromkeys(pattern for part in filters for pattern in part.hidden)
    spared = dict.fromkeys(
        tool
        for part in filters
        for tool in part.spared
        if not any(other.hides(tool) for other in filters)
    )
    return ToolFilter(tuple(hidden), tuple(spared))


def hidden_patterns(server: str, tools: ToolFilter) -> list[str]:
    """Return the lines of a profile that hide these tools of a server."""
    if tools == NOTHING:
        return [server]
    hidden = [f"{server}/{tool}" for tool in tools.hidden]
    return hidden + [f"!{server}/{tool}" for tool in tools.spared]


def _exact(tool: str) -> str:
    """A name as a pattern; what stands in brackets after it are arguments."""
    return _SPECIAL.sub(lambda match: f"[{match[0]}]", tool.partition("(")[0])


def _matches(patterns: Iterable[str], tool: str) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)
