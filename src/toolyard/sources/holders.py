"""Which process holds a socket, as far as the system tells this user."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


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
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, Holder] = {}
    for pid in _pids():
        for target in _open_files(pid):
            if (inode := wanted.get(target)) is not None and inode not in found:
                found[inode] = Holder(pid, _executable(pid))
        if len(found) == len(wanted):
            break
    return found


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
    found = []
    for name in names:
        try:
            found.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return found


def _executable(pid: int) -> str:
    try:
        # The kernel marks a program that was replaced on disk, as by an update.
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""
