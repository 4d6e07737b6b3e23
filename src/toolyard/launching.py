"""Starts a hub in this process; what a hub consists of is loaded only then."""

from __future__ import annotations

import gc
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolyard.settings import Settings


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Run the hub until it is told to stop."""
    with _kept_for_good():
        from toolyard.app import serving

    serving.serve(settings, ready)


def serve_stdio(flags: Mapping[str, object], view: Mapping[str, str]) -> None:
    """Run a hub for one client on stdin and stdout, until it leaves."""
    with _kept_for_good():
        from toolyard.app import serving

    serving.serve_stdio(flags, view)


@contextmanager
def _kept_for_good() -> Iterator[None]:
    """Load code that stays as long as the process: never look for garbage in it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
