"""Starts a hub in this process, or stands in for one; what that takes is loaded only then."""

from __future__ import annotations

import gc
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolyard.core.opened_hub import OpenedHub
    from toolyard.settings import Settings


def serve(settings: Settings, ready: Callable[[OpenedHub], None]) -> None:
    """Run the hub until it is told to stop."""
    with _kept_for_good():
        from toolyard.app import serving

    serving.serve(settings, ready)


def serve_stdio(flags: Mapping[str, object], view: Mapping[str, str]) -> None:
    """Run a hub for one client on stdin and stdout, until it leaves."""
    with _kept_for_good():
        from toolyard.app import serving

    serving.serve_stdio(flags, view)


def serve_remote(url: str, profile: str, server: str) -> None:
    """Stand in for a hub elsewhere, for one client on stdin and stdout, until it leaves."""
    with _kept_for_good():
        import asyncio

        from toolyard.doors.stdio import remote
        from toolyard.features.remote_hub.address import door_of, read_hub
        from toolyard.features.remote_hub.hub_login import open_hub_login

    hub = read_hub(url)

    async def stand_in() -> None:
        await remote.serve(hub, door_of(hub, profile, server), open_hub_login(hub).bearer)

    asyncio.run(stand_in())


@contextmanager
def _kept_for_good() -> Iterator[None]:
    """Load code that stays as long as the process: never look for garbage in it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
