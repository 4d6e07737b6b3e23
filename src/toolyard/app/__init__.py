"""Builds the house, starts it, stops it: the only room that knows every other."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from toolyard.app.doors import open_doors, say_unfindable
from toolyard.app.house import House
from toolyard.app.listening import bind_all
from toolyard.core.errors import StoreError
from toolyard.core.opened_hub import OpenedHub
from toolyard.doors.http.address import client_url, local_url
from toolyard.doors.stdio.own_streams import serve_stdio
from toolyard.doors.stdio.wishes import Wishes
from toolyard.feature import Feature
from toolyard.features import FEATURES
from toolyard.links.patience import Patience
from toolyard.records.holding import hold_state, live_beside
from toolyard.records.runfile import RunDir
from toolyard.settings import Settings

__all__ = ["House", "run"]

UNWRITABLE: Final = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""Errors that say that a directory of ours can take nothing more."""


async def run(
    settings: Settings,
    *,
    stdio: Mapping[str, str] | None = None,
    ready: Callable[[OpenedHub], None] | None = None,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    features: Sequence[Feature] = FEATURES,
) -> None:
    """Serve until told to stop; `stdio` is what the one client on our stdin and stdout wishes.

    The settings say how long a start, a call and an idle server may take; `patience` the rest.

    Raises:
        AlreadyRunningError: This user's hub is running already.
        ConfigError: The address cannot be used, or another hub has this state directory.
    """
    if stdio is not None:
        house = House(settings, patience, features)
        limit, wishes = settings.client_message_limit, Wishes.of(stdio)
        with live_beside(settings.state_dir, house.fleet.replica.id):
            await house.live(lambda: serve_stdio(house.relay, house.projects, limit, wishes))
        return
    place = RunDir(settings.runtime_dir)
    with (
        _held(place) as trouble,
        hold_state(settings.state_dir, settings.runtime_dir) as is_sole,
    ):
        token = settings.token or place.token()
        listeners = bind_all(settings)
        public = client_url(settings, listeners.door.port)
        url = local_url(settings, listeners.here.port)
        house = House(settings, patience, features, url, public, is_sole=is_sole)
        if trouble is not None:
            say_unfindable(house, place, str(trouble))
        try:
            await house.live(lambda: open_doors(house, place, listeners, token, ready))
        finally:
            place.clear()


@contextmanager
def _held(place: RunDir) -> Iterator[StoreError | None]:
    """Be the one hub of this user; where that cannot be written down, say why and go on."""
    with ExitStack() as stack:
        trouble = None
        try:
            stack.enter_context(place.hold())
        except StoreError as error:
            if getattr(error.__cause__, "errno", None) not in UNWRITABLE:
                raise
            trouble = error
        yield trouble
