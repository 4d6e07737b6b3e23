"""Builds the house, starts it, stops it: the only room that knows every other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolyard.app.doors import bind_door, open_doors
from toolyard.app.house import House
from toolyard.links.opening import Patience
from toolyard.settings import Settings
from toolyard.stores.runfile import RunDir
from toolyard.surfaces.lines import serve_stdio

__all__ = ["House", "run"]


async def run(
    settings: Settings,
    *,
    stdio: Mapping[str, str] | None = None,
    ready: Callable[[str], None] | None = None,
    patience: Patience = Patience(),  # noqa: B008 - frozen
) -> None:
    """Serve until told to stop; `stdio` is what the one client on our stdin and stdout wishes.

    The settings say how long a start, a call and an idle server may take; `patience` the rest.

    Raises:
        AlreadyRunningError: This user's hub is running already.
        ConfigError: The address cannot be used.
    """
    if stdio is not None:
        house = House(settings, patience)
        await house.live(lambda: serve_stdio(house.relay, settings.client_message_limit, stdio))
        return
    place = RunDir(settings.runtime_dir)
    with place.hold():
        token = settings.token or place.token()
        sock = bind_door(settings)
        house = House(settings, patience)
        try:
            await house.live(lambda: open_doors(house, place, sock, token, ready))
        finally:
            place.clear()
