"""The views that clients have of the picture: made when somebody asks, kept while they are true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from toolyard.board import Board
from toolyard.core.model import ServerId
from toolyard.core.plans import Resolution
from toolyard.relay.guards import GuardMaker
from toolyard.relay.offers import OwnOffers
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.relay.view_making import make_view

VIEWS: Final = 100
"""Ways to see one picture that are kept, where nobody is connected who sees it so."""

Resolve = Callable[[str, str], Resolution]
"""Returns what an agent is given at an executor."""


class Views:
    """Every view by its key, each of the latest picture that somebody saw through it."""

    def __init__(
        self,
        board: Board,
        usual_key: ViewKey,
        resolve: Resolve,
        own_offers: OwnOffers,
        app_offers: Callable[[str], OwnOffers],
        used_keys: Callable[[], set[ViewKey | None]],
        guard_makers: Sequence[GuardMaker] = (),
    ) -> None:
        """Show the picture of a board.

        Args:
            usual_key: The view of those who ask for no other.
            own_offers: What the hub itself offers.
            app_offers: Returns what an app's own hub would offer.
            used_keys: Returns the keys of the clients that are connected; None is the usual one.
            guard_makers: Say what stands in front of tools.
        """
        self.usual_key = usual_key
        self.resolve = resolve
        self.own_offers = own_offers
        self._board = board
        self._app_offers = app_offers
        self._used_keys = used_keys
        self._guard_makers = guard_makers
        self._views: dict[ViewKey, View] = {}
        self._usual: View | None = None
        self._swept_at = -1
        self._most = VIEWS

    def look(self, view_key: ViewKey | None = None) -> View:
        """Return what clients see now; those without a key see the usual view.

        Raises:
            UnknownNameError: There is no such profile, app or agent.
        """
        snapshot = self._board.snapshot
        if view_key is None and self._usual is not None:
            # Nearly every call comes this way; even to look a key up would cost more.
            if self._usual.revision == snapshot.revision:
                return self._usual
        key = view_key or self.usual_key
        view = self._views.get(key)
        if view is None or view.revision != snapshot.revision:
            own = self._app_offers(key.app) if key.app else self.own_offers
            plans = self.resolve(key.agent, key.executor).plans if key.agent else ()
            lender = view or self._usual
            view = make_view(snapshot, key, lender, own, plans, self._guard_makers)
            self._sweep(snapshot.revision)
            self._views[key] = view
        if view_key is None:
            self._usual = view
        return view

    def shares(self, view_key: ViewKey | None, server: ServerId) -> bool:
        """Tell whether the clients of a view are served by the shared process of a server."""
        view = self.look(view_key)
        aliases = [alias for alias, entry in view.entries.items() if entry.server.id == server]
        return any(alias not in view.apart for alias in aliases)

    def _sweep(self, revision: int) -> None:
        """Forget views with their picture, and of one picture those that are too many.

        What a client that is connected sees is lent to its next view, and so is kept.
        """
        if revision == self._swept_at and len(self._views) < self._most:
            return
        used = {view_key or self.usual_key for view_key in self._used_keys()}
        self._views = {key: view for key, view in self._views.items() if key in used}
        self._swept_at, self._most = revision, max(VIEWS, 2 * len(self._views))
