"""The agreement of a team: which servers, how they are started, and which tools they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.model import Kind, Part

LOCKED_KINDS: Final[frozenset[Kind]] = frozenset({"tools", "prompts", "templates", "instructions"})
"""The kinds of parts in a lock file; resources come and go with a server's data."""


@dataclass(frozen=True, slots=True)
class Locked:
    """One server of a lock file; hashes are those of `core.parts`."""

    launch: str
    parts: Mapping[Part, str] = field(default_factory=dict)
    package: str = ""
    """Which package it is, with its version, where that is known."""
    release: str = ""
    """The version that the server itself tells."""
    kinds: frozenset[Kind] = LOCKED_KINDS
    """The kinds of parts it speaks of; older files know of tools alone."""
    also: Mapping[Part, tuple[str, ...]] = field(default_factory=dict)
    """Of a server as it is now, all that stands for a part, whatever was approved of it."""


Lock = Mapping[str, Locked]
"""Servers by their full names, `name@source`."""
