"""Marks: what the user says of a tool, whatever its server says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

EVERY: Final = "*"
"""Stands for every server, or every tool, of which nobody can tell what was said."""


@dataclass(frozen=True, slots=True)
class ToolMark:
    """The tier that the user says a tool has."""

    server: str
    """The full name of its server."""
    tool: str
    tier: str


Marks = tuple[tuple[str, str], ...]
"""The tiers that the user says the tools of one server have."""


def marks_of(server: str, marks: Iterable[ToolMark]) -> Marks:
    """The marks of one server, by full name."""
    return tuple((mark.tool, mark.tier) for mark in marks if mark.server in (server, EVERY))
