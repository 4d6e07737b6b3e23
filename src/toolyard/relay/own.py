"""The hub's own offers and answers, as the relay meets them: Toolyard's, or those of one app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from toolyard.relay.calls import Calls
from toolyard.relay.offers import OwnOffers
from toolyard.relay.session import ClientRequest
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.wire.jsonrpc import Message

Look = Callable[[ViewKey], View]


class OwnAnswers(Protocol):
    """Answers what clients ask of a hub itself."""

    @property
    def identity(self) -> Mapping[str, str]:
        """The hub that answers: its name, title and version."""
        ...

    def introduction(self, view: View) -> str:
        """Tell a model how to work with what a view shows."""
        ...

    async def call(self, request: ClientRequest, name: str, view: View) -> Message:
        """Run one of the hub's own tools."""
        ...

    def read(self, uri: str, view: View) -> bytes:
        """The result of reading one of the hub's own resources."""
        ...

    def prompt(self, name: str, view: View) -> bytes:
        """The result of getting one of the hub's own prompts."""
        ...


class AppHubs(Protocol):
    """The hubs of single apps: their clients are answered as that app's own hub would."""

    def offers(self, app: str) -> OwnOffers:
        """Return what an app's own hub would offer.

        Raises:
            UnknownNameError: There is no such app.
        """
        ...

    def answers(self, app: str, calls: Calls, look: Look) -> OwnAnswers:
        """Make what answers the clients of an app.

        Raises:
            UnknownNameError: There is no such app.
        """
        ...
