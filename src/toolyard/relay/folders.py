"""Whose folders a shared server is told that asks for them outside of calls.

A client that has folders gets a process of its own of such a server, see `relay/view.py`. Where a
process is shared all the same, it is told the folders of its only client, and ends when there are
others: not every server forgets what it was told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolyard.core.model import ServerId
from toolyard.core.roster import asking_of
from toolyard.hub import Hub
from toolyard.links.flight import Caller
from toolyard.relay.session import Home, Session

CHANGED: Final = "notifications/roots/list_changed"
WHY: Final = "rested: it knew the folders of one client, which is no longer alone"


class Folders:
    """Follows who is attached, for the servers that ask for folders."""

    def __init__(
        self, hub: Hub, sessions: set[Session], shares: Callable[[Session, ServerId], bool]
    ) -> None:
        self._hub = hub
        self._sessions = sessions
        self._shares = shares
        """Whether a client is served by the shared process of a server."""
        self._told: dict[ServerId, Session] = {}

    def only(self, server: ServerId) -> Session | None:
        """The one client that is attached, if it has folders and shares the server."""
        if len(self._sessions) != 1:
            return None
        (session,) = self._sessions
        return session if session.has_folders and self._shares(session, server) else None

    def asked(self, server: ServerId) -> Caller | None:
        """Who answers for the folders of a shared server, if there is no doubt."""
        session = self.only(server)
        if session is None:
            self._told.pop(server, None)
            return None
        self._told[server] = session
        return Home(session)

    def reconsider(self) -> None:
        """A client came or left: what servers were told may be wrong now."""
        for id_, keeper in self._hub.pool.keepers.items():
            asking = asking_of(self._hub.snapshot.roster, keeper.server)
            if keeper.link is None or asking is None or not asking.roots:
                continue
            told, only = self._told.get(id_), self.only(id_)
            if told is not None and told is not only:
                del self._told[id_]
                keeper.retire(WHY)
            elif only is not None and told is None:
                keeper.link.notify(CHANGED)
