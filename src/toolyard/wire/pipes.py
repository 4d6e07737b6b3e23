"""Pipes for the event loop, each of which is closed once, whatever loop it is."""

from __future__ import annotations

import asyncio
import os
from typing import IO


def for_loop(pipe: IO[bytes]) -> IO[bytes]:
    """Give the loop a pipe of ours to keep and to close; `pipe` itself is used up.

    uvloop closes the descriptor and then the file that it came from. In between another thread may
    have been given the number, for a database or another server, and would lose it.
    """
    if not type(asyncio.get_running_loop()).__module__.startswith("uvloop"):
        return pipe
    with pipe:
        return open(os.dup(pipe.fileno()), pipe.mode, buffering=0, closefd=False)
