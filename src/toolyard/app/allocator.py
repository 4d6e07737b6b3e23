"""The memory allocator of the C library, told to suit a process that computes in one thread."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_ARENA_MAX: Final = -8
"""`M_ARENA_MAX` of mallopt(3)."""


def share_one_heap() -> bool:
    """Let all threads take memory from one heap; return whether the C library does so now.

    glibc gives each thread a heap of its own. Ours wait for a disk or for the interpreter's lock,
    so they gain nothing by it, and each would keep some MB that no other can use.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        tune = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # musl has none
        return False
    return bool(tune(_ARENA_MAX, 1))
