"""Names the program that listens on a port, where the system tells."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def find_holder(port: int) -> str:
    """Give the program on a local TCP port as `name (pid N)`; empty if it cannot be told.

    Only Linux tells, and only about processes of this user.
    """
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        return ""
    for folder in Path("/proc").glob("[0-9]*"):
        if _has_open(folder / "fd", sockets):
            with suppress(OSError):
                return f"{(folder / 'comm').read_text().strip()} (pid {folder.name})"
    return ""


def _inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text("ascii").splitlines()[1:]:
                cells = line.split()
                if cells[3] == _LISTENS and int(cells[1].rpartition(":")[2], 16) == port:
                    found.add(cells[9])
    return found


def _has_open(folder: Path, sockets: set[str]) -> bool:
    try:
        names = os.listdir(folder)
    except OSError:  # another user's, or gone meanwhile
        return False
    for name in names:
        with suppress(OSError):
            if os.readlink(folder / name) in sockets:
                return True
    return False
