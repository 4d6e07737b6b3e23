"""Clients that are served here for another replica: those of sessions that are here, or guests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolyard.relay.passed import PassedClient, make_guest
from toolyard.relay.session import Session


class Guests:
    """Finds the session of a client that another replica speaks for."""

    def __init__(self, sessions: Callable[[], Iterable[Session]], replica: str) -> None:
        """Look among the sessions of legacy clients that are here first."""
        self._sessions = sessions
        self._replica = replica
        self._guests: dict[str, tuple[Session, int]] = {}
        """Sessions of legacy clients that are not here, and their requests that are under way."""

    def enter(self, client: PassedClient) -> Session:
        """The session for a request; `leave` it once the request has ended."""
        if client.is_modern:
            return make_guest(client, self._replica)
        session = self._own(client.principal)
        if session is not None:
            return session
        session, count = self._guests.get(client.principal) or (
            make_guest(client, self._replica),
            0,
        )
        self._guests[client.principal] = session, count + 1
        return session

    def has(self, client: PassedClient) -> bool:
        """Tell whether the session of a legacy client is here."""
        return self._own(client.principal) is not None

    def find(self, client: PassedClient) -> Session | None:
        """The session of a legacy client, if a request of it is or may be under way."""
        guest = self._guests.get(client.principal)
        return guest[0] if guest is not None else self._own(client.principal)

    def leave(self, session: Session) -> None:
        """A request of a session has ended."""
        guest = self._guests.get(session.principal)
        if guest is None or guest[0] is not session:
            return
        if guest[1] > 1:
            self._guests[session.principal] = session, guest[1] - 1
        else:
            del self._guests[session.principal]

    def _own(self, principal: str) -> Session | None:
        return next((one for one in self._sessions() if one.principal == principal), None)
