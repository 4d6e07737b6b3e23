"""The legacy session of a client at a hub elsewhere: begun, kept, begun anew, ended."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from toolyard.core.errors import LinkError, ToolyardError
from toolyard.doors.stdio.conversation import Conversation, Json, is_request, read, within
from toolyard.doors.stdio.remote_http import Deliver, RemoteHttp, RemoteReply
from toolyard.doors.stdio.remote_stream import AnswerStream, Pauses
from toolyard.wire.headers import encode_value

log = logging.getLogger(__name__)

FAREWELL_SECONDS: Final = 2.0


class RemoteSession:
    """One session, which outlives the hub that it was begun at."""

    def __init__(self, http: RemoteHttp, deliver: Deliver) -> None:
        self._http = http
        self._deliver = deliver
        self._id = ""
        self._version = ""
        self._conversation = Conversation({})
        self._beginning = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """True once there is a session."""
        return bool(self._id)

    async def send(self, message: Json, line: bytes) -> RemoteReply | None:
        """Send a message in the session; None if its answer was delivered.

        A session that the hub does not know any more is begun anew: it has not looked at the
        message then.

        Raises:
            ToolyardError: The hub cannot be reached, or lets nobody in.
        """
        self._note(message, line)
        if message.get("method") == "initialize":
            return await self._begin(line)
        session, stream = self._id, AnswerStream(self._deliver)
        reply = await self._http.send("POST", self._lines(), stream.take, line)
        if reply.status == 404 and session:
            await self._restore(session)
            reply = await self._http.send("POST", self._lines(), stream.take, line)
        return None if stream.is_answered else reply

    async def hear(self) -> None:
        """Deliver what the hub says on its own, until cancelled; not every hub does."""
        pauses = Pauses()
        while True:
            session = self._id
            pauses.begin()
            try:
                reply = await self._http.send("GET", self._lines(), self._deliver)
                if reply.status == 405:
                    return
                if reply.status == 404:
                    await self._restore(session)
            except ToolyardError as error:
                log.debug("the hub is not heard: %s", error)
            await pauses.rest()

    async def close(self) -> None:
        """Tell the hub that the session is over, if it can be told."""
        if not self._id:
            return
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._http.send("DELETE", self._lines(), self._deliver)
        except (ToolyardError, TimeoutError) as error:
            log.debug("the hub was not told that the session is over: %s", error)

    def _note(self, message: Json, line: bytes) -> None:
        """Keep what another session has to be told."""
        self._conversation.note_message(message, line)
        if is_request(message):
            self._conversation.forget_request(message)

    async def _begin(self, line: bytes) -> RemoteReply:
        reply = await self._http.send("POST", "", self._deliver, line)
        session = reply.headers.get(b"mcp-session-id", b"").decode("latin-1")
        if reply.status == 200 and session:
            self._id = session
            self._version = str(within(read(reply.body), "result", "protocolVersion") or "")
        return reply

    async def _restore(self, lost: str) -> None:
        """Begin another session as the one that was lost, unless somebody has."""
        async with self._beginning:
            if self._id != lost:
                return
            greeting, *others = self._conversation.introduction()
            reply = await self._begin(greeting)
            if self._id == lost:
                text = reply.reason or f"HTTP {reply.status}"
                raise LinkError(f"the hub has ended the session, and begins no other: {text}")
            for line in others:
                await self._http.send("POST", self._lines(), _nobody, line)
            for line in self._conversation.announce_changes().splitlines():
                self._deliver(line)

    def _lines(self) -> str:
        session = f"mcp-session-id: {encode_value(self._id)}\r\n" if self._id else ""
        version = f"mcp-protocol-version: {encode_value(self._version)}\r\n"
        return session + (version if self._version else "")


def _nobody(_message: bytes) -> None:
    """For what the client did not ask."""
