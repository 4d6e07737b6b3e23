"""Fits what a client sees to its quirks: names, number of tools, size of results, hints."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from toolyard.board import Board
from toolyard.core.known_clients import recognise_client
from toolyard.core.model import SourceState
from toolyard.core.names import LONGEST
from toolyard.core.quirks import KnownClient
from toolyard.relay.results import Results
from toolyard.relay.routes import Route
from toolyard.relay.session import Session
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message

SOURCE: Final = "passports"
"""The source that reports what the user set for clients."""
REMEMBERED: Final = 256
"""Clients told apart by all they say of themselves; more than that, and we look again."""
UNLIMITED: Final = sys.maxsize
ONCE: Final = """
This client reads the list of tools once. What appears later is not in it: look with \
toolyard_tools, and call it with the tool that is named there as callTool."""
FEWER: Final = """
Only {listed} of {all} tools are listed, for {title} takes no more."""
FOUND: Final = " Find the others with toolyard_tools, and call them with their callTool."


@dataclass(frozen=True, slots=True)
class IdentifiedClient:
    """A client as it made itself known."""

    info: bytes
    """All it said of itself."""
    client: str
    version: str
    known_client: KnownClient | None
    """The client of our table, or of the user's, that it is."""


class QuirkFitter:
    """Recognises a client when it says who it is, and fits its sessions to it."""

    def __init__(self, board: Board, usual: ViewKey, results: Results) -> None:
        self._board = board
        self._usual = usual
        self._state: SourceState | None = None
        self._fitted_to: SourceState | None = None
        """The user's quirks when all sessions were last looked at."""
        self._clients: dict[bytes, IdentifiedClient] = {}
        self.results = results

    @property
    def clients(self) -> list[IdentifiedClient]:
        """The clients that made themselves known since the start, or since a quirk changed."""
        return list(self._clients.values())

    def apply(self, session: Session, info: bytes) -> None:
        """Fit what a session sees to the client that speaks in it."""
        state = self._board.snapshot.sources.get(SOURCE)
        if state is not self._state or len(self._clients) >= REMEMBERED:
            self._clients.clear()
            self._state = state
        session.info = info
        client = (self._clients.get(info) or self._identify(info)).known_client
        if client is session.known_client:
            return
        session.known_client = client
        session.largest = (client.largest_result if client else 0) or UNLIMITED
        session.view_key = self._fitted(session.view_key, client)

    def refit(self, sessions: Iterable[Session]) -> list[Session]:
        """Apply what the user set; return the sessions that see something else after it."""
        state = self._board.snapshot.sources.get(SOURCE)
        if state is self._fitted_to:
            return []
        self._fitted_to = state
        moved = []
        for session in list(sessions):
            before = session.view_key
            self.apply(session, session.info)
            if session.view_key != before:
                moved.append(session)
        return moved

    def _identify(self, info: bytes) -> IdentifiedClient:
        name, version = _read(info)
        client = recognise_client(name, self._board.snapshot.quirks)
        identified = self._clients[info] = IdentifiedClient(info, name, version, client)
        return identified

    def _fitted(self, view_key: ViewKey | None, client: KnownClient | None) -> ViewKey | None:
        """Give a view the limits of a client in place of those it has; None for the usual view."""
        shown = view_key or self._usual
        longest = min(client.longest_name or LONGEST, LONGEST) if client else LONGEST
        most = client.most_tools if client else 0
        if shown.server or shown.app:
            most = 0  # without the hub's tools nobody would find what is not listed
        if (longest, most) == (shown.longest, shown.most):
            return view_key
        fitted = replace(shown, longest=longest, most=most)
        return fitted if fitted != self._usual else None

    def hints(self, session: Session, view: View) -> str:
        """Return what a client should be told, besides the usual."""
        client = session.known_client
        if client is None or view.key.server or view.key.app:
            return ""
        hints = ONCE if client.relists is False and view.has_own_tools else ""
        if view.left_out:
            listed = len(view.lists["tools"].items)
            hints += FEWER.format(listed=listed, all=listed + view.left_out, title=client.title)
            hints += FOUND if view.has_own_tools else ""
        return hints

    def fit(self, session: Session, route: Route, reply: Message) -> None:
        """Cut the answer of a tool, which is too large for its client."""
        keeps = b'"outputSchema"' in route.offer.raw
        reply.result = self.cut(session, reply.result, keeps=keeps)

    def cut(self, session: Session, result: Raw, *, keeps: bool) -> Raw:
        """A result that is too large for its client, cut."""
        return Raw(self.results.cut(session, bytes(result), keeps=keeps))


def _read(info: bytes) -> tuple[str, str]:
    try:
        value = jsonrpc.to_python(info) if info else {}
    except jsonrpc.MalformedError:
        value = {}
    fields = value if isinstance(value, dict) else {}
    name, version = fields.get("name"), fields.get("version")
    return (
        name[:100] if isinstance(name, str) else "",
        version[:100] if isinstance(version, str) else "",
    )
