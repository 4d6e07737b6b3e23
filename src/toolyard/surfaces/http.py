"""The HTTP door: `/mcp` for clients of both eras."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import Final

from msgspec import Raw

from toolyard.core.errors import UnknownNameError
from toolyard.relay.view_key import ViewKey
from toolyard.relay.relay import Relay, fault_of
from toolyard.relay.session import Exchange, Session
from toolyard.surfaces.mcp_headers import McpHeaders, disagreement, is_modern, take_envelope
from toolyard.surfaces.client import JSON, Back, Client
from toolyard.surfaces.gate import Caller
from toolyard.surfaces.reply import Reply, Request
from toolyard.surfaces.stream import Stream
from toolyard.surfaces.path_scope import MCP, PATHS, WHOLE, PathScope, narrowed, read_scope
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message
from toolyard.wire.tasks import Tasks

DEPTH: Final = 64
SHARE: Final = 4
"""One token of an agent may have this part of all sessions: a quarter."""
RESERVE: Final = 10
"""And this part, a tenth, is for the hub's own token alone."""
STATUS: Final = {
    era.PARSE_ERROR: 400,
    era.INVALID_REQUEST: 400,
    era.HEADER_MISMATCH: 400,
    era.MISSING_CAPABILITY: 400,
    era.UNSUPPORTED_VERSION: 400,
    era.METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a modern error; all others are 200."""


class HttpDoor:
    """Serves MCP over streamable HTTP."""

    def __init__(self, relay: Relay, *, sessions: int, idle_seconds: float) -> None:
        self._relay = relay
        self._most = sessions
        self._idle = idle_seconds
        self._clients: dict[bytes, Client] = {}
        self._listeners: dict[Exchange, Caller] = {}
        """Modern requests that stay open to hear of changes."""
        self._shown: dict[tuple[str, Caller], ViewKey | None] = {}
        """What each path shows to whom, as long as the picture is the same."""
        self._shown_at = -1
        self._tasks = Tasks()
        self._loop = asyncio.get_running_loop()

    def serve(self, request: Request, reply: Reply) -> None:
        """Begin to serve one request."""
        headers = McpHeaders(request.headers, request.caller)
        try:
            headers.view_key = self._view_key(request)
        except UnknownNameError as error:
            _refuse(reply, 404, era.INVALID_REQUEST, f"{error}; {error.hint}")
            return
        method = request.method
        if method == "POST":
            self._post(headers, request.body, reply)
        elif is_modern(headers.version):
            reply.respond(405, headers=((b"allow", b"POST"),))
        elif method == "GET":
            self._listen(headers, request, reply)
        elif method == "DELETE":
            self._delete(headers, reply)
        else:
            reply.respond(405, headers=((b"allow", b"GET, POST, DELETE"),))

    def _view_key(self, request: Request) -> ViewKey | None:
        """How the yard is shown here to whoever sent this; None for as usual.

        Raises:
            UnknownNameError: There is no such path, profile, agent or server.
        """
        caller, path = request.caller, request.path
        if path == MCP and not caller.is_agent:
            return None
        revision = self._relay.hub.snapshot.revision
        if revision != self._shown_at or len(self._shown) > self._most:
            self._shown, self._shown_at = {}, revision
        if (path, caller) not in self._shown:
            self._shown[path, caller] = self._expose(path, caller)
        return self._shown[path, caller]

    def _expose(self, path: str, caller: Caller) -> ViewKey | None:
        scope = read_scope(path)
        if scope is None:
            raise UnknownNameError("there is nothing at this path", f"there are: {PATHS}")
        if scope == WHOLE:
            scope = PathScope(profile=caller.profile, agent=caller.agent, executor=caller.executor)
        usual = self._relay.view_key
        shown = narrowed(usual, scope, self._relay.hub.snapshot)
        shown = replace(shown, only=caller.servers)
        return shown if shown != usual else None

    def dismiss(self, caller: Caller) -> None:
        """A token is worthless from now on: what was opened with it ends."""
        for id_, client in list(self._clients.items()):
            if client.caller == caller:
                self._end(id_)
        for exchange, used in list(self._listeners.items()):
            if used == caller:
                exchange.abandon()

    async def sweep(self) -> None:
        """Forget sessions that nobody has used for long, until cancelled."""
        try:
            while True:
                await asyncio.sleep(min(60.0, self._idle))
                for id_, client in list(self._clients.items()):
                    if client.is_idle and self._loop.time() - client.seen > self._idle:
                        self._end(id_)
        finally:
            await self.end()

    def end_streams(self) -> None:
        """The hub stops: nothing unasked will be said any more; calls under way go on."""
        for client in self._clients.values():
            if client.listening is not None:
                client.listening.finish()
                client.listening = None
        for exchange in list(self._listeners):
            exchange.abandon()

    async def end(self) -> None:
        """End every session and all that is under way; whoever waits is told so."""
        for id_ in list(self._clients):
            self._end(id_)
        await self._tasks.close()

    # POST.

    def _post(self, headers: McpHeaders, body: bytes, reply: Reply) -> None:
        if not headers.kind.startswith(b"application/json"):
            _refuse(reply, 415, era.INVALID_REQUEST, "send application/json")
            return
        try:
            message = jsonrpc.decode(body)
        except jsonrpc.MalformedError:
            _refuse(reply, 400, *_unreadable(body))
            return
        if jsonrpc.is_too_deep(body, DEPTH):
            text = f"the message nests deeper than {DEPTH} levels"
            _refuse(reply, 400, era.INVALID_REQUEST, text)
        elif is_modern(headers.version):
            self._modern(headers, message, reply)
        else:
            self._legacy(headers, message, reply)

    # The legacy era: sessions.

    def _legacy(self, headers: McpHeaders, message: Message, reply: Reply) -> None:
        if message.method and message.id and not jsonrpc.is_valid_id(message.id):
            _refuse(reply, 400, era.INVALID_REQUEST, _BAD_ID)
            return
        if message.method == "initialize" and message.id:
            self._tasks.start(self._open(headers, message, reply))
            return
        client = self._client(headers)
        if client is None:
            _refuse(reply, *_no_session(headers), message.id)
            return
        client.seen = self._loop.time()
        if message.is_answer:
            client.session.answered(message)
            reply.respond(202)
        elif not message.id:
            self._relay.noticed(client.session, message)
            reply.respond(202)
        else:
            exchange = Exchange(client.session, bytes(message.id), _mute)
            client.session.exchanges[exchange.id] = exchange
            self._tasks.start(self._serve(client, exchange, message, headers, reply))

    def _client(self, headers: McpHeaders) -> Client | None:
        """The session a request belongs to; for others than who opened it, there is none."""
        client = self._clients.get(headers.session)
        if client is None or client.caller != headers.caller:
            return None
        return client if client.session.base == headers.view_key else None

    async def _open(self, headers: McpHeaders, message: Message, reply: Reply) -> None:
        if not self._make_room(headers.caller):
            _refuse(reply, 503, era.SERVER_ERROR, _FULL, message.id)
            return
        id_ = secrets.token_urlsafe(24).encode()
        client = Client(id_.decode(), headers.caller, headers.view_key)
        client.seen = self._loop.time()
        self._clients[id_] = client
        exchange = Exchange(client.session, bytes(message.id), _mute)
        body, error = await self._relay.answer(exchange, message)
        if error:
            self._end(id_)
        reply.respond(200, body, (JSON,) if error else (JSON, (b"mcp-session-id", id_)))

    def _make_room(self, caller: Caller) -> bool:
        """Whether a token may have one more session; its own most silent one ends for it.

        Nobody's session ends for somebody else's: an agent that opens many is held to a share.
        """
        share = total = self._most
        if caller.is_agent:
            share, total = max(1, total // SHARE), total - total // RESERVE
        own = {id_: client for id_, client in self._clients.items() if client.caller == caller}
        if len(own) < share and len(self._clients) < total:
            return True
        silent = [(client.seen, id_) for id_, client in own.items() if client.is_idle]
        if silent:
            self._end(min(silent)[1])
        return bool(silent)

    def _end(self, id_: bytes) -> None:
        client = self._clients.pop(id_)
        self._relay.leave(client.session)
        if client.listening is not None:
            client.listening.finish()

    def _listen(self, headers: McpHeaders, request: Request, reply: Reply) -> None:
        client = self._client(headers)
        if client is None:
            _refuse(reply, *_no_session(headers))
            return
        if not headers.takes_stream:
            _refuse(reply, 406, era.INVALID_REQUEST, "accept text/event-stream")
            return
        if any(name == b"last-event-id" and value for name, value in request.headers):
            # To take it and send nothing would say that nothing was missed.
            _refuse(reply, 400, era.INVALID_REQUEST, _NO_RESUMING)
            return
        if client.listening is not None:
            client.listening.finish()
        stream = client.listening = Stream(reply)
        self._relay.back(client.session)
        client.session.ready = True
        unheard, client.unheard = client.unheard, []
        for message in unheard:
            stream.put(message)

        def gone() -> None:
            stream.close()
            if client.listening is stream:
                client.listening = None
                client.left()
                self._relay.away(client.session)

        reply.on_gone = gone

    def _delete(self, headers: McpHeaders, reply: Reply) -> None:
        if self._client(headers) is not None:
            self._end(headers.session)
            reply.respond(200)
        else:
            _refuse(reply, *_no_session(headers))

    # The modern era: every request stands alone.

    def _modern(self, headers: McpHeaders, message: Message, reply: Reply) -> None:
        if not message.id and message.method:
            reply.respond(202)
            return
        if message.is_answer or not jsonrpc.is_valid_id(message.id):
            _refuse(reply, 400, era.INVALID_REQUEST, _BAD_ID)
            return
        wrong = disagreement(headers, message)
        if wrong is not None:
            reply.respond(400, jsonrpc.error(message.id, jsonrpc.fault(*wrong)), (JSON,))
            return
        meta = jsonrpc.fields(jsonrpc.fields(message.params)["_meta"])
        # Windows of one agent say the same of themselves: it names whose servers and kept results
        # these are, and proves nothing about two requests.
        said = bytes(meta.get(era.META_CLIENT, b"")).decode("utf-8", "replace")
        account = headers.caller.account
        session = Session(f"{account} modern {said}", _mute, is_modern=True, is_stateless=True)
        session.account = account
        session.caller = headers.caller.name
        session.view_key = session.base = headers.view_key
        session.version = era.MODERN
        exchange = Exchange(session, bytes(message.id), _mute)
        take_envelope(exchange, meta)
        self._relay.passports.apply(session)
        exchange.params_head = headers.params
        exchange.checks_params = True
        self._tasks.start(self._serve(None, exchange, message, headers, reply))

    # Both.

    async def _serve(
        self,
        client: Client | None,
        exchange: Exchange,
        message: Message,
        headers: McpHeaders,
        reply: Reply,
    ) -> None:
        back = Back(reply)
        session = exchange.session
        exchange.trace = headers.trace
        if headers.takes_stream:
            exchange.emit = back.emit
        session.exchanges[exchange.id] = exchange
        reply.on_gone = lambda: _hung_up(client, exchange, back)
        if message.method == "subscriptions/listen":
            self._listeners[exchange] = headers.caller
        try:
            if not exchange.begin(asyncio.current_task()):
                raise asyncio.CancelledError
            body, error = await self._relay.answer(exchange, message)
            back.answer(body, _status(error) if error and client is None else 200)
        except BaseException as failure:
            back.answer(jsonrpc.error(message.id, _apology(failure)), 200)
            raise
        finally:
            # It leads to the exchange, which leads back here: a large answer must not wait for
            # the collector.
            reply.on_gone = None
            session.exchanges.pop(exchange.id, None)
            self._listeners.pop(exchange, None)
            if client is not None:
                client.hung_up.discard(exchange)


def _hung_up(client: Client | None, exchange: Exchange, back: Back) -> None:
    """Hanging up cancels; in the legacy era only if nothing else of the client is connected."""
    if back.stream is not None:
        back.stream.close()
    if client is None:
        exchange.abandon()
    else:
        client.hung_up.add(exchange)
        client.left()


def _apology(failure: BaseException) -> bytes:
    """The error of a request that has none of its own."""
    if isinstance(failure, asyncio.CancelledError):
        return jsonrpc.fault(era.SERVER_ERROR, "the request was cancelled")
    return fault_of(failure)


_FULL: Final = "too many sessions are open, and none of this token is idle; end one, or wait"
_NO_RESUMING: Final = (
    "events have no ids here, so none can be sent again; open the stream without Last-Event-ID"
)
_BAD_ID: Final = "send one request; its id is a string or a number"


def _no_session(headers: McpHeaders) -> tuple[int, int, str]:
    if headers.session:
        return 404, era.INVALID_REQUEST, "this session is over; initialize again"
    text = "no session: send initialize first, or the modern headers"
    return 400, era.INVALID_REQUEST, text


def _unreadable(body: bytes) -> tuple[int, str]:
    try:
        value = jsonrpc.to_python(body)
    except jsonrpc.MalformedError:
        return era.PARSE_ERROR, "the body is not JSON"
    if isinstance(value, list):
        return era.INVALID_REQUEST, "batches are not part of this protocol"
    return era.INVALID_REQUEST, "this is no JSON-RPC message"


def _status(error: Raw) -> int:
    return STATUS.get(jsonrpc.read_fault(error).code, 200)


def _refuse(reply: Reply, status: int, code: int, text: str, id_: Raw | bytes = b"") -> None:
    reply.respond(status, jsonrpc.error(id_, jsonrpc.fault(code, text)), (JSON,))


def _mute(_message: bytes) -> None:
    """For a client that takes no stream."""
