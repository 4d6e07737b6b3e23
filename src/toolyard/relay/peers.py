"""The other replicas of a hub, for what only one of them holds."""

from __future__ import annotations

from typing import Protocol

from toolyard.core.errors import LinkError
from toolyard.relay.session import ClientRequest, Session
from toolyard.wire.jsonrpc import Message


class Peers(Protocol):
    """Takes what belongs to another replica there."""

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        """Have a request answered by the replica that holds what it is about.

        Raises:
            LinkError: It cannot be reached.
        """
        ...

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Take a client's answer to the replica that asked.

        Raises:
            LinkError: It cannot be reached.
        """
        ...


class NoPeers:
    """No way to any other replica."""

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        """Refuse: what the request is about is elsewhere."""
        raise _unreachable(replica)

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Refuse: somebody else has asked."""
        raise _unreachable(replica)


def _unreachable(replica: str) -> LinkError:
    text = f"this is held by another replica, {replica!r}, which cannot be reached"
    return LinkError(text, "call again")
