"""The HTTP door: `/mcp` for clients of both eras."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Any, Final

from msgspec import Raw

from toolyard.board import Board
from toolyard.core.caller import Caller
from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.doors.http.forwarding import Forwarding
from toolyard.doors.http.mcp_headers import McpHeaders
from toolyard.doors.http.path_scope import MCP, PATHS, WHOLE, PathScope, narrowed, read_scope
from toolyard.doors.http.reply import HttpReply, HttpResponder, Request
from toolyard.doors.http.session_ids import SessionIds
from toolyard.doors.http.sessions import HttpSession, HttpSessions
from toolyard.doors.http.visit import Visit, no_session, unreadable
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest, Session
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.envelope import Envelope, EnvelopeError, read_envelope
from toolyard.wire.jsonrpc import Message

LISTEN: Final = "subscriptions/listen"


class HttpDoor:
    """Serves MCP over streamable HTTP."""

    def __init__(
        self,
        board: Board,
        relay: Relay,
        ids: SessionIds,
        *,
        sessions: int,
        idle_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._board = board
        self._relay = relay
        self._ids = ids
        self._sessions = HttpSessions(relay, ids, limit=sessions, idle_seconds=idle_seconds)
        self._listeners: dict[ClientRequest, Caller] = {}
        """Modern requests that stay open to hear of changes."""
        self._calls: dict[ClientRequest, Caller] = {}
        """Other modern requests of those who may be dismissed while they wait."""
        self._shown: dict[tuple[str, str], ViewKey | None] = {}
        """The view_key of each path and limits of callers, as long as the picture is the same."""
        self._shown_at = -1
        self._most_shown = sessions
        self._forwarding = Forwarding(board)
        self._clock = clock
        self._tasks = Tasks()

    def serve(self, request: Request, reply: HttpReply) -> None:
        """Begin to serve one request."""
        headers, caller, method = McpHeaders(request.headers), request.caller, request.method
        try:
            view_key = self._view_key(request.path, caller)
        except UnknownNameError as error:
            text = f"{error}; {error.hint}"
            Visit(headers, caller, None, reply, request.path).refuse(404, era.INVALID_REQUEST, text)
            return
        forwarded = self._forwarding.pick(request.headers)
        visit = Visit(headers, caller, view_key, reply, request.path, forwarded)
        if method == "POST":
            self._post(visit, request.body)
        elif headers.is_modern:
            reply.respond(405, lines=b"allow: POST\r\n")
        elif method == "GET":
            self._listen(visit, request)
        elif method == "DELETE":
            self._delete(visit)
        else:
            reply.respond(405, lines=b"allow: GET, POST, DELETE\r\n")

    def _view_key(self, path: str, caller: Caller) -> ViewKey | None:
        """Return the view that a caller has at a path; None for the usual one.

        Raises:
            UnknownNameError: There is no such path, profile, agent or server.
        """
        if path == MCP and caller.is_owner:
            return None
        revision = self._board.snapshot.revision
        if revision != self._shown_at:
            self._shown, self._shown_at = {}, revision
        key = path, caller.limits
        try:
            return self._shown[key]
        except KeyError:
            if len(self._shown) >= self._most_shown:
                self._shown = {}
            view_key = self._shown[key] = self._expose(path, caller)
            return view_key

    def look(self, path: str, caller: Caller) -> View:
        """Return the view that a caller has at a path.

        Raises:
            UnknownNameError: There is no such path, profile, agent or server.
        """
        return self._relay.views.look(self._view_key(path, caller))

    def _expose(self, path: str, caller: Caller) -> ViewKey | None:
        scope = read_scope(path)
        if scope is None:
            raise UnknownNameError("there is nothing at this path", f"there are: {PATHS}")
        if scope == WHOLE:
            scope = PathScope(profile=caller.profile, agent=caller.agent, executor=caller.executor)
        views = self._relay.views
        usual = views.usual_key
        shown = narrowed(usual, scope, self._board.snapshot, views.resolve).limited_to(caller)
        return shown if shown != usual else None

    def dismiss(self, is_gone: Callable[[Caller], bool]) -> None:
        """Some callers are not let in from now on: what they opened ends."""
        self._sessions.dismiss(is_gone)
        for request, caller in (*self._listeners.items(), *self._calls.items()):
            if is_gone(caller):
                request.abandon()

    def end_sessions(self, is_meant: Callable[[Session], bool]) -> int:
        """End sessions, and what listens without one; return how many there were."""
        listening = [request for request in self._listeners if is_meant(request.session)]
        for request in listening:
            request.abandon()
        return len(listening) + self._sessions.delete_all(is_meant)

    def end_elsewhere(self, session: bytes) -> None:
        """A session was ended at another replica; `session` stands for its id."""
        self._sessions.end_elsewhere(session.hex())

    async def sweep(self) -> None:
        """Forget sessions that nobody has used for long, until cancelled."""
        try:
            await self._sessions.sweep()
        finally:
            await self.end()

    def end_streams(self) -> None:
        """The hub stops: nothing unasked will be said any more; calls under way go on."""
        self._sessions.end_streams()
        for request in list(self._listeners):
            request.abandon()

    async def end(self) -> None:
        """End every session and all that is under way; whoever waits is told so."""
        self._sessions.end_all()
        await self._tasks.close()

    def _post(self, visit: Visit, body: bytes) -> None:
        headers, is_modern = visit.headers, visit.headers.is_modern
        if not headers.kind.startswith(b"application/json"):
            visit.refuse(415, era.INVALID_REQUEST, "send application/json")
            return
        try:
            envelope = read_envelope(body)
            if is_modern and envelope.id:
                headers.check(envelope)
        except jsonrpc.MalformedError:
            visit.refuse(400, *unreadable(body))
        except EnvelopeError as error:
            is_params = error.code == era.INVALID_PARAMS and not is_modern
            status = 200 if is_params else 400
            visit.refuse(status, error.code, str(error), error.id, error.details)
        else:
            (self._modern if is_modern else self._legacy)(visit, envelope)

    # The legacy era: sessions.

    def _legacy(self, visit: Visit, envelope: Envelope) -> None:
        message = envelope.message
        if message.method == "initialize" and envelope.id:
            self._open(visit, envelope)
            return
        client = self._client(visit, message.id)
        if client is None:
            return
        if envelope.id:
            takes_stream = visit.headers.takes_stream
            responder = HttpResponder(visit.reply, is_modern=False, takes_stream=takes_stream)
            self._start(visit, client.session, envelope, responder, client.hung_up)
        elif message.is_answer:
            self._answered(visit, client.session, message)
        else:
            self._relay.noticed(client.session, message)
            visit.reply.respond(202)

    def _client(self, visit: Visit, id_: Raw | bytes = b"") -> HttpSession | None:
        """Find the session of a request; None if there is none, and the request was refused."""
        session = visit.headers.session
        client = self._sessions.use(session, visit.caller, visit.view_key)
        if client is not None:
            return client
        greeting = self._ids.open(visit.caller, visit.path, session)
        if greeting is None:
            visit.refuse(*no_session(visit), id_)
            return None
        client = self._begin(visit, session, id_)
        if client is not None:
            self._tasks.start(self._relay.takeover.take_over(client.session, greeting))
        return client

    def _answered(self, visit: Visit, session: Session, answer: Message) -> None:
        """Take a client's answer to whoever asked: this replica, or another."""
        replica = self._relay.handles.asker(session, answer)
        if replica:
            self._tasks.start(self._pass_answer(visit, replica, session, answer))
        else:
            session.answered(answer)
            visit.reply.respond(202)

    async def _pass_answer(
        self, visit: Visit, replica: str, session: Session, answer: Message
    ) -> None:
        try:
            await self._relay.handles.pass_answer(replica, session, answer)
        except ToolyardError as error:
            visit.refuse(503, era.SERVER_ERROR, f"{error}; {error.hint}")
        else:
            visit.reply.respond(202)

    def _begin(self, visit: Visit, session: bytes, id_: Raw | bytes) -> HttpSession | None:
        """Begin a session here; None if there is no room, and the request was refused."""
        client = self._sessions.open(session, visit.caller, visit.view_key)
        if client is None:
            visit.refuse(503, era.SERVER_ERROR, _FULL, id_)
        return client

    def _open(self, visit: Visit, envelope: Envelope) -> None:
        session = self._ids.make(visit.caller, visit.path, envelope.params)
        client = self._begin(visit, session, envelope.id)
        if client is None:
            return
        lines = b"mcp-session-id: %b\r\n" % client.id
        responder = HttpResponder(visit.reply, is_modern=False, takes_stream=False, lines=lines)

        def opened(_work: object) -> None:
            if responder.has_failed:
                self._sessions.end(client.id)

        work = self._start(visit, client.session, envelope, responder, client.hung_up)
        if work is not None:
            work.add_done_callback(opened)

    def _listen(self, visit: Visit, request: Request) -> None:
        client = self._client(visit)
        if client is None:
            return
        if not visit.headers.takes_stream:
            visit.refuse(406, era.INVALID_REQUEST, "accept text/event-stream")
        elif any(name == b"last-event-id" and value for name, value in request.headers):
            # To take it and send nothing would say that nothing was missed.
            visit.refuse(400, era.INVALID_REQUEST, _NO_RESUMING)
        else:
            self._listen_in(client, visit)

    def _listen_in(self, client: HttpSession, visit: Visit) -> None:
        self._relay.back(client.session)
        stream = client.listen(visit.reply)

        def expired() -> None:
            client.end_stream()
            self._relay.away(client.session)

        stream.expiry = self._at_expiry(visit.caller, expired)

        def gone() -> None:
            if client.stream_lost(stream):
                self._relay.away(client.session)

        visit.reply.on_gone = gone

    def _delete(self, visit: Visit) -> None:
        client = self._client(visit)
        if client is not None:
            self._sessions.delete(client)
            visit.reply.respond(200)

    # The modern era: every request stands alone.

    def _modern(self, visit: Visit, envelope: Envelope) -> None:
        if not envelope.id:
            if envelope.message.is_answer:
                visit.refuse(400, era.INVALID_REQUEST, "send one request")
            else:
                visit.reply.respond(202)
            return
        account, takes_stream = visit.caller.account, visit.headers.takes_stream
        # Windows of one agent say the same of themselves: it names whose servers and kept results
        # these are, and proves nothing about two requests.
        client = bytes(envelope.meta.get(era.META_CLIENT, b"")).decode("utf-8", "replace")
        session = Session(
            f"{account} modern {client}",
            _mute,
            account=account,
            caller=visit.caller.name,
            member=visit.caller.member,
            token=visit.caller.token,
            view_key=visit.view_key,
            is_modern=True,
            is_stateless=True,
            replica=self._ids.replica,
        )
        responder = HttpResponder(visit.reply, is_modern=True, takes_stream=takes_stream)
        self._start(visit, session, envelope, responder, ClientRequest.abandon)

    # Both.

    def _start(
        self,
        visit: Visit,
        session: Session,
        envelope: Envelope,
        responder: HttpResponder,
        on_gone: Callable[[ClientRequest], None],
    ) -> asyncio.Future[Any] | None:
        """Serve a request; hanging up cancels, in the legacy era only with the last connection."""
        request = ClientRequest(
            session,
            envelope.message.method,
            envelope.id,
            envelope.params,
            envelope.meta,
            responder,
            name=envelope.name,
            trace=visit.headers.trace,
            forwarded=visit.forwarded,
            mirrored=visit.headers.params if session.is_modern else None,
            address=visit.reply.writer.distant_host,
        )

        def gone() -> None:
            responder.hung_up()
            on_gone(request)

        visit.reply.on_gone = gone
        work = self._relay.start(request, self._tasks)
        if work is not None and (session.is_modern or request.method == LISTEN):
            self._note(request, visit.caller, work)
        return work

    def _note(self, request: ClientRequest, caller: Caller, work: asyncio.Future[Any]) -> None:
        """Know of a modern request while it is under way, if it may have to end before."""
        if request.method == LISTEN:
            self._listeners[request] = caller
            work.add_done_callback(lambda _: self._listeners.pop(request, None))
            expiry = self._at_expiry(caller, request.abandon)
            if expiry is not None:
                work.add_done_callback(lambda _: expiry.cancel())
        elif not caller.is_owner:
            self._calls[request] = caller
            work.add_done_callback(lambda _: self._calls.pop(request, None))

    def _at_expiry(self, caller: Caller, end: Callable[[], None]) -> asyncio.TimerHandle | None:
        """Have something end with the token of a caller; None if that never expires."""
        if caller.expires == inf:
            return None
        seconds = caller.expires - self._clock()
        return asyncio.get_running_loop().call_later(seconds, end)


_FULL: Final = "too many sessions are open, and none of this token is idle; end one, or wait"
_NO_RESUMING: Final = (
    "events have no ids here, so none can be sent again; open the stream without Last-Event-ID"
)


def _mute(_message: bytes) -> None:
    """For a client that hears nothing unasked."""
