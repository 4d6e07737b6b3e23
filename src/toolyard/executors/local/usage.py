"""The memory of servers on this machine: of a process and all it started."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_of(pids: Iterable[int]) -> dict[int, int]:
    """Return the bytes in memory of all processes in these sessions; {} without /proc."""
    used = dict.fromkeys(pids, 0)
    try:
        running = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return {}
    for pid in running:
        session, pages = _read_stat(pid)
        if session in used:
            used[session] += pages * _PAGE
    return used


def _read_stat(pid: int) -> tuple[int, int]:
    """Return the session of a process and its pages in memory; zeros if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0, 0
    # The name of the program may hold anything, so count from its closing bracket.
    fields = stat.rpartition(b")")[2].split()
    return int(fields[3]), int(fields[21])
