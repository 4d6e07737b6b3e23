"""The folders that a shared server is told of, if it asks for them outside of calls.

A client that has folders gets a process of its own of such a server, see `relay/view_making.py`.
Where a process is shared all the same, it is told the folders of its only client, and ends before
it serves another: not every server forgets what it was told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolyard.board import Board
from toolyard.core.model import ServerId
from toolyard.core.roster import asking_of
from toolyard.links.pending import Requester
from toolyard.links.pool import LinkPool
from toolyard.relay.session import Home, Session
from toolyard.relay.view_key import ViewKey

CHANGED: Final = "notifications/roots/list_changed"
WHY: Final = "rested: it knew the folders of one client, which is no longer alone"


class Folders:
    """Follows who is attached, for the servers that ask for folders."""

    def __init__(
        self,
        board: Board,
        pool: LinkPool,
        sessions: set[Session],
        shares: Callable[[ViewKey | None, ServerId], bool],
    ) -> None:
        self._board = board
        self._pool = pool
        self._sessions = sessions
        self._shares = shares
        """Tells whether the clients of a view are served by the shared process of a server."""
        self.told: dict[ServerId, Session] = {}
        """The client whose folders the shared process of a server knows."""
        self._visited: set[ServerId] = set()
        """Servers that a client without a session used too, since clients last came or left."""

    def only(self, server: ServerId) -> Session | None:
        """The one client that is attached, if it has folders and shares the server."""
        if len(self._sessions) != 1 or server in self._visited:
            return None
        (session,) = self._sessions
        return session if session.has_folders and self._shares(session.view_key, server) else None

    def asked(self, server: ServerId, requesters: list[Requester]) -> Requester | None:
        """Choose who answers for the folders of a shared server, if there is no doubt."""
        session = self.only(server)
        if session is None or any(
            requester.client != session.principal for requester in requesters
        ):
            return None
        self.told[server] = session
        return Home(session)

    def clear_for(self, session: Session, server: ServerId) -> bool:
        """Let no call reach a process that knows another's folders; true if it was sent away."""
        holder = self.told.get(server)
        if holder is None or holder is session:
            return False
        self._visited.add(server)
        self._retire(server)
        return True

    def reconsider(self) -> None:
        """A client came or left: what servers were told may be wrong now."""
        self._visited.clear()
        for id_, keeper in self._pool.keepers.items():
            asking = asking_of(self._board.snapshot.roster, keeper.server)
            if keeper.link is None or asking is None or not asking.roots:
                continue
            holder, only = self.told.get(id_), self.only(id_)
            if holder is not None and holder is not only:
                self._retire(id_)
            elif only is not None and holder is None:
                keeper.link.notify(CHANGED)

    def _retire(self, server: ServerId) -> None:
        del self.told[server]
        keeper = self._pool.keepers.get(server)
        if keeper is not None:
            keeper.retire(WHY)
