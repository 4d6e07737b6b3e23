"""Sessions that were ended at any replica, as the database that they share tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Final

from toolyard.doors.http.ended import ENDED, EndedHere
from toolyard.records.postgres.connections import Connection
from toolyard.records.postgres.heartbeat import Statements, TakeIn
from toolyard.records.postgres.session_rows import BEGINNING, end_sessions, read_ended, read_mark

WRITTEN_AT_ONCE: Final = 1000


class EndedEverywhere:
    """The sessions that are over; what is ended here is told with the next heartbeat."""

    def __init__(
        self,
        clock: Callable[[], float],
        on_ended: Callable[[bytes], None],
        wake: Callable[[], None],
    ) -> None:
        """Know of none yet; `on_ended` hears of those that ended elsewhere."""
        self._here = EndedHere(clock)
        self._clock = clock
        self._on_ended = on_ended
        self._wake = wake
        self._untold: dict[bytes, float] = {}
        self._mark = BEGINNING

    def add(self, session: bytes, until: float) -> None:
        """Remember that a session is over, until this time; `session` stands for its id."""
        self._here.add(session, until)
        if len(self._untold) < ENDED:
            self._untold[session] = until
            self._wake()

    def __contains__(self, session: bytes) -> bool:
        return session in self._here

    def prepare(self) -> Statements:
        """Take down the sessions to tell of."""
        now = self._clock()
        untold = list(self._untold.items())[:WRITTEN_AT_ONCE]
        ended = {session: until - now for session, until in untold}
        return partial(self._carry_out, ended, self._mark)

    def _carry_out(
        self, ended: Mapping[bytes, float], mark: datetime, connection: Connection
    ) -> TakeIn:
        following = read_mark(connection)
        if ended:
            end_sessions(connection, ended)
        return partial(self._take_in, ended, read_ended(connection, mark), following)

    def _take_in(
        self, told: Mapping[bytes, float], heard: Mapping[bytes, float], mark: datetime
    ) -> None:
        self._mark = mark
        for session in told:
            self._untold.pop(session, None)
        now = self._clock()
        for session, seconds in heard.items():
            if session not in self._here:
                self._here.add(session, now + seconds)
                self._on_ended(session)
