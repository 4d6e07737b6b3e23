"""Tells every client what changed of the lists it sees, together and once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolyard.board import Board
from toolyard.core.errors import UnknownNameError
from toolyard.relay.subscriptions import COALESCE_SECONDS, Subscriptions
from toolyard.relay.view import KINDS, View
from toolyard.relay.view_key import ViewKey

Digests = dict[str, str]


class News:
    """Compares what each kind of client was told with what it would see now."""

    def __init__(
        self,
        board: Board,
        subscriptions: Subscriptions,
        look: Callable[[ViewKey | None], View],
        refit: Callable[[], None] = lambda: None,
    ) -> None:
        self._board = board
        self._subscriptions = subscriptions
        self._look = look
        self._refit = refit
        self._told: dict[ViewKey | None, Digests] = {}

    def expect(self, view_key: ViewKey | None) -> None:
        """A client has joined that sees the yard like this; it lists for itself what is there."""
        if view_key not in self._told:
            self._told[view_key] = self._digests(view_key)

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        revision = self._board.snapshot.revision
        self.expect(None)
        try:
            while True:
                revision = (await self._board.wait_after(revision)).revision
                if self._tell():
                    await asyncio.sleep(COALESCE_SECONDS)
        finally:
            await self._subscriptions.close()

    def _tell(self) -> bool:
        """Tell what changed; false if there was nothing to tell anybody."""
        self._refit()
        used = self._subscriptions.view_keys
        before, self._told = self._told, {e: self._digests(e) for e in {None, *used}}
        changed = {e: _kinds(before[e], now) for e, now in self._told.items() if e in before}
        self._subscriptions.lists_changed(changed)
        own = {e: self._own(e) for e in used}
        updated = self._subscriptions.own_updated(own)
        return updated or any(changed.values())

    def _digests(self, view_key: ViewKey | None) -> Digests:
        view = self._see(view_key)
        return {kind: listing.digest for kind, listing in view.lists.items()} if view else {}

    def _own(self, view_key: ViewKey | None) -> frozenset[str]:
        """The resources that the hub itself has."""
        view = self._see(view_key)
        table = view.resources if view is not None else {}
        return frozenset(uri for uri, route in table.items() if route.server is None)

    def _see(self, view_key: ViewKey | None) -> View | None:
        try:
            return self._look(view_key)
        except UnknownNameError:
            return None  # the app it wants was taken away


def _kinds(before: Digests, now: Digests) -> set[str]:
    kinds = {kind for kind in KINDS if now.get(kind) != before.get(kind)}
    return {"resources" if kind == "templates" else kind for kind in kinds}
