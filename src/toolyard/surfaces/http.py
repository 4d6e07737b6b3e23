"""The HTTP door: `/mcp` for clients of both eras, as a plain ASGI application."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Raw

from toolyard.relay.relay import Relay
from toolyard.relay.session import LEVELS, Exchange, Session
from toolyard.surfaces.stream import Send, Stream, respond
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message
from toolyard.wire.tasks import Tasks

Receive = Callable[[], Awaitable[dict[str, Any]]]

WATCH_AFTER_SECONDS: Final = 0.05
"""Most answers are there sooner; only then is it worth to look whether the client still is."""
BODY_IDLE_SECONDS: Final = 30.0
DEPTH: Final = 64
STATUS: Final = {
    era.PARSE_ERROR: 400,
    era.INVALID_REQUEST: 400,
    era.HEADER_MISMATCH: 400,
    era.MISSING_CAPABILITY: 400,
    era.UNSUPPORTED_VERSION: 400,
    era.METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a modern error; all others are 200."""


class Client:
    """A legacy session on this door: with a listening stream, and a time it was last seen."""

    __slots__ = ("listening", "seen", "session", "unheard")

    def __init__(self, principal: str) -> None:
        self.session = Session(principal, self.push)
        self.listening: Stream | None = None
        self.unheard: list[bytes] = []
        self.seen = 0.0

    def push(self, message: bytes) -> None:
        """Say something unasked; kept for a while if nobody listens yet."""
        if self.listening is not None:
            self.listening.put(message)
        elif len(self.unheard) < 64:
            self.unheard.append(message)


class Asked:
    """The headers of one request that matter here, read in one pass."""

    __slots__ = ("accept", "duplicate", "kind", "method", "name", "params", "session", "version")

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self.session = self.kind = self.accept = b""
        self.version = self.method = self.name = None
        self.params: dict[str, str] = {}
        self.duplicate = ""
        for key, value in pairs:
            if key == b"mcp-session-id":
                self.session = value.strip()
            elif key == b"content-type":
                self.kind = value
            elif key == b"accept":
                self.accept = value
            elif key[:4] == b"mcp-":
                self._note(key, value.strip().decode("latin-1"))

    version: str | None
    method: str | None
    name: str | None

    def _note(self, key: bytes, value: str) -> None:
        slot = _SLOTS.get(key)
        if slot is not None:
            if getattr(self, slot) is not None:
                self.duplicate = key.decode()
            setattr(self, slot, value)
        elif key.startswith(headers.PARAM):
            name = key.decode("latin-1")
            if name in self.params:
                self.duplicate = name
            self.params[name] = value


_SLOTS: Final = {b"mcp-protocol-version": "version", b"mcp-method": "method", b"mcp-name": "name"}


class HttpDoor:
    """Serves MCP over streamable HTTP."""

    def __init__(self, relay: Relay, *, limit: int, sessions: int, idle_seconds: float) -> None:
        self._relay = relay
        self._limit = limit
        self._most = sessions
        self._idle = idle_seconds
        self._clients: dict[bytes, Client] = {}
        self._tasks = Tasks()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        asked = Asked(scope["headers"])
        method = scope["method"]
        if method == "POST":
            await self._post(asked, receive, send)
        elif _is_modern(asked.version):
            await respond(send, 405, headers=[(b"allow", b"POST")])
        elif method == "GET":
            await self._listen(asked, receive, send)
        elif method == "DELETE":
            await self._delete(asked, send)
        else:
            await respond(send, 405, headers=[(b"allow", b"GET, POST, DELETE")])

    async def sweep(self) -> None:
        """Forget sessions that nobody has used for long, until cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await asyncio.sleep(min(60.0, self._idle))
                for id_, client in list(self._clients.items()):
                    if client.listening is None and loop.time() - client.seen > self._idle:
                        self._end(id_)
        finally:
            for id_ in list(self._clients):
                self._end(id_)
            await self._tasks.close()

    # POST.

    async def _post(self, asked: Asked, receive: Receive, send: Send) -> None:
        if not asked.kind.startswith(b"application/json"):
            await _refuse(send, 415, era.INVALID_REQUEST, "send application/json")
            return
        body = await self._body(receive)
        if body is None:
            text = f"the message is larger than {self._limit} bytes, or came too slowly"
            await _refuse(send, 413, era.INVALID_REQUEST, text, close=True)
            return
        try:
            message = jsonrpc.decode(body)
        except jsonrpc.MalformedError:
            await _refuse(send, 400, *_unreadable(body))
            return
        if jsonrpc.is_too_deep(body, DEPTH):
            text = f"the message nests deeper than {DEPTH} levels"
            await _refuse(send, 400, era.INVALID_REQUEST, text)
        elif _is_modern(asked.version):
            await self._modern(asked, message, receive, send)
        else:
            await self._legacy(asked, message, receive, send)

    async def _body(self, receive: Receive) -> bytes | None:
        message = await receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return body if len(body) <= self._limit else None
        parts, size = [body], len(body)
        while message.get("more_body"):
            try:
                async with asyncio.timeout(BODY_IDLE_SECONDS):
                    message = await receive()
            except TimeoutError:
                return None
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > self._limit:
                return None
        return b"".join(parts)

    # The legacy era: sessions.

    async def _legacy(self, asked: Asked, message: Message, receive: Receive, send: Send) -> None:
        if message.method == "initialize" and message.id:
            await self._open(asked, message, receive, send)
            return
        client = self._clients.get(asked.session)
        if client is None:
            status, text = _no_session(asked, message)
            await _refuse(send, status, era.INVALID_REQUEST, text, message.id)
            return
        client.seen = asyncio.get_running_loop().time()
        if message.is_answer:
            client.session.answered(message)
            await respond(send, 202)
        elif not message.id:
            self._relay.noticed(client.session, message)
            await respond(send, 202)
        else:
            await self._serve(
                client,
                Exchange(client.session, bytes(message.id), _mute),
                message,
                asked,
                receive,
                send,
            )

    async def _open(self, asked: Asked, message: Message, receive: Receive, send: Send) -> None:
        if len(self._clients) >= self._most and not self._evict():
            await _refuse(
                send, 503, era.SERVER_ERROR, f"{self._most} sessions are open", message.id
            )
            return
        id_ = secrets.token_urlsafe(24).encode()
        client = Client(id_.decode())
        client.seen = asyncio.get_running_loop().time()
        self._clients[id_] = client
        exchange = Exchange(client.session, bytes(message.id), _mute)
        reply, error = await self._relay.answer(exchange, message)
        if error:
            self._end(id_)
        await respond(send, 200, reply, [] if error else [(b"mcp-session-id", id_)])

    def _evict(self) -> bool:
        """Make room by ending the session that has been silent for longest."""
        silent = [
            (c.seen, id_)
            for id_, c in self._clients.items()
            if not c.listening and not c.session.exchanges
        ]
        if not silent:
            return False
        self._end(min(silent)[1])
        return True

    def _end(self, id_: bytes) -> None:
        client = self._clients.pop(id_)
        self._relay.leave(client.session)
        if client.listening is not None:
            self._tasks.start(client.listening.finish())

    async def _listen(self, asked: Asked, receive: Receive, send: Send) -> None:
        client = self._clients.get(asked.session)
        if client is None:
            status, text = _no_session(asked, None)
            await _refuse(send, status, era.INVALID_REQUEST, text)
            return
        if b"text/event-stream" not in asked.accept and b"*/*" not in asked.accept:
            await _refuse(send, 406, era.INVALID_REQUEST, "accept text/event-stream")
            return
        if client.listening is not None:
            await client.listening.finish()
        stream = client.listening = Stream(send, self._tasks, [])
        stream.start()
        client.session.ready = True
        unheard, client.unheard = client.unheard, []
        for message in unheard:
            stream.put(message)
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            if client.listening is stream:
                client.listening = None
            await stream.finish()

    async def _delete(self, asked: Asked, send: Send) -> None:
        if asked.session in self._clients:
            self._end(asked.session)
            await respond(send, 200)
        else:
            status, text = _no_session(asked, None)
            await _refuse(send, status, era.INVALID_REQUEST, text)

    # The modern era: every request stands alone.

    async def _modern(self, asked: Asked, message: Message, receive: Receive, send: Send) -> None:
        if not message.id and message.method:
            await respond(send, 202)
            return
        if message.is_answer or not jsonrpc.is_valid_id(message.id):
            await _refuse(
                send, 400, era.INVALID_REQUEST, "send one request; its id is a string or a number"
            )
            return
        wrong = _disagreement(asked, message)
        if wrong is not None:
            await respond(
                send, STATUS.get(wrong[0], 400), jsonrpc.error(message.id, jsonrpc.fault(*wrong))
            )
            return
        meta = jsonrpc.fields(jsonrpc.fields(message.params)["_meta"])
        # Nothing else tells one stateless client from another; it decides only who gets a question.
        who = "modern " + bytes(meta.get(era.META_CLIENT, b"")).decode("utf-8", "replace")
        session = Session(who, _mute, is_modern=True)
        session.version = era.MODERN
        exchange = Exchange(session, bytes(message.id), _mute)
        take_envelope(exchange, meta)
        exchange.params_head = asked.params
        exchange.checks_params = True
        await self._serve(None, exchange, message, asked, receive, send)

    # Both.

    async def _serve(
        self,
        client: Client | None,
        exchange: Exchange,
        message: Message,
        asked: Asked,
        receive: Receive,
        send: Send,
    ) -> None:
        stream = Stream(send, self._tasks, [])
        session = exchange.session
        if asked.accept.find(b"text/event-stream") >= 0 or asked.accept.find(b"*/*") >= 0:
            exchange.emit = stream.put
        exchange.task = asyncio.current_task()
        stream.on_overflow = exchange.abandon
        session.exchanges[exchange.id] = exchange
        watch = asyncio.get_running_loop().call_later(
            WATCH_AFTER_SECONDS, self._watch, client, exchange, receive
        )
        try:
            reply, error = await self._relay.answer(exchange, message)
        except asyncio.CancelledError:
            await stream.finish()
            if not stream.started:
                text = "the request was cancelled"
                await _refuse(send, 200, era.SERVER_ERROR, text, message.id)
            return
        finally:
            watch.cancel()
            session.exchanges.pop(exchange.id, None)
        if stream.started:
            await stream.finish(reply)
        else:
            await respond(send, _status(error) if error and client is None else 200, reply)

    def _watch(self, client: Client | None, exchange: Exchange, receive: Receive) -> None:
        self._tasks.start(self._until_gone(client, exchange, receive))

    async def _until_gone(
        self, client: Client | None, exchange: Exchange, receive: Receive
    ) -> None:
        """Hanging up cancels; in the legacy era only if nothing else of the client is connected."""
        while (await receive())["type"] != "http.disconnect":
            pass
        if client is None or (client.listening is None and len(client.session.exchanges) <= 1):
            exchange.abandon()


def _is_modern(version: str | None) -> bool:
    """A version we do not know is answered in the modern way, which can list what we know."""
    return version is not None and version not in era.LEGACY_VERSIONS


def take_envelope(exchange: Exchange, meta: Fields) -> None:
    """Read what a modern request says of its client."""
    said = jsonrpc.to_python(meta[era.META_CAPABILITIES])
    exchange.capabilities = said if isinstance(said, dict) else {}
    level = jsonrpc.to_python(meta[era.META_LOG_LEVEL]) if era.META_LOG_LEVEL in meta else None
    exchange.level = level if level in LEVELS else None


def check_envelope(params: Raw) -> tuple[int, str, Any] | None:
    """What is wrong with a modern request's envelope: code, text, details; None if nothing is."""
    try:
        meta = jsonrpc.fields(jsonrpc.fields(params).get("_meta", Raw(b"")))
    except jsonrpc.MalformedError:
        return era.INVALID_PARAMS, "params and params._meta must be objects", None
    lacking = [key for key in (era.META_VERSION, era.META_CAPABILITIES) if key not in meta]
    if lacking:
        return era.INVALID_PARAMS, f"params._meta lacks {' and '.join(lacking)}", None
    version = jsonrpc.to_python(meta[era.META_VERSION])
    if not isinstance(version, str):
        return era.INVALID_PARAMS, f"{era.META_VERSION} must be a string", None
    if version != era.MODERN:
        details = {"supported": [era.MODERN], "requested": version}
        return era.UNSUPPORTED_VERSION, "unsupported protocol version", details
    return None


def _disagreement(asked: Asked, message: Message) -> tuple[int, str, Any] | None:
    """The first rule of the modern HTTP door that a request breaks."""
    wrong = check_envelope(message.params)
    if wrong is not None and wrong[0] == era.INVALID_PARAMS:
        return wrong
    fields = jsonrpc.fields(message.params)
    version = jsonrpc.to_python(jsonrpc.fields(fields["_meta"])[era.META_VERSION])
    if asked.duplicate:
        return era.HEADER_MISMATCH, f"{asked.duplicate} stands more than once", None
    if asked.version != version:
        return era.HEADER_MISMATCH, "MCP-Protocol-Version differs from the body", None
    if wrong is not None:
        return wrong
    if asked.method != message.method:
        return era.HEADER_MISMATCH, "Mcp-Method differs from the body", None
    key = era.NAMED.get(message.method)
    named = fields.get(key) if key is not None else None
    if named is not None:
        sent = headers.decode_value(asked.name) if asked.name is not None else None
        if sent != jsonrpc.to_python(named):
            return era.HEADER_MISMATCH, f"Mcp-Name differs from the body's {key}", None
    return None


def _no_session(asked: Asked, message: Message | None) -> tuple[int, str]:
    if asked.session:
        return 404, "this session is over; initialize again"
    return 400, "no session: send initialize first, or the modern headers"


def _unreadable(body: bytes) -> tuple[int, str]:
    try:
        value = jsonrpc.to_python(body)
    except jsonrpc.MalformedError:
        return era.PARSE_ERROR, "the body is not JSON"
    what = (
        "batches are not part of this protocol"
        if isinstance(value, list)
        else "this is no JSON-RPC message"
    )
    return era.INVALID_REQUEST, what


def _status(error: Raw) -> int:
    try:
        return STATUS.get(jsonrpc.decode_fault(error).code, 200)
    except jsonrpc.MalformedError:
        return 200


async def _refuse(
    send: Send, status: int, code: int, text: str, id_: Raw | bytes = b"", close: bool = False
) -> None:
    body = jsonrpc.error(id_, jsonrpc.fault(code, text))
    await respond(send, status, body, [(b"connection", b"close")] if close else None)


def _mute(_message: bytes) -> None:
    """For a client that takes no stream."""
