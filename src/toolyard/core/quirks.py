"""Client quirks: the abilities and limits of each client, and what the user sets otherwise.

A client is known by the name it gives itself (`clientInfo.name`). Where nothing is known of a
client, nothing is changed for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.names import LONGEST, closest

Proof = Literal["recorded", "documented", "reported", "hearsay"]
"""How a fact is known: seen on the wire, said by its makers, shown by others, or told on."""

SHORTEST_NAME: Final = 24
"""No limit of names may be smaller: the hub's own tools must fit."""
FEWEST_TOOLS: Final = 10
"""No limit of tools may be smaller: the hub's own tools come first, and must leave room."""
SHORTEST_INSTRUCTIONS: Final = 1500
"""No limit of instructions may be smaller: the hub's own words must leave room for others."""
SMALLEST_RESULT: Final = 2048
"""No limit of results may be smaller: the mark where one was cut needs room."""
MOST: Final = 2**31 - 1
MOST_CLIENTS: Final = 200
"""Clients for which the user may set something."""


@dataclass(frozen=True, slots=True)
class Fact:
    """The origin of one entry about a client."""

    field: str
    proof: Proof
    text: str


@dataclass(frozen=True, slots=True)
class KnownClient:
    """The abilities and limits of one client; 0 and None stand for what is not known."""

    name: str
    title: str
    matches: tuple[str, ...]
    """Patterns of what it calls itself, in lower case."""
    transports: tuple[str, ...] = ()
    era: str = ""
    """The newest protocol revision it is known to speak."""
    relists: bool | None = None
    """True if it reads the tool list again when it is told that it changed."""
    longest_name: int = 0
    """Characters of a tool's name, without what the client itself puts before it."""
    most_tools: int = 0
    largest_result: int = 0
    """Bytes of one result."""
    longest_instructions: int = 0
    """Characters of the instructions of all servers together."""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientQuirk:
    """The user's own entries about a client; None leaves one as it is, 0 lifts a limit."""

    name: str
    """The id of a known client, or what any other client calls itself."""
    relists: bool | None = None
    longest_name: int | None = None
    most_tools: int | None = None
    largest_result: int | None = None
    longest_instructions: int | None = None

    @property
    def entries(self) -> dict[str, bool | int]:
        """The entries it sets, as they are written down."""
        values = {field: getattr(self, field) for field in FIELDS}
        return {field: value for field, value in values.items() if value is not None}


_BOUNDS: Final = {
    "longest_name": (SHORTEST_NAME, LONGEST),
    "most_tools": (FEWEST_TOOLS, MOST),
    "largest_result": (SMALLEST_RESULT, MOST),
    "longest_instructions": (SHORTEST_INSTRUCTIONS, MOST),
}
FIELDS: Final = ("relists", *_BOUNDS)
"""The entries that the user may set."""


def read_quirk(name: str, entries: Any) -> ClientQuirk:
    """Make a client quirk of the entries of a file or a request.

    Raises:
        ConfigError: It cannot be used.
    """
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise ConfigError(
            f"{name[:80]!r} cannot name a client", "use the name the client gives itself"
        )
    if not isinstance(entries, Mapping) or not entries:
        raise ConfigError(
            f"the quirks of {name!r} are not an object with entries",
            f'write it as "{name}": {{"longest_name": 60}}',
        )
    for field, value in entries.items():
        _check(str(field), value)
    return ClientQuirk(name, **entries)


def _check(field: str, value: Any) -> None:
    if field not in FIELDS:
        raise ConfigError(f"a client has no entry '{field}'", f"there are: {', '.join(FIELDS)}")
    if field == "relists":
        if not isinstance(value, bool):
            raise ConfigError("'relists' must be true or false")
        return
    least, most = _BOUNDS[field]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not (value == 0 or least <= value <= most):
        raise ConfigError(
            f"'{field}' is {value!r}", f"allowed is a whole number from {least} to {most}, or 0"
        )


def unknown_quirk(name: str, clients: Iterable[str]) -> UnknownNameError:
    """The error for a client for which the user has set nothing."""
    names = list(clients)
    near = closest(name, names) or names[:20]
    hint = f"there are: {', '.join(near)}" if names else "nothing was set for any client"
    return UnknownNameError(f"nothing was set for the client {name[:80]!r}", hint)
