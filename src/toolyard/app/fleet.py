"""Several hubs that are one: what each needs to go on with what another began."""

from __future__ import annotations

import time

from toolyard.doors.http.ended import EndedHere
from toolyard.doors.http.session_ids import RandomIds, SealedIds, SessionIds
from toolyard.wire.seal import Seal


def make_session_ids(seal: Seal | None, replica: str, days: int) -> SessionIds:
    """The ids of sessions; with a seal, other replicas go on with them for so many days."""
    if seal is None:
        return RandomIds()
    return SealedIds(seal, replica, EndedHere(time.time), days, time.time)
