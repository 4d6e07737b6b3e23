"""Leases: which replica of several runs the process of a server, and how long that is sure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolyard.core.model import ServerId

_SHARED = "server:"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one replica to run a process; it holds as long as the replica lives."""

    key: str
    """The process that it is about; see `lease_key`."""
    holder: str
    """The replica that has it."""
    epoch: int
    """Grows whenever a lease is taken, by whomever: no two have the same."""


class Deadline:
    """The time at which a process must have ended, by the monotonic clock, unless it is moved."""

    def __init__(self, at: float) -> None:
        self.at = at
        self._followers: list[Callable[[float], None]] = []

    def follow(self, call: Callable[[float], None]) -> None:
        """Call this whenever the deadline is moved."""
        self._followers.append(call)

    def move(self, at: float) -> None:
        """Give the process more time."""
        self.at = at
        for call in self._followers:
            call(at)


def lease_key(server: ServerId, apart: str = "", owner: str = "") -> str:
    """Name a process among those of all replicas.

    Args:
        apart: The way in which it runs otherwise than the server of the picture, if it does.
        owner: The session that it is for alone, if it is; it cannot be read from the name.
    """
    if not apart:
        return f"{_SHARED}{server}"
    return f"apart:{server}:{apart}:{hashlib.sha256(owner.encode()).hexdigest()}"


def find_runners(leases: Iterable[Lease]) -> dict[str, str]:
    """Give the replica that runs each shared server, by `name@source`."""
    return {
        lease.key.removeprefix(_SHARED): lease.holder
        for lease in leases
        if lease.key.startswith(_SHARED)
    }
