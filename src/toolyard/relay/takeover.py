"""Sessions that another replica began, and this one goes on with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from toolyard.relay.client_greeting import ClientGreeting
from toolyard.relay.following import Following
from toolyard.relay.own_methods import OwnMethods
from toolyard.relay.session import Session
from toolyard.relay.session_notes import NO_NOTE, SessionNote, SessionNotes


class Takeover:
    """Brings a session to where its client believes it is."""

    def __init__(self, own: OwnMethods, following: Following, notes: SessionNotes) -> None:
        self._own = own
        self._following = following
        self._notes = notes

    def take_over(self, session: Session, greeting: ClientGreeting) -> Coroutine[Any, Any, None]:
        """Take in a client that another replica has greeted; what is returned restores the rest."""
        self._own.take_in(session, greeting)
        session.ready = True
        session.arrival = asyncio.get_running_loop().create_future()
        return self._restore(session, session.arrival)

    async def _restore(self, session: Session, arrival: asyncio.Future[None]) -> None:
        try:
            note = await self._notes.read(session.principal)
            session.log_level = note.log_level
        finally:
            session.arrival = None
            arrival.set_result(None)
        self._own.tell_level(session)
        await self._following.resume(session, note.watched)

    async def renew(self, session: Session, note: SessionNote) -> None:
        """Take in what a client has told another replica since."""
        if note.log_level != session.log_level:
            session.log_level = note.log_level
            self._own.tell_level(session)
        self._following.drop(session, session.watched.keys() - set(note.watched))
        await self._following.resume(session, note.watched)

    def forget(self, session: Session) -> None:
        """A client has ended its session: nobody goes on with it."""
        if session.replica:
            self._notes.write(session.principal, NO_NOTE)
