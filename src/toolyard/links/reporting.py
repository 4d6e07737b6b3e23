"""Tells the board of one server: its state, its offers, and what is wrong with it.

What a server offered stays listed for a grace after it is lost: most come back at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from toolyard.core.errors import ToolyardError
from toolyard.core.model import NO_OFFERS, Observation, Peer, Problem, Server, Status
from toolyard.links.failures import failure, lacking, partly_listed
from toolyard.links.offered import OfferedLists


class StatusReporter:
    """Posts what is seen of a server, and remembers what was wrong with it."""

    def __init__(
        self, post: Callable[[Observation], None], lists: OfferedLists, grace: float
    ) -> None:
        """Begin; `grace` are the seconds for which offers stay listed after a loss."""
        self.failing_since: float | None = None
        """Since when it cannot be reached, in seconds since the epoch."""
        self.last_error: Problem | None = None
        """What was wrong last, also after it is well again."""
        self._post = post
        self._lists = lists
        self._grace = grace
        self._timer: asyncio.TimerHandle | None = None
        """Ends the grace."""
        self._trouble: Problem | None = None
        """What was wrong the last time; shown until the server is ready again."""
        self._lacking: Problem | None = None
        """What it was refused while it is ready."""

    def starting(self, server: Server) -> None:
        """It is being started, or reached."""
        self._tell(server, Status.STARTING, self._trouble)

    def installing(self, server: Server, problem: Problem | None) -> None:
        """Its package is installed first; `problem` is what that mends, if anything."""
        self._tell(server, Status.INSTALLING, problem or self._trouble)

    def ready(self, server: Server, peer: Peer) -> None:
        """It serves, and this is how it greeted us."""
        self.close()
        self.failing_since = self._trouble = None
        problem = self._lacking or partly_listed(server, self._lists.failures)
        offers = self._lists.offers
        self._post(Observation(server.id, Status.READY, offers=offers, peer=peer, problem=problem))

    def idle(self, server: Server) -> None:
        """It rests until it is needed."""
        self._tell(server, Status.IDLE)

    def failing(self, server: Server, error: ToolyardError) -> None:
        """It cannot be reached, or was lost."""
        self.failing_since = self.failing_since or time.time()
        self._trouble = self.last_error = failure(server, error)
        self._tell(server, Status.FAILING, self._trouble)
        # A member without a login says nothing about what others can use.
        if self._timer is None and not server.steady and not server.is_per_member:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._grace, self._forget, server)

    def lack(self, server: Server, error: ToolyardError | None) -> bool:
        """Note that some calls need more rights, or None: none does; return whether that is new."""
        problem = lacking(server, error) if error is not None else None
        is_news, self._lacking = problem != self._lacking, problem
        return is_news

    def close(self) -> None:
        """End the grace without a word."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self, server: Server) -> None:
        """The grace is over: what the server offered is no longer listed."""
        self._timer = None
        self._lists.forget()
        problem = self._trouble
        self._post(Observation(server.id, Status.FAILING, offers=NO_OFFERS, problem=problem))

    def _tell(self, server: Server, status: Status, problem: Problem | None = None) -> None:
        self._post(Observation(server.id, status, problem=problem))
