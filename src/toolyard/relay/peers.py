"""The other replicas of a hub, for what only one of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolyard.relay.session import ClientRequest, Session
from toolyard.wire.jsonrpc import Message
from toolyard.wire.peer_posts import unreachable


class Peers(Protocol):
    """Takes what belongs to another replica there."""

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        """Have a request answered by the replica that holds what it is about.

        Raises:
            LinkError: It cannot be reached, or is gone.
        """
        ...

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Take a client's answer to the replica that asked.

        Raises:
            LinkError: It cannot be reached, or nobody there waits for it.
        """
        ...

    async def ask_others(self, request: ClientRequest) -> list[Message]:
        """Have a request answered by all others that can be reached."""
        ...

    async def ask_about_waiting(self, order: bytes) -> list[Message]:
        """Have all others that can be reached look for calls that wait for a yes."""
        ...

    def tell_others(self, session: Session, notice: Message) -> None:
        """Tell all others what a client has said."""
        ...

    def tell_of_waiting(self, members: Sequence[str]) -> None:
        """Tell all others whose calls wait for a yes here."""
        ...

    def is_known(self, replica: str) -> bool:
        """Whether a replica lives, as far as is known."""
        ...


class NoPeers:
    """No way to any other replica."""

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        """Refuse: what the request is about is elsewhere."""
        raise unreachable(replica)

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Refuse: somebody else has asked."""
        raise unreachable(replica)

    async def ask_others(self, request: ClientRequest) -> list[Message]:
        """Nobody else answers."""
        return []

    async def ask_about_waiting(self, order: bytes) -> list[Message]:
        """No call waits elsewhere."""
        return []

    def tell_others(self, session: Session, notice: Message) -> None:
        """Nobody else hears it."""

    def tell_of_waiting(self, members: Sequence[str]) -> None:
        """Nobody else hears it."""

    def is_known(self, replica: str) -> bool:
        """There is no other."""
        return False
