"""The hot path: one request of a client to one server and back.

Of the params only the members are known; the one that names the target and the
connection keys of `_meta` are replaced, the rest crosses as the bytes it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import BusyError, LinkError, ToolyardError
from toolyard.core.model import ServerId
from toolyard.links.http import SessionLostError
from toolyard.links.instances import Instances
from toolyard.links.link import Link
from toolyard.links.owner import Owner
from toolyard.links.pending import PendingRequest
from toolyard.links.pool import Pool
from toolyard.links.turns import Turns
from toolyard.relay.extensions import knows_tasks
from toolyard.relay.folders import Folders
from toolyard.relay.given import Given
from toolyard.relay.legacy import legacy_answer
from toolyard.relay.parking import Parking, digest_of
from toolyard.relay.references import Change, in_result, mention
from toolyard.relay.routes import Route
from toolyard.relay.session import Exchange, Home, Session, agent_of
from toolyard.relay.view import View
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ROUNDS: Final = 16
"""Rounds of questions one call of a legacy client may take."""
CALLS_PER_SERVER: Final = 512
_decode_map: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_VERSION: Final = Raw(jsonrpc.encode(era.MODERN))
_RETRIED: Final = frozenset({"inputResponses", "requestState"})
_FOREIGN: Final = _RETRIED | {"task"}
"""Members of a modern call that a legacy server takes for something else, or not at all."""
_LONGEST_HANDLE: Final = 1 << 16
NoteTask = Callable[[Exchange, Route, Message], None]
"""Hears of an answer to a call that may have begun a task."""
Record = Callable[[str | bytes, str, str, Raw, float, Message | BaseException, str], None]
"""Takes a call of a tool down: agent, server, tool, arguments, when it began, its end, caller."""


class Calls:
    """Takes requests to links, and bridges the eras where the two sides differ."""

    def __init__(self, pool: Pool, instances: Instances) -> None:
        self._pool = pool
        self._instances = instances
        self.folders: Folders
        """Set by the relay, which knows who is attached."""
        self._parking = Parking()
        self.given = Given()
        self.record: Record | None = None
        self.note_task: NoteTask = _pass

    async def send(
        self,
        exchange: Exchange,
        method: str,
        fields: Fields,
        route: Route,
        view: View,
        shown: str = "",
    ) -> Message:
        """Send a request along a route; return the server's answer, fit for this client.

        `shown` is the address that a client reads, where the server's own is another.

        Raises:
            ToolyardError: The server could not be reached, failed or was late.
        """
        assert route.server is not None
        began = monotonic()
        try:
            apart = route.apart and route.apart_for(exchange.session.has_folders)
            if apart is None:
                ready = None if self.folders.told else self._pool.ready(route.server)
                link = ready or await self._lease_shared(route.server, exchange.session)
            else:
                ready = self._instances.ready(apart, exchange.session.principal)
                link = ready or await self.link_for(route, exchange.session, exchange.capabilities)
            try:
                message = await self._over(link, exchange, method, fields, route)
            except SessionLostError:
                # The server never looked at it, so this cannot do anything twice.
                link = await self.link_for(route, exchange.session, exchange.capabilities)
                message = await self._over(link, exchange, method, fields, route)
        except BaseException as error:
            self._note(exchange, method, fields, route, began, error)
            raise
        if self.record is not None and method == "tools/call":
            # As in `_note`, without the price of a call.
            session, asked = exchange.session, fields.get("arguments", jsonrpc.NOTHING)
            who = session.agent or session.info
            self.record(who, route.alias, route.key, asked, began, message, session.caller)
        if method == "tools/call" and message.result and _may_begin_task(exchange, fields, message):
            self.note_task(exchange, route, message)
        if route.server in view.readable and message.result and mention(message.result):
            change = self._outward(exchange.session.principal, route, view, shown)
            message.result = in_result(message.result, change)
        return message

    def _outward(self, client: str, route: Route, view: View, shown: str) -> Change:
        """Turns addresses of a server into those that lead a client to it."""
        server = route.server
        assert server is not None

        def change(uri: str) -> str:
            if shown and uri == route.key:
                return shown
            known = view.shown(server, uri)
            if known or self.given.note(client, uri, server):
                return known or uri
            return view.wrapped(server, uri)

        return change

    async def link_for(
        self, route: Route, session: Session, capabilities: dict[str, Any] | None = None
    ) -> Link:
        """The link that a route leads to for a session, opened first if need be.

        Raises:
            UnknownNameError: The server is not in use.
            StartError, LinkError: It cannot be opened.
        """
        assert route.server is not None
        apart = route.apart_for(session.has_folders)
        if apart is None:
            return await self._lease_shared(route.server, session)
        able = session.capabilities if capabilities is None else capabilities
        client = session.agent or agent_of(session.info)
        who, account = session.principal, session.account
        owner = Owner(who, account, client, capabilities=able, home=Home(session))
        return await self._instances.lease(apart, owner)

    async def _lease_shared(self, server: ServerId, session: Session) -> Link:
        link = await self._pool.lease(server)
        while self.folders.clear_for(session, server):
            link = await self._pool.lease(server)
        return link

    def _note(
        self,
        exchange: Exchange,
        method: str,
        fields: Fields,
        route: Route,
        began: float,
        end: Message | BaseException,
    ) -> None:
        if self.record is not None and method == "tools/call":
            session, asked = exchange.session, fields.get("arguments", jsonrpc.NOTHING)
            who, caller = session.agent or session.info, session.caller
            self.record(who, route.alias, route.key, asked, began, end, caller)

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could take up its parked calls."""
        self._parking.leave(principal)
        self.given.leave(principal)

    async def _over(
        self, link: Link, exchange: Exchange, method: str, fields: Fields, route: Route
    ) -> Message:
        if link.load >= CALLS_PER_SERVER:
            text = f"{link.name!r} has {CALLS_PER_SERVER} calls under way"
            raise BusyError(text, "try again in a moment")
        if link.turns is not None and not (exchange.is_modern and "requestState" in fields):
            return await self._in_turn(link, link.turns, exchange, method, fields, route)
        if exchange.session.is_modern is link.is_modern:
            return await self._plain(link, exchange, method, fields, route)
        if link.is_modern:
            return await self._to_modern(link, exchange, method, fields, route)
        return await self._to_legacy(link, exchange, method, fields, route)

    async def _in_turn(
        self,
        link: Link,
        turns: Turns,
        exchange: Exchange,
        method: str,
        fields: Fields,
        route: Route,
    ) -> Message:
        """Wait until no call of another client is under way at a legacy server that asks."""
        await turns.take(exchange.turn, link.patience, ahead=link.is_asking)
        exchange.turns = turns
        send = self._to_legacy if exchange.is_modern else self._plain
        try:
            return await send(link, exchange, method, fields, route)
        finally:
            if exchange.turns is not None:
                turns.leave()  # it was never sent

    async def _plain(
        self, link: Link, exchange: Exchange, method: str, fields: Fields, route: Route
    ) -> Message:
        """Both sides speak the same era: nothing to translate."""
        if "_meta" in fields:
            fields = {**fields, "_meta": _meta(link, exchange, fields["_meta"])}
        pending = self._start(link, exchange, method, fields, route)
        try:
            message = await pending.answer
        except asyncio.CancelledError:
            link.cancel(pending, "the client went away")
            raise
        if route.wraps and not link.is_modern and message.result:
            return legacy_answer(message, _members(message), wraps=True)
        return message

    def _start(
        self, link: Link, exchange: Exchange, method: str, fields: Fields, route: Route
    ) -> PendingRequest:
        head = _head(exchange, fields, route) if link.is_modern else b""
        if exchange.trace:
            head += exchange.trace
        pending = link.request(method, jsonrpc.encode(fields), exchange, head=head)
        if exchange.turns is not None:
            # Also beyond this request: a parked call goes on with the next one.
            pending.answer.add_done_callback(exchange.turns.leave)
            exchange.turns = None
        return pending

    async def _to_modern(
        self, link: Link, exchange: Exchange, method: str, fields: Fields, route: Route
    ) -> Message:
        """A legacy client, a modern server: the hub plays the rounds of questions for it."""
        for _ in range(ROUNDS):
            meta = _meta(link, exchange, fields.get("_meta", Raw(b"{}")))
            pending = self._start(link, exchange, method, {**fields, "_meta": meta}, route)
            try:
                message = await pending.answer
            except asyncio.CancelledError:
                link.cancel(pending, "the client went away")
                raise
            members = _members(message)
            if bytes(members.get("resultType", b"")) != b'"input_required"':
                return legacy_answer(message, members, wraps=route.wraps)
            fields = {k: v for k, v in fields.items() if k not in _RETRIED}
            fields |= await _answers(exchange, pending, members)
        raise LinkError(f"{link.name!r} asked more than {ROUNDS} rounds of questions")

    async def _to_legacy(
        self, link: Link, exchange: Exchange, method: str, fields: Fields, route: Route
    ) -> Message:
        """A modern client, a legacy server: questions become `input_required` results."""
        digest = digest_of(method, fields)
        state = fields.get("requestState")
        if state is not None:
            handle = jsonrpc.to_python(state)
            parked = (
                self._parking.take(handle, exchange, digest) if isinstance(handle, str) else None
            )
            if parked is None:
                return _fault(
                    era.INVALID_PARAMS, "this requestState is unknown, used, or not yours"
                )
            _meta(link, exchange, fields.get("_meta", Raw(b"{}")))
            parked.answer(_responses(fields))
            pending, link = parked.pending, parked.link
        else:
            plain = {k: v for k, v in fields.items() if k not in _FOREIGN}
            if "_meta" in plain:
                plain["_meta"] = _meta(link, exchange, plain["_meta"])
                if bytes(plain["_meta"]) == b"{}":
                    del plain["_meta"]
            pending = self._start(link, exchange, method, plain, route)
            parked = self._parking.begin(exchange, pending, link, digest)
        try:
            return _modernised(method, await parked.wait())
        except asyncio.CancelledError:
            link.cancel(pending, "the client went away")
            raise
        finally:
            if pending.answer.done():
                parked.end()


def _may_begin_task(exchange: Exchange, fields: Fields, message: Message) -> bool:
    """Tell whether the answer to a call may be the handle of a task; such an answer is short."""
    if len(message.result) > _LONGEST_HANDLE:
        return False
    return knows_tasks(exchange.capabilities) if exchange.is_modern else "task" in fields


def _pass(*_: object) -> None:
    return None


def _meta(link: Link, exchange: Exchange, raw: Raw) -> Raw:
    """The `_meta` for the next hop: our progress token, and the envelope its era wants."""
    try:
        meta = jsonrpc.fields(raw)
    except jsonrpc.MalformedError:
        return raw
    token = meta.get("progressToken")
    if token is not None:
        exchange.token = bytes(token)
        meta["progressToken"] = Raw(b"%d" % link.next_number())
    if not link.is_modern:
        for key in era.CONNECTION_KEYS & meta.keys():
            del meta[key]
    elif not exchange.is_modern:
        session = exchange.session
        meta[era.META_VERSION] = _VERSION
        meta[era.META_CAPABILITIES] = Raw(session.raw_capabilities)
        if session.info:
            meta[era.META_CLIENT] = Raw(session.info)
        if session.log_level is not None:
            meta[era.META_LOG_LEVEL] = Raw(jsonrpc.encode(session.log_level))
    return Raw(jsonrpc.encode(meta))


def _head(exchange: Exchange, fields: Fields, route: Route) -> bytes:
    """The header lines that repeat parts of the body for a modern server behind HTTP."""
    head = route.head
    marked = route.marked
    if marked and "arguments" in fields:
        lines = headers.mirror(marked, jsonrpc.to_python(fields["arguments"]))
        known = {name.lower() for name, _ in lines}
        lines += [(k, v) for k, v in exchange.params_head.items() if k.lower() not in known]
        head += "".join(f"{name}: {value}\r\n" for name, value in lines).encode("latin-1")
    elif exchange.params_head:
        lines = list(exchange.params_head.items())
        head += "".join(f"{name}: {value}\r\n" for name, value in lines).encode("latin-1")
    return head


def _members(message: Message) -> Fields:
    """The members of a result; none of an error, or of what is no object."""
    try:
        return jsonrpc.fields(message.result)
    except jsonrpc.MalformedError:
        return {}


async def _answers(exchange: Exchange, pending: PendingRequest, asked: Fields) -> Fields:
    """Put the questions of a round to a legacy client; return what the next round carries."""
    out: Fields = {}
    responses: dict[str, Raw] = {}
    questions = _decode_map(asked["inputRequests"]) if "inputRequests" in asked else {}
    for key, raw in questions.items():
        question = jsonrpc.decode(raw)
        message = await exchange.ask(pending, question.method, bytes(question.params) or b"{}")
        if message.error:
            if question.method != "elicitation/create":
                fault = jsonrpc.read_fault(message.error)
                raise ClientRefusedError(fault)
            message = Message(result=Raw(b'{"action":"cancel"}'))
        responses[key] = message.result
    if responses:
        out["inputResponses"] = Raw(jsonrpc.encode(responses))
    if "requestState" in asked:
        out["requestState"] = asked["requestState"]
    return out


class ClientRefusedError(ToolyardError):
    """The client answered a server's question with an error."""

    def __init__(self, fault: jsonrpc.Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _responses(fields: Fields) -> Fields:
    try:
        return _decode_map(fields["inputResponses"]) if "inputResponses" in fields else {}
    except jsonrpc.MalformedError:
        return {}


def _modernised(method: str, message: Message) -> Message:
    """A legacy server's answer with what every modern result must say."""
    if message.error:
        return _modern_error(method, message)
    raw = bytes(message.result)
    if b'"resultType"' in raw and "resultType" in jsonrpc.fields(raw):
        return message
    extra = b'"resultType":"complete"'
    if method == "resources/read":
        extra += b',"ttlMs":0,"cacheScope":"private"'
    inner = raw[1:].lstrip()
    message.result = Raw(b"{" + extra + (b"" if inner[:1] == b"}" else b",") + inner)
    return message


def _modern_error(method: str, message: Message) -> Message:
    """An unknown resource has another code in the modern era."""
    if method == "resources/read":
        fault = jsonrpc.read_fault(message.error)
        if fault.code == era.RESOURCE_NOT_FOUND:
            fault.code = era.INVALID_PARAMS
            return Message(error=Raw(jsonrpc.encode(fault)))
    return message


def _fault(code: int, text: str) -> Message:
    return Message(error=Raw(jsonrpc.fault(code, text)))
