"""The wishes of a client on a line: what it wants to see, and where it works.

The stdio entry says them in its first line. What is not of the right type is no wish.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from msgspec.structs import replace

from toolyard.announce import project_paths
from toolyard.core.agents import spelled
from toolyard.core.names import SEPARATORS
from toolyard.relay.view_key import ViewKey
from toolyard.wire import jsonrpc

NUMBER_MOST: Final = 2**53
OUTLIVING: Final = 2
"""The version from which the stdio entry knows the hub's own lines, and outlives it."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a client says of itself; empty where it says nothing."""

    app: str = ""
    server: str = ""
    separator: str = ""
    profile: str = ""
    agent: str = ""
    executor: str = ""
    cwd: str = ""
    """Its working directory."""
    version: int = 0
    """The version of the stdio entry."""
    asked: int = 0
    """The number of questions that hubs before this one have put to it."""
    again: bool = False
    """True if it was served by a hub before."""

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Take what has the right type."""
        return cls(
            app=_text(values, "app"),
            server=_text(values, "server"),
            separator=_text(values, "separator"),
            profile=_text(values, "profile"),
            agent=_text(values, "agent"),
            executor=_text(values, "executor"),
            cwd=_text(values, "cwd"),
            version=_number(values, "version"),
            asked=_number(values, "asked"),
            again=values.get("again") is True,
        )

    @property
    def outlives(self) -> bool:
        """True if it understands our own lines, and stays when we go."""
        return self.version >= OUTLIVING

    def view_key(self, usual: ViewKey) -> ViewKey | None:
        """Return the view that it wishes; None for the usual one."""
        wished = usual
        if self.separator in SEPARATORS[:-1]:
            wished = replace(wished, separator=self.separator)
        if self.app:
            wished = replace(wished, app=self.app)
        elif self.server:
            written = wished.separator
            wished = replace(wished, server=self.server, separator="", pattern_separator=written)
        if self.cwd:
            wished = replace(wished, folders=_projects(self.cwd))
        if self.profile:
            wished = replace(wished, profile=self.profile)
        if self.agent:
            executor = spelled(self.executor) or "local"
            wished = replace(wished, agent=spelled(self.agent), executor=executor)
        return wished if wished != usual else None


NO_WISHES: Final = Wishes()


def read_wishes(line: bytes) -> Wishes | None:
    """Read what the stdio entry says of itself; None if the first line is a message already."""
    try:
        raw = jsonrpc.fields(line).get("toolyard")
        values = jsonrpc.to_python(raw) if raw is not None else None
    except jsonrpc.MalformedError:
        return None
    return Wishes.of(values) if isinstance(values, dict) else None


def _projects(folder: str) -> tuple[str, ...]:
    """The folders whose announcements are for a client that works in this one."""
    if not os.path.isabs(folder):
        return ()
    return tuple(str(path.parent.parent) for path in project_paths(folder))


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _number(values: Mapping[str, object], key: str) -> int:
    value = values.get(key)
    return value if type(value) is int and 0 <= value < NUMBER_MOST else 0
