"""Which process holds a socket, as far as the system tells this user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FAMILY: Final = 256
"""Processes looked at below one: a server has a few workers, not a crowd."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process behind a listener."""

    pid: int
    executable: str
    """Its full path; empty if the system does not tell."""

    @property
    def name(self) -> str:
        """The short name of its program."""
        return Path(self.executable).name or f"pid {self.pid}"


def find_holders(inodes: frozenset[int]) -> dict[int, Holder]:
    """Give the process of each socket, as far as this user may know.

    Looks at every process of the user, so this is for commands, not for every few seconds.
    """
    sockets = {f"socket:[{inode}]": inode for inode in inodes}
    holders: dict[int, Holder] = {}
    for pid in _pids():
        for target in _open_files(pid):
            if (inode := sockets.get(target)) is not None and inode not in holders:
                holders[inode] = Holder(pid, _executable(pid))
        if len(holders) == len(sockets):
            break
    return holders


def holds(pid: int, inodes: frozenset[int]) -> bool:
    """Tell whether a process, with those it started, holds all of these sockets."""
    missing = {f"socket:[{inode}]" for inode in inodes}
    for member in _family(pid):
        missing.difference_update(_open_files(member))
        if not missing:
            return True
    return False


def _family(pid: int) -> Iterator[int]:
    """Give a process, then those it started, nearest first."""
    waiting = [pid]
    for member in waiting:
        yield member
        if len(waiting) < FAMILY:
            waiting += _children(member)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{thread}/children").read_text("ascii")
            children += map(int, text.split())
    except OSError:  # another user's, or gone meanwhile
        pass
    return children


def _pids() -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    except OSError:
        return []


def _open_files(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:  # another user's, or gone meanwhile
        return []
    targets = []
    for name in names:
        try:
            targets.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return targets


def _executable(pid: int) -> str:
    try:
        # The kernel marks a program that was replaced on disk, as by an update.
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""
