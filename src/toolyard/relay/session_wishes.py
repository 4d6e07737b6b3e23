"""Wishes of legacy clients that hold for their whole session, and so at every replica.

The next message of the client may reach another replica than the one that has just answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from toolyard.relay.handles import Handles
from toolyard.relay.session import ClientRequest
from toolyard.relay.session_notes import SessionNotes
from toolyard.wire.jsonrpc import Message

SESSION_WISHES: Final = frozenset(
    {"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
Answer = Callable[[ClientRequest], Awaitable[Message]]


class SessionWishes:
    """Has wishes hold everywhere before they are answered."""

    def __init__(self, handles: Handles, notes: SessionNotes) -> None:
        self._handles = handles
        self._notes = notes

    def everywhere(self, answer: Answer) -> Answer:
        """Return what carries a wish out here and at the replicas that have the session, too.

        Those to which it comes later read its notes, which are written by then.
        """

        async def carry_out(request: ClientRequest) -> Message:
            reply = await answer(request)
            if request.session.replica and not request.is_passed and reply.result:
                await asyncio.gather(self._notes.settle(), self._handles.ask_others(request))
            return reply

        return carry_out
