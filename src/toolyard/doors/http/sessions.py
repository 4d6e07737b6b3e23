"""The sessions of legacy clients at the HTTP door: how many, whose, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.caller import Caller
from toolyard.doors.http.reply import HttpReply, Stream
from toolyard.doors.http.session_ids import SessionIds
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest, Session
from toolyard.relay.view_key import ViewKey

UNHEARD: Final = 64
"""Messages kept for a client that has not opened its listening stream yet."""
SHARE: Final = 4
"""One member, or one token of an agent, may have this part of all sessions: a quarter."""
RESERVE: Final = 10
"""And this part, a tenth, is for the hub's own token alone."""
SWEEP_SECONDS: Final = 60.0


class HttpSession:
    """A session, with its listening stream, and the time it was last used."""

    __slots__ = (
        "_hung_up",
        "_stream",
        "_unheard",
        "caller",
        "id",
        "session",
        "used_at",
        "view_key",
    )

    def __init__(
        self, id_: bytes, ids: SessionIds, caller: Caller, view_key: ViewKey | None, now: float
    ) -> None:
        self.id = id_
        self.caller = caller
        """The caller that opened it; nobody else may use it."""
        self.view_key = view_key
        """The view that the path shows at which it was opened; it is used there alone."""
        self.session = Session(
            ids.principal(id_),
            self.push,
            account=caller.account,
            caller=caller.name,
            member=caller.member,
            token=caller.token,
            view_key=view_key,
            replica=ids.replica,
        )
        self.used_at = now
        self._stream: Stream | None = None
        self._unheard: list[bytes] = []
        self._hung_up: set[ClientRequest] = set()
        """Requests under way whose connections have ended."""

    def push(self, message: bytes) -> None:
        """Say something unasked; kept for a while if nobody listens yet."""
        if self._stream is not None:
            self._stream.put(message)
        elif len(self._unheard) < UNHEARD:
            self._unheard.append(message)

    def is_of(self, caller: Caller, view_key: ViewKey | None) -> bool:
        """Tell whether a caller opened it, at a path that shows the same."""
        # Nearly always these are the very objects; to compare all they say would cost more.
        if self.caller is caller and self.view_key is view_key:
            return True
        if self.caller != caller or self.view_key != view_key:
            return False
        # A member is another object after each change of members, and with each new token.
        self.caller, self.view_key = caller, view_key
        return True

    @property
    def is_idle(self) -> bool:
        """True if neither a stream nor a request of it is under way."""
        return self._stream is None and not self.session.requests

    def listen(self, reply: HttpReply) -> Stream:
        """Say what is unasked on this reply from now on."""
        self.end_stream()
        stream = self._stream = Stream(reply)
        unheard, self._unheard = self._unheard, []
        for message in unheard:
            stream.put(message)
        return stream

    def end_stream(self) -> None:
        """End the listening stream, if there is one."""
        if self._stream is not None:
            self._stream.finish()
            self._stream = None

    def stream_lost(self, stream: Stream) -> bool:
        """The connection of a stream has ended; false if another had taken its place."""
        stream.close()
        if self._stream is not stream:
            return False
        self._stream = None
        self._abandon_unwanted()
        return True

    def hung_up(self, request: ClientRequest) -> None:
        """The connection of a request has ended."""
        self._hung_up.add(request)
        self._abandon_unwanted()

    def _abandon_unwanted(self) -> None:
        """Cancel what is under way, if nothing of the client is connected any more."""
        waiting = set(self.session.requests.values())
        self._hung_up &= waiting
        if self._stream is None and self._hung_up == waiting:
            for request in waiting:
                request.abandon()


class HttpSessions:
    """Every session of the door, by its id."""

    def __init__(self, relay: Relay, ids: SessionIds, *, limit: int, idle_seconds: float) -> None:
        self._relay = relay
        self._ids = ids
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[bytes, HttpSession] = {}

    def use(self, id_: bytes, caller: Caller, view_key: ViewKey | None) -> HttpSession | None:
        """The session a request belongs to; for others than who opened it, there is none."""
        client = self._sessions.get(id_)
        if client is None or not client.is_of(caller, view_key):
            return None
        client.used_at = self._loop.time()
        return client

    def open(self, id_: bytes, caller: Caller, view_key: ViewKey | None) -> HttpSession | None:
        """Begin a session, or go on with that of another replica; None if there is no room."""
        self.end(id_)  # if it is here, it is one of a view that the path shows no longer
        if not self._make_room(caller):
            return None
        client = HttpSession(id_, self._ids, caller, view_key, self._loop.time())
        self._sessions[id_] = client
        return client

    def _make_room(self, caller: Caller) -> bool:
        """Tell whether a token may have one more session; its most silent one may end for it.

        Nobody's session ends for somebody else's: an agent that opens many is held to a share.
        """
        share = total = self._limit
        if not caller.is_owner:
            share, total = max(1, total // SHARE), total - total // RESERVE
            share = min(share, caller.sessions or share)
        account = caller.account  # all tokens of a member count together
        own = [client for client in self._sessions.values() if client.caller.account == account]
        if len(own) < share and len(self._sessions) < total:
            return True
        silent = [(client.used_at, client.id) for client in own if client.is_idle]
        if silent:
            self.end(min(silent)[1])
        return bool(silent)

    def end(self, id_: bytes) -> None:
        """End a session, and all that is under way in it."""
        client = self._sessions.pop(id_, None)
        if client is not None:
            self._relay.leave(client.session)
            client.end_stream()

    def end_elsewhere(self, principal: str) -> None:
        """A client has ended its session at another replica."""
        for client in list(self._sessions.values()):
            if client.session.principal == principal:
                self.end(client.id)

    def delete(self, client: HttpSession) -> None:
        """End a session for good: no replica goes on with it."""
        self._ids.end(client.id)
        self._relay.takeover.forget(client.session)
        self.end(client.id)

    def delete_all(self, is_meant: Callable[[Session], bool]) -> int:
        """End such sessions for good; return how many there were."""
        meant = [client for client in self._sessions.values() if is_meant(client.session)]
        for client in meant:
            self.delete(client)
        return len(meant)

    def end_all(self) -> None:
        """End every session."""
        for id_ in list(self._sessions):
            self.end(id_)

    def dismiss(self, is_gone: Callable[[Caller], bool]) -> None:
        """Some callers are not let in from now on: their sessions end."""
        for client in list(self._sessions.values()):
            if is_gone(client.caller):
                self.delete(client)

    def end_streams(self) -> None:
        """Nothing unasked will be said any more."""
        for client in self._sessions.values():
            client.end_stream()

    async def sweep(self) -> None:
        """End sessions that nobody has used for long, until cancelled."""
        while True:
            await asyncio.sleep(min(SWEEP_SECONDS, self._idle_seconds))
            for id_, client in list(self._sessions.items()):
                if client.is_idle and self._loop.time() - client.used_at > self._idle_seconds:
                    self.end(id_)
