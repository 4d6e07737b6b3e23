"""The hot path: one request of a client to one server and back.

Of the params only the members are known; the one that names the target and the
connection keys of `_meta` are replaced, the rest crosses as the bytes it was.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Final

from msgspec import Raw, Struct

from toolyard.core.addresses import check_address
from toolyard.core.model import ServerId
from toolyard.links.http import SessionLostError
from toolyard.links.instances import Instances
from toolyard.links.link import Link
from toolyard.links.owner import Apart, Owner, member_key
from toolyard.links.pending import PendingRequest
from toolyard.links.pool import LinkPool
from toolyard.links.turns import Turns
from toolyard.relay.credential_asking import CredentialAsking
from toolyard.relay.folders import Folders
from toolyard.relay.given import Given
from toolyard.relay.guards import guarded
from toolyard.relay.legacy import legacy_answer, result_members
from toolyard.relay.modern import modernised
from toolyard.relay.questions import Wait
from toolyard.relay.references import Change, in_result, mention
from toolyard.relay.routes import Route
from toolyard.relay.sending import start_legacy, start_plain
from toolyard.relay.session import LEFT, ClientRequest, Home, Session, agent_of
from toolyard.relay.view import View
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

_LONGEST_HANDLE: Final = 1 << 16
"""Bytes of an answer that may be the handle of a task."""
names_task: Final = re.compile(rb'"task"').search
"""Finds what every handle of a task says, without reading the result."""
NoteTask = Callable[[ClientRequest, Route, Message], None]
"""Hears of an answer to a call that may have begun a task."""
Origin = tuple[str, str, str]
"""The key of the member who calls, the mark of their token, and the address they call from."""
Record = Callable[
    [
        str | bytes,
        str,
        str,
        Raw,
        float,
        Message | BaseException,
        str,
        Wait | None,
        Origin | None,
    ],
    None,
]
"""Takes a call of a tool down: agent, server, tool, arguments, when it began, its end, caller, the
wait for answers to its server's questions, and its origin if that is not this machine's owner."""
Cross = Callable[[Link, ClientRequest, str, Fields, Route], Awaitable[Message]]
"""Takes a request over a link to a server of the other era, and its answer back."""


class RoutedRequest(Struct, eq=False):
    """A request of a client on its way to a server."""

    request: ClientRequest
    method: str
    fields: Fields
    """Its params, as the server reads them."""
    route: Route
    view: View
    began: float
    shown: str = ""
    """The address that the client reads, where the server's own is another."""


class Calls:
    """Takes requests to links; where the two sides differ in era, by way of the bridge."""

    def __init__(
        self,
        pool: LinkPool,
        instances: Instances,
        folders: Folders,
        note_task: NoteTask,
        record: Record,
        to_modern: Cross,
        to_legacy: Cross,
        asking: CredentialAsking,
    ) -> None:
        self._pool = pool
        self._instances = instances
        self._folders = folders
        self._note_task = note_task
        self._record = record
        self._to_modern = to_modern
        self._to_legacy = to_legacy
        self.given = Given()
        self._asking = asking

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
        routed = RoutedRequest(request, method, fields, route, view, monotonic(), shown)
        try:
            if route.guards:
                way = guarded(request, route, partial(self._carry, request, method, route))
                message = await way(fields)
            else:
                message = await self._carry(request, method, route, fields)
        except BaseException as error:
            self.note(routed, error)
            raise
        return self.answered(routed, message)

    def _carry(
        self, request: ClientRequest, method: str, route: Route, fields: Fields
    ) -> Awaitable[Message]:
        """Choose how a request is delivered: as it is, or asking its member for what it lacks."""
        assert route.server is not None
        if route.apart is not None and route.apart.per_member and request.session.member:
            deliver = partial(self._deliver, request, method, route)
            return self._asking.serve(request, fields, route.server, deliver)
        return self._deliver(request, method, route, fields)

    async def _deliver(
        self, request: ClientRequest, method: str, route: Route, fields: Fields
    ) -> Message:
        """Take a request over the link that its route leads to, opened first if need be."""
        assert route.server is not None
        session = request.session
        apart = route.apart and route.apart_for(session.has_folders)
        if apart is None:
            ready = None if self._folders.told else self._pool.ready(route.server)
            link = ready or await self._lease_shared(route.server, session)
        else:
            ready = self._instances.ready(apart, session.owner_key(apart))
            link = ready or await self._lease_apart(apart, session, request.capabilities)
        try:
            return await self._over(link, request, method, fields, route)
        except SessionLostError:
            # The server never looked at it, so this cannot do anything twice.
            link = await self.link_for(route, session, request.capabilities)
            return await self._over(link, request, method, fields, route)

    def begin(self, routed: RoutedRequest) -> tuple[Link, PendingRequest] | None:
        """Send a request, if its way is open; None if something has to be done or waited for first.

        It is open if no guard is in front of it, and the link is there and serves all clients at a
        time. For a legacy client, a modern server would have to be asked in rounds.
        """
        request, route = routed.request, routed.route
        if route.guards:
            return None
        if route.server is None or route.apart is not None or self._folders.told:
            return None
        link = self._pool.ready(route.server)
        if link is None or link.turns is not None:
            return None
        is_modern = request.session.is_modern
        if link.is_modern is is_modern:
            return link, start_plain(link, request, routed.method, routed.fields, route)
        if is_modern:
            return link, start_legacy(link, request, routed.method, routed.fields)
        return None

    def end(self, routed: RoutedRequest, link: Link, message: Message) -> Message:
        """Return the answer to what was begun, fit for its client."""
        request = routed.request
        if link.is_modern is request.session.is_modern:
            message = fitted(request, routed.route, message)
        else:
            message = modernised(request, routed.method, routed.fields, message)
        return self.answered(routed, message)

    def answered(self, routed: RoutedRequest, message: Message) -> Message:
        """Have a request recorded, and its answer lead where the client can follow."""
        self.note(routed, message)
        request, route, view = routed.request, routed.route, routed.view
        may_be_task = routed.method == "tools/call" and (
            request.session.is_modern or "task" in routed.fields
        )
        if may_be_task and len(message.result) <= _LONGEST_HANDLE and names_task(message.result):
            self._note_task(request, route, message)
        if route.server in view.readable and message.result and mention(message.result):
            change = self._outward(request.session, route, view, routed.shown)
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
        account, member = session.account or session.principal, session.member
        if apart.per_member and not apart.per_session:
            # In all their sessions: none of them is asked, or told, in the place of another.
            owner = Owner(member_key(member), account, member=member)
            return await self._instances.lease(apart, owner)
        client = session.agent or agent_of(session.info)
        owner = Owner(
            session.principal,
            account,
            client,
            member=member,
            capabilities=capabilities,
            home=Home(session),
        )
        return await self._instances.lease(apart, owner)

    async def _lease_shared(self, server: ServerId, session: Session) -> Link:
        link = await self._pool.lease(server)
        while self._folders.clear_for(session, server):
            link = await self._pool.lease(server)
        return link

    def note(self, routed: RoutedRequest, end: Message | BaseException) -> None:
        """Have a call of a tool recorded."""
        if routed.method == "tools/call":
            arguments = routed.fields.get("arguments", jsonrpc.NOTHING)
            request, route = routed.request, routed.route
            session, clock = request.session, request.clock
            client = session.agent or session.info
            wait = clock.read() if clock is not None else None
            origin = None
            if request.address or session.member:
                origin = session.member, session.token, request.address
            self._record(
                client,
                route.alias,
                route.key,
                arguments,
                routed.began,
                end,
                session.caller,
                wait,
                origin,
            )

    def leave(self, principal: str) -> None:
        """A client is gone, and with it what servers gave to it."""
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
        await turns.take(request.turn, link.patience, ahead=bool(link.questions))
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
        pending = start_plain(link, request, method, fields, route)
        try:
            message = await pending.answer
        except asyncio.CancelledError:
            link.cancel(pending, LEFT)
            raise
        return fitted(request, route, message)


def fitted(request: ClientRequest, route: Route, message: Message) -> Message:
    """The answer to such a request, with an object where a legacy client can read nothing else."""
    if route.wraps and not request.session.is_modern and message.result:
        return legacy_answer(message, result_members(message), wraps=True)
    return message
