"""Marks servers by a limit that everything they start inherits."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_NEVER: Final = 1 << 62
"""The least of the limits that mark processes."""
FORKING: Final = threading.Lock()
"""Held while a child inherits a mark; whatever else is started meanwhile would inherit it too."""


@contextmanager
def marking() -> Iterator[int]:
    """Mark what is started inside by a real-time limit that no other process has.

    Give that limit, or 0 if it cannot be set. RLIMIT_RTTIME bounds how long a program with
    real-time priority may run without a pause, in microseconds; this one is more than 100,000
    years. A process that begins a session with an empty environment still inherits its limits.
    It is set on this process and inherited: a program that was marked after its start might have
    forked before.
    """
    if sys.platform != "linux":
        yield 0
        return
    import resource

    limit = 0
    with FORKING:
        usual = resource.getrlimit(resource.RLIMIT_RTTIME)
        with suppress(OSError, ValueError):  # we have a lower limit ourselves
            chosen = _NEVER | secrets.randbits(61)
            resource.setrlimit(resource.RLIMIT_RTTIME, (chosen, usual[1]))
            limit = chosen
        try:
            yield limit
        finally:
            resource.setrlimit(resource.RLIMIT_RTTIME, usual)
