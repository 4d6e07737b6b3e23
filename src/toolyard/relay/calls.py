"""The hot path: one request of a client to one server and back.

Of the params only the members are known; the one that names the target and the
connection keys of `_meta` are replaced, the rest crosses as the bytes it was.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

import msgspec
from msgspec import Raw

from toolyard.core.addresses import check_address
from toolyard.core.errors import LinkError, ToolyardError
from toolyard.core.model import ServerId
from toolyard.links.http import SessionLostError
from toolyard.links.instances import Instances
from toolyard.links.link import Link
from toolyard.links.owner import Apart, Owner
from toolyard.links.pending import PendingRequest
from toolyard.links.pool import LinkPool
from toolyard.links.turns import Turns
from toolyard.relay.folders import Folders
from toolyard.relay.given import Given
from toolyard.relay.handles import Handles
from toolyard.relay.legacy import legacy_answer
from toolyard.relay.parking import Parking, digest_of, missing
from toolyard.relay.questions import ASKED, Wait
from toolyard.relay.references import Change, in_result, mention
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest, Home, Session, agent_of
from toolyard.relay.view import View
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

ROUNDS: Final = 16
"""Rounds of questions one call of a legacy client may take."""
_decode_map: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_VERSION: Final = Raw(jsonrpc.encode(era.MODERN))
_RETRIED: Final = frozenset({"inputResponses", "requestState"})
_FOREIGN: Final = _RETRIED | {"task"}
"""Members of a modern call that a legacy server takes for something else, or not at all."""
_LONGEST_HANDLE: Final = 1 << 16
"""Bytes of an answer that may be the handle of a task."""
names_task: Final = re.compile(rb'"task"').search
"""Finds what every handle of a task says, without reading the result."""
NoteTask = Callable[[ClientRequest, Route, Message], None]
"""Hears of an answer to a call that may have begun a task."""
Record = Callable[
    [str | bytes, str, str, Raw, float, Message | BaseException, str, Wait | None], None
]
"""Takes a call of a tool down: agent, server, tool, arguments, when it began, its end, caller, and
the wait for answers to its server's questions."""


class Calls:
    """Takes requests to links, and bridges the eras where the two sides differ."""

    def __init__(
        self,
        pool: LinkPool,
        instances: Instances,
        folders: Folders,
        note_task: NoteTask,
        record: Record,
        handles: Handles,
    ) -> None:
        self._pool = pool
        self._instances = instances
        self._folders = folders
        self._note_task = note_task
        self._record = record
        self._parking = Parking(handles)
        self.given = Given()

    async def send(
        self,
        request: ClientRequest,
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
        session = request.session
        try:
            apart = route.apart and route.apart_for(session.has_folders)
            if apart is None:
                ready = None if self._folders.told else self._pool.ready(route.server)
                link = ready or await self._lease_shared(route.server, session)
            else:
                ready = self._instances.ready(apart, session.principal)
                link = ready or await self._lease_apart(apart, session, request.capabilities)
            try:
                message = await self._over(link, request, method, fields, route)
            except SessionLostError:
                # The server never looked at it, so this cannot do anything twice.
                link = await self.link_for(route, session, request.capabilities)
                message = await self._over(link, request, method, fields, route)
        except BaseException as error:
            self._note(request, method, fields, route, began, error)
            raise
        self._note(request, method, fields, route, began, message)
        may_be_task = method == "tools/call" and (session.is_modern or "task" in fields)
        if may_be_task and len(message.result) <= _LONGEST_HANDLE and names_task(message.result):
            self._note_task(request, route, message)
        if route.server in view.readable and message.result and mention(message.result):
            change = self._outward(session, route, view, shown)
            message.result = in_result(message.result, change)
        return message

    def _outward(self, session: Session, route: Route, view: View, shown: str) -> Change:
        """Return what turns addresses of a server into those that lead a client to it."""
        server = route.server
        assert server is not None

        def change(uri: str) -> str:
            if shown and uri == route.key:
                return shown
            listed = view.shown(server, uri)
            if listed:
                return listed
            # Another replica would not know who gave it out.
            is_noted = not session.replica and self.given.note(session.principal, uri, server)
            return uri if is_noted else view.wrapped(server, uri)

        return change

    def route_uri(self, session: Session, view: View, uri: str) -> Route | None:
        """Look up where an address leads: as it is listed, or as a server gave it to the client."""
        check_address(uri)
        return view.route_uri(uri, self.given.server(session.principal, uri))

    async def link_for(
        self, route: Route, session: Session, capabilities: era.Capabilities | None = None
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
        return await self._lease_apart(apart, session, able)

    async def _lease_apart(
        self, apart: Apart, session: Session, capabilities: era.Capabilities
    ) -> Link:
        client = session.agent or agent_of(session.info)
        principal, account = session.principal, session.account or session.principal
        owner = Owner(principal, account, client, capabilities=capabilities, home=Home(session))
        return await self._instances.lease(apart, owner)

    async def _lease_shared(self, server: ServerId, session: Session) -> Link:
        link = await self._pool.lease(server)
        while self._folders.clear_for(session, server):
            link = await self._pool.lease(server)
        return link

    def _note(
        self,
        request: ClientRequest,
        method: str,
        fields: Fields,
        route: Route,
        began: float,
        end: Message | BaseException,
    ) -> None:
        """Have a call of a tool recorded."""
        if method == "tools/call":
            arguments = fields.get("arguments", jsonrpc.NOTHING)
            session, clock = request.session, request.clock
            client = session.agent or session.info
            wait = clock.read() if clock is not None else None
            called = route.alias, route.key, arguments
            self._record(client, *called, began, end, session.caller, wait)

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could take up its parked calls."""
        self._parking.leave(principal)
        self.given.leave(principal)

    def _over(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
    ) -> Awaitable[Message]:
        """Choose how a request crosses a link: as it is, in turn, or from one era to the other."""
        is_modern = request.session.is_modern
        if link.turns is not None and not (is_modern and "requestState" in fields):
            return self._in_turn(link, link.turns, request, method, fields, route)
        if is_modern is link.is_modern:
            return self._plain(link, request, method, fields, route)
        cross = self._to_legacy if is_modern else self._to_modern
        return cross(link, request, method, fields, route)

    async def _in_turn(
        self,
        link: Link,
        turns: Turns,
        request: ClientRequest,
        method: str,
        fields: Fields,
        route: Route,
    ) -> Message:
        """Wait until no call of another client is under way at a legacy server that asks."""
        await turns.take(request.turn, link.patience, ahead=link.is_asking)
        request.turns = turns
        send = self._to_legacy if request.is_modern else self._plain
        try:
            return await send(link, request, method, fields, route)
        finally:
            if request.turns is not None:
                turns.leave()  # it was never sent

    async def _plain(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
    ) -> Message:
        """Both sides speak the same era: nothing to translate."""
        if request.meta:
            fields = {**fields, "_meta": _hop_meta(link, request)}
        is_modern = request.session.is_modern
        head = _head(request, fields, route) if is_modern else b""
        pending = self._start(link, request, method, fields, head)
        try:
            message = await pending.answer
        except asyncio.CancelledError:
            link.cancel(pending, "the client went away")
            raise
        if route.wraps and not is_modern and message.result:
            return legacy_answer(message, _members(message), wraps=True)
        return message

    def _start(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, head: bytes = b""
    ) -> PendingRequest:
        """Send a request; `head` are header lines for a server behind HTTP."""
        pending = link.request(method, jsonrpc.encode(fields), request, head=head + request.trace)
        if request.turns is not None:
            # Also beyond this request: a parked call goes on with the next one.
            pending.when_answered(request.turns.leave)
            request.turns = None
        return pending

    async def _to_modern(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
    ) -> Message:
        """A legacy client, a modern server: the hub plays the rounds of questions for it."""
        for _ in range(ROUNDS):
            whole = {**fields, "_meta": _hop_meta(link, request)}
            head = _head(request, whole, route)
            pending = self._start(link, request, method, whole, head)
            try:
                message = await pending.answer
            except asyncio.CancelledError:
                link.cancel(pending, "the client went away")
                raise
            members = _members(message)
            if bytes(members.get("resultType", b"")) != b'"input_required"':
                return legacy_answer(message, members, wraps=route.wraps)
            fields = {k: v for k, v in fields.items() if k not in _RETRIED}
            fields |= await _answers(request, pending, members)
        raise LinkError(f"{link.name!r} asked more than {ROUNDS} rounds of questions")

    async def _to_legacy(
        self, link: Link, request: ClientRequest, method: str, fields: Fields, route: Route
    ) -> Message:
        """A modern client, a legacy server: questions become `input_required` results."""
        request.may_park = True
        state = fields.get("requestState")
        if state is None:
            plain = _legacy_params(link, request, fields)
            pending = self._start(link, request, method, plain)
        else:
            parked = self._parking.take(state, request, digest_of(method, fields))
            if parked is None:
                return await self._parking.resume_elsewhere(state, request)
            parked.questions.answer(_responses(fields))
            pending, link = parked.questions.pending, parked.link
        try:
            is_asked = request.questions is not None and request.questions.is_waiting
            message = ASKED if is_asked else await pending.answer
            if message is ASKED:
                message = await self._asked(link, request, pending, digest_of(method, fields))
        except asyncio.CancelledError:
            link.cancel(pending, "the client went away")
            raise
        finally:
            if pending.answer.done():
                request.questions = None  # they lead back here: neither shall keep the other
        return _modernised(method, message)

    async def _asked(
        self, link: Link, request: ClientRequest, pending: PendingRequest, digest: bytes
    ) -> Message:
        """Tell a modern client what its server asks, unless that has the answer by now."""
        questions = request.questions
        while questions is None or not questions.is_waiting:  # they were withdrawn meanwhile
            message = await pending.answer
            if message is not ASKED:
                return message
        if questions.missing:
            # The server was refused and may have answered meanwhile; that must not decide.
            link.cancel(pending, f"the client does not support {questions.missing}")
            return missing(questions.missing)
        if pending.answer.done():
            return pending.answer.result()
        return self._parking.park(request, questions, link, digest)


def _legacy_params(link: Link, request: ClientRequest, fields: Fields) -> Fields:
    """The params of a modern call as a legacy server reads them."""
    plain = dict(fields)
    for key in _FOREIGN & plain.keys():
        del plain[key]
    if request.meta.keys() <= era.CONNECTION_KEYS:
        plain.pop("_meta", None)
    else:
        plain["_meta"] = _hop_meta(link, request)
    return plain


def _hop_meta(link: Link, request: ClientRequest) -> Raw:
    """The `_meta` for the next hop: our progress token, and the envelope its era wants."""
    meta = dict(request.meta)
    if "progressToken" in meta:
        meta["progressToken"] = Raw(b"%d" % link.next_number())
    if not link.is_modern:
        for key in era.CONNECTION_KEYS & meta.keys():
            del meta[key]
    elif not request.is_modern:
        session = request.session
        meta[era.META_VERSION] = _VERSION
        meta[era.META_CAPABILITIES] = Raw(session.raw_capabilities)
        if session.info:
            meta[era.META_CLIENT] = Raw(session.info)
        if session.log_level is not None:
            meta[era.META_LOG_LEVEL] = Raw(jsonrpc.encode(session.log_level))
    return Raw(jsonrpc.encode(meta))


def _head(request: ClientRequest, fields: Fields, route: Route) -> bytes:
    """The header lines that repeat parts of the body for a modern server behind HTTP."""
    lines = list((request.mirrored or {}).items())
    if route.marked and "arguments" in fields:
        own = headers.mirror(route.marked, jsonrpc.to_python(fields["arguments"]))
        names = {name.lower() for name, _ in own}
        lines = own + [(name, value) for name, value in lines if name.lower() not in names]
    if not lines:
        return route.head
    return route.head + "".join(f"{name}: {value}\r\n" for name, value in lines).encode("latin-1")


def _members(message: Message) -> Fields:
    """The members of a result; none of an error, or of what is no object."""
    try:
        return jsonrpc.fields(message.result)
    except jsonrpc.MalformedError:
        return {}


async def _answers(request: ClientRequest, pending: PendingRequest, members: Fields) -> Fields:
    """Put the questions of a round to a legacy client; return what the next round carries."""
    out: Fields = {}
    responses: dict[str, Raw] = {}
    questions = _decode_map(members["inputRequests"]) if "inputRequests" in members else {}
    for key, raw in questions.items():
        question = jsonrpc.decode(raw)
        message = await request.ask(pending, question.method, bytes(question.params) or b"{}")
        if message.error:
            if question.method != "elicitation/create":
                fault = jsonrpc.read_fault(message.error)
                raise ClientRefusedError(fault)
            message = Message(result=Raw(b'{"action":"cancel"}'))
        responses[key] = message.result
    if responses:
        out["inputResponses"] = Raw(jsonrpc.encode(responses))
    if "requestState" in members:
        out["requestState"] = members["requestState"]
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
