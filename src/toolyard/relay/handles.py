"""Handles that clients get for what one replica holds, and by which every replica finds it.

A call that waits for answers, a task, a result that was kept: each is in the memory of one hub, and
its client may come back to any. Sealed into the handle is who holds it; what it names there is
looked up by the handle itself.
"""

from __future__ import annotations

import re
from typing import Final

from toolyard.relay.peers import Peers
from toolyard.relay.session import ClientRequest, Session
from toolyard.wire.jsonrpc import Message
from toolyard.wire.seal import ROOM, Seal

_QUESTION: Final = re.compile(rb'"([A-Za-z0-9_.-]{1,63})\.[0-9]{1,19}"')
"""The id of a question that a replica put to a client, see `Session.ask`."""


class Handles:
    """Makes handles, and takes those of other replicas there."""

    def __init__(self, seal: Seal | None, peers: Peers) -> None:
        """Make handles; without a seal there is no other replica that could be meant."""
        self._seal = seal
        self._peers = peers

    def make(self, purpose: str, session: Session, inner: str) -> str:
        """Make a client's handle for what is called so here.

        It stays as it is for a client of this hub alone, and if it is too long to be sealed.
        """
        data = f"{session.replica} {inner}".encode()
        if self._seal is None or not session.replica or len(data) > ROOM:
            return inner
        return self._seal.seal(purpose, session.principal, data)

    async def pass_on(self, purpose: str, handle: str, request: ClientRequest) -> Message | None:
        """Have the holder of what a handle names answer a request; None if it is nobody else.

        Raises:
            LinkError: The holder cannot be reached.
        """
        holder = self._holder(purpose, request.session, handle)
        return await self._peers.pass_on(holder, request) if holder else None

    def _holder(self, purpose: str, session: Session, handle: str) -> str:
        """The other replica that made a handle for a client; empty if none did."""
        if self._seal is None or not session.replica:
            return ""
        data = self._seal.open(purpose, session.principal, handle)
        replica = data.decode().partition(" ")[0] if data is not None else ""
        return replica if replica != session.replica else ""

    def asker(self, session: Session, answer: Message) -> str:
        """The other replica whose question a client answers; empty if none asked it."""
        id_ = _QUESTION.fullmatch(answer.id) if session.replica else None
        replica = id_[1].decode() if id_ is not None else ""
        return replica if replica != session.replica else ""

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Take a client's answer to the replica that asked.

        Raises:
            LinkError: It cannot be reached.
        """
        await self._peers.pass_answer(replica, session, answer)

    async def ask_others(self, request: ClientRequest) -> list[Message]:
        """Have a request answered by all other replicas that can be reached."""
        return await self._peers.ask_others(request)

    def tell_others(self, session: Session, notice: Message) -> None:
        """Tell all other replicas what a client has said."""
        self._peers.tell_others(session, notice)
