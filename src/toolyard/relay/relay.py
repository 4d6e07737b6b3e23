"""Takes a client's message to whoever answers it: the hub's tables, its own tools, or a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Raw

from toolyard.board import Board
from toolyard.core.addresses import check_address
from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.core.model import Offer
from toolyard.core.names import check_name
from toolyard.core.rows import YardStatus
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.relay.answers import (
    Answers,
    unknown,
    unknown_resource,
    withheld,
    withheld_prompt,
)
from toolyard.relay.bridge import ClientRefusedError, EraBridge
from toolyard.relay.calls import Calls, Record
from toolyard.relay.credential_asking import CredentialAsking, CredentialLinks
from toolyard.relay.extensions import knows_tasks
from toolyard.relay.folders import Folders
from toolyard.relay.followed import FollowedTopics
from toolyard.relay.following import Following
from toolyard.relay.guards import GuardMaker
from toolyard.relay.handles import Handles
from toolyard.relay.hearing import Hearing
from toolyard.relay.held_calls import HeldCalls
from toolyard.relay.news import News
from toolyard.relay.offers import own_offers
from toolyard.relay.own import AppHubs, OwnAnswers
from toolyard.relay.own_methods import OwnMethods
from toolyard.relay.parking import PURPOSE as PARKED
from toolyard.relay.plain_calls import Answer, PlainCalls
from toolyard.relay.quirks import QuirkFitter
from toolyard.relay.replies import (
    error_reply,
    explained,
    sign,
    unknown_method,
    unknown_uri,
)
from toolyard.relay.results import PREFIX, Results
from toolyard.relay.routes import CACHED
from toolyard.relay.session import ClientRequest, Note, Responder, Session
from toolyard.relay.session_notes import SessionNotes, keep_note
from toolyard.relay.session_wishes import SessionWishes
from toolyard.relay.subscriptions import CHANGED, Subscriptions
from toolyard.relay.takeover import Takeover
from toolyard.relay.tasks import TaskTable, merge_tasks, missing_tasks
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.relay.views import Resolve, Views
from toolyard.relay.waiting_calls import WaitingCalls
from toolyard.tasks import Tasks
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

log = logging.getLogger(__name__)

_LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "templates",
}

ARRIVAL_SECONDS: Final = 2.0
"""The time that the first requests of a session from elsewhere wait for its client's wishes."""
Trace = Callable[[ClientRequest], None]
"""Begins the span of a request, if it has none yet; its answer ends the span."""


class Relay:
    """Every request of every client passes here, whatever the door."""

    def __init__(
        self,
        board: Board,
        pool: LinkPool,
        instances: Instances,
        usual_key: ViewKey,
        resolve: Resolve,
        record: Record,
        app_hubs: AppHubs,
        status: Callable[[], YardStatus],
        own_tools: Iterable[Offer],
        notes: SessionNotes,
        handles: Handles,
        credential_links: CredentialLinks,
        guard_makers: Sequence[GuardMaker],
        trace: Trace | None = None,
    ) -> None:
        """Serve clients of a hub.

        Args:
            usual_key: The view of those who ask for no other.
            record: Takes down calls of tools.
            app_hubs: Answer those who come to one app alone.
            status: Returns the whole yard.
            own_tools: The tools of the hub itself that features describe.
            notes: Keep the wishes of clients that other replicas may serve, too.
            handles: Name to clients what is held here, and lead to what others hold.
            credential_links: Lead members to pages for what their calls lack.
            guard_makers: Say what stands in front of tools, the outermost first. Features are built
                on the relay, so the sequence may fill up until the first view is made.
            trace: Begins spans; None if nobody asked for traces.
        """
        self._board = board
        self._trace = trace
        self._pool = pool
        self._instances = instances
        self._app_hubs = app_hubs
        self._app_answers: dict[str, OwnAnswers] = {}
        self.views = self._make_views(usual_key, resolve, own_tools, guard_makers)
        sessions: set[Session] = set()
        self.folders = Folders(board, pool, sessions, self.views.shares)
        self.handles = handles
        self.tasks = TaskTable(handles)
        self._bridge = EraBridge(handles)
        self.held = HeldCalls(handles)
        self.waiting = WaitingCalls()
        self.calls = self._make_calls(record, CredentialAsking(credential_links, self.held))
        self.answers = Answers(board, pool, self.calls, self.views.look, status)
        followed = FollowedTopics(pool, instances, self.calls.link_for)
        self.subscriptions = Subscriptions(followed, sessions)
        self._hear_servers()
        self.quirks = QuirkFitter(board, usual_key, Results(handles))
        self._plain = self._make_plain_calls()
        self.news = News(board, self.subscriptions, self.views.look, self._refit)
        self._wishes = SessionWishes(handles, notes)
        self._build_methods(followed, notes)

    def _make_views(
        self,
        usual_key: ViewKey,
        resolve: Resolve,
        own_tools: Iterable[Offer],
        guard_makers: Sequence[GuardMaker],
    ) -> Views:
        return Views(
            self._board,
            usual_key,
            resolve,
            own_offers(own_tools),
            self._app_hubs.offers,
            lambda: self.subscriptions.view_keys,
            guard_makers,
        )

    def _build_methods(self, followed: FollowedTopics, notes: SessionNotes) -> None:
        """Build what answers each method, and what takes over the clients of other replicas."""
        note = partial(keep_note, notes)
        self.following = self._make_following(followed, note)
        own = self._own_methods(note)
        self.takeover = Takeover(own, self.following, notes)
        self._both = self._common_methods()
        self._legacy, self._modern = self._legacy_methods(own), self._modern_methods(own)

    def _make_calls(self, record: Record, asking: CredentialAsking) -> Calls:
        return Calls(
            self._pool,
            self._instances,
            self.folders,
            self.tasks.note,
            record,
            self._bridge.to_modern,
            self._bridge.to_legacy,
            asking,
        )

    def _make_plain_calls(self) -> PlainCalls:
        return PlainCalls(self.views, self.calls, self.quirks, self._bridge.follow, self.serve)

    def _hear_servers(self) -> None:
        """Have links tell of what opens, and of what servers say outside of calls."""
        hearing = Hearing(self.subscriptions, self.tasks)
        self._pool.report_to(self.subscriptions.ready, hearing.heard)
        self._instances.report_to(self.subscriptions.ready_apart, hearing.heard_apart)

    def _make_following(self, followed: FollowedTopics, note: Note) -> Following:
        return Following(
            self._board,
            self.views.look,
            self.calls,
            self.tasks,
            followed,
            self.subscriptions,
            self.news,
            note,
        )

    def _own_methods(self, note: Note) -> OwnMethods:
        return OwnMethods(
            self._pool,
            self._instances,
            self.views.look,
            self._own_answers,
            self.folders,
            self.quirks,
            self.subscriptions,
            self.news,
            note,
        )

    def _common_methods(self) -> dict[str, Answer]:
        return {
            "tools/call": self._call_tool,
            "prompts/get": self._get_prompt,
            "resources/read": self._read,
            "completion/complete": self._complete,
        }

    def _legacy_methods(self, own: OwnMethods) -> dict[str, Answer]:
        everywhere = self._wishes.everywhere
        return {
            "initialize": own.initialize,
            "ping": own.ping,
            "logging/setLevel": everywhere(own.set_level),
            "resources/subscribe": everywhere(self.following.subscribe),
            "resources/unsubscribe": everywhere(self.following.unsubscribe),
            "tasks/get": self._follow_task,
            "tasks/result": self._follow_task,
            "tasks/cancel": self._follow_task,
            "tasks/list": self._list_tasks,
        }

    def _modern_methods(self, own: OwnMethods) -> dict[str, Answer]:
        return {
            "server/discover": own.discover,
            "subscriptions/listen": self.following.listen,
            "tasks/get": self._follow_task,
            "tasks/update": self._follow_task,
            "tasks/cancel": self._follow_task,
        }

    def _own_answers(self, session: Session) -> OwnAnswers:
        """Choose who answers a session for the hub: the hub itself, or that of one app."""
        app = session.view_key.app if session.view_key is not None else ""
        if not app:
            return self.answers
        if app not in self._app_answers:
            self._app_answers[app] = self._app_hubs.answers(app, self.calls, self.views.look)
        return self._app_answers[app]

    def _refit(self) -> None:
        """Let what the user says of clients reach those that are there."""
        for session in self.quirks.refit(self.subscriptions.sessions):
            self.news.expect(session.view_key)
            if session.ready:
                session.push(jsonrpc.notification(CHANGED["tools"][0]))

    # Requests, as doors bring them.

    def start(self, request: ClientRequest, tasks: Tasks) -> asyncio.Future[Any] | None:
        """Begin to answer a request, as work of `tasks`; None if these are closed."""
        if self._trace is not None:
            self._trace(request)
        return self._plain.start(request, tasks) or tasks.start(self.serve(request))

    def serve(
        self, request: ClientRequest, handler: Answer | None = None
    ) -> Coroutine[Any, Any, None]:
        """Take a request in; what is returned answers it, through its responder.

        `handler` goes on with a request that was begun without a task.
        """
        if self._trace is not None:
            self._trace(request)
        # Not when it is begun: what the client sends next may take it back already.
        request.session.requests[request.id] = request
        return self._serve(request, handler or self._handle)

    async def _serve(self, request: ClientRequest, handler: Answer) -> None:
        try:
            request.work = asyncio.current_task()
            request.respond(await self._answer(request, handler))
        except BaseException as failure:
            request.fail(failure)
            raise
        finally:
            request.session.requests.pop(request.id, None)

    async def _answer(self, request: ClientRequest, handler: Answer) -> Message:
        """The answer to a request; whatever its server or its client did wrong is one too."""
        try:
            return await handler(request)
        except ClientRefusedError as error:
            return error_reply(error.fault.code, str(error))
        except ToolyardError as error:
            # Its frames hold the call, which holds it: both would wait for the collector.
            error.__traceback__ = None
            return explained(error)
        except jsonrpc.MalformedError:
            return error_reply(era.INVALID_PARAMS, "the params are not what this method takes")

    async def _handle(self, request: ClientRequest) -> Message:
        """Have a request answered by whoever its method is for."""
        session, method = request.session, request.method
        if request.is_dropped:
            raise asyncio.CancelledError
        if session.arrival is not None:
            await asyncio.wait([session.arrival], timeout=ARRIVAL_SECONDS)
        if session.is_modern:
            self.quirks.apply(session, bytes(request.meta.get(era.META_CLIENT, b"")))
        kind = _LISTS.get(method)
        if kind is not None:
            return self._list(request, kind)
        if session.replica and "requestState" in request.params:
            passed = await self._resume_elsewhere(request)
            if passed is not None:
                return passed
        own = self._modern if session.is_modern else self._legacy
        handler = self._both.get(method) or own.get(method) or self._pass_on
        return await handler(request)

    async def call(
        self,
        session: Session,
        arguments: Raw,
        responder: Responder,
        *,
        view: View | None = None,
        meta: Fields | None = None,
    ) -> Message:
        """Call a tool for a door that speaks no MCP; `arguments` are those of a call tool.

        Raises:
            ToolyardError: The server could not be reached, failed or was late.
        """
        params = {"arguments": arguments}
        request = ClientRequest(session, "tools/call", b"0", params, meta or {}, responder)
        view = view or self.views.look()
        if self._trace is None:
            return await self.answers.call_any(request, view)
        self._trace(request)
        try:
            reply = await self.answers.call_any(request, view)
        except ToolyardError as error:
            request.respond(explained(error))
            raise
        except BaseException as failure:
            request.fail(failure)
            raise
        request.respond(reply)
        return reply

    async def _resume_elsewhere(self, request: ClientRequest) -> Message | None:
        """Have the replica that parked a call go on with it; None if no other did."""
        return await self.handles.pass_on(PARKED, request.text("requestState"), request)

    async def _pass_on(self, request: ClientRequest) -> Message:
        """Take a method that the hub does not know to the one server it can be meant for."""
        view = self.views.look(request.session.view_key)
        route = view.route_method(request.method)
        if route is None:
            return unknown_method(request.method)
        return await self.calls.send(request, request.method, request.params, route, view)

    # Lists, from the picture alone.

    def _list(self, request: ClientRequest, kind: str) -> Message:
        raw = request.params.get("cursor")
        cursor = jsonrpc.to_python(raw) if raw is not None else None
        if cursor is not None and not isinstance(cursor, str):
            return error_reply(era.INVALID_PARAMS, "a cursor is a string")
        page = self.views.look(request.session.view_key).lists[kind].page(request.is_modern, cursor)
        if page is None:
            return error_reply(
                era.INVALID_PARAMS, "this cursor is not of the list as it is now; start again"
            )
        return Message(result=Raw(page))

    # What leads to servers.

    async def _call_tool(self, request: ClientRequest) -> Message:
        session, params = request.session, request.params
        view = self.views.look(session.view_key)
        route = view.tools.get(request.name)
        if route is None:
            raise self._nowhere(view, "tool", request.name)
        if request.mirrored is not None and route.marked:
            wrong = headers.disagreement(route.marked, _arguments(params), request.mirrored)
            if wrong:
                return error_reply(era.HEADER_MISMATCH, wrong)
        if route.server is None:
            reply = self._signed(
                request, await self._own_answers(session).call(request, route.key, view)
            )
        else:
            fields = {**params, "name": route.raw_key}
            reply = await self.calls.send(request, "tools/call", fields, route, view)
        if len(reply.result) > session.largest:
            self.quirks.fit(session, route, reply)
        return reply

    async def _get_prompt(self, request: ClientRequest) -> Message:
        view = self.views.look(request.session.view_key)
        route = view.prompts.get(request.name)
        if route is None:
            raise self._nowhere(view, "prompt", request.name)
        if route.server is None:
            prompt = self._own_answers(request.session).prompt(route.key, view)
            return self._signed(request, Message(result=Raw(prompt)))
        fields = {**request.params, "name": route.raw_key}
        return await self.calls.send(request, "prompts/get", fields, route, view)

    async def _read(self, request: ClientRequest) -> Message:
        view = self.views.look(request.session.view_key)
        uri = request.name
        check_address(uri)
        if uri.startswith(PREFIX):
            return await self._read_kept(request)
        route = self.calls.route_uri(request.session, view, uri)
        if route is None:
            return unknown_uri(
                uri, unknown_resource(self._board.snapshot, view, uri), modern=request.is_modern
            )
        if route.server is None:
            message = Message(result=Raw(self._own_answers(request.session).read(uri, view)))
            return self._signed(request, message, CACHED)
        fields = {**request.params, "uri": route.raw_key}
        return await self.calls.send(request, "resources/read", fields, route, view, uri)

    async def _read_kept(self, request: ClientRequest) -> Message:
        """Read a result that was too large for its client."""
        result = self.quirks.results.read(request.session.principal, request.name)
        if result is not None:
            return self._signed(request, Message(result=Raw(result)), CACHED)
        text = "this result is not kept any more; call again"
        answer = await self.quirks.results.read_elsewhere(request)
        return answer or unknown_uri(request.name, text, modern=request.is_modern)

    async def _complete(self, request: ClientRequest) -> Message:
        view = self.views.look(request.session.view_key)
        ref = jsonrpc.fields(request.params.get("ref", Raw(b"")))
        if jsonrpc.text(ref.get("type")) == "ref/prompt":
            key, name = "name", jsonrpc.text(ref.get("name"))
            route = view.prompts.get(name)
            if route is None:
                raise self._nowhere(view, "prompt", name)
        else:
            key, uri = "uri", jsonrpc.text(ref.get("uri"))
            route = view.templates.get(uri) or self.calls.route_uri(request.session, view, uri)
            if route is None:
                return error_reply(
                    era.INVALID_PARAMS, unknown_resource(self._board.snapshot, view, uri)
                )
        if route.server is None:
            nothing = Message(result=Raw(b'{"completion":{"values":[]}}'))
            return self._signed(request, nothing)
        reference = Raw(jsonrpc.encode({**ref, key: route.raw_key}))
        fields = {**request.params, "ref": reference}
        return await self.calls.send(request, "completion/complete", fields, route, view)

    def _nowhere(self, view: View, kind: str, name: str) -> ToolyardError:
        """The reason why the name of a tool or prompt leads nowhere: unknown, or withheld."""
        check_name(kind, name)
        reason: ToolyardError | None = None
        if kind == "prompt":
            reason = withheld_prompt(self._board.snapshot, view, name)
        elif name in view.withheld:
            reason = withheld(self._board.snapshot, *view.withheld[name])
        names = view.prompts if kind == "prompt" else view.tools
        return reason or UnknownNameError(unknown(kind, name, names))

    # Tasks of servers.

    async def _follow_task(self, request: ClientRequest) -> Message:
        view = self.views.look(request.session.view_key)
        if not view.extensions.has_tasks(modern=request.is_modern):
            return unknown_method(request.method)
        if request.is_modern and not knows_tasks(request.capabilities):
            return missing_tasks()
        reply = await self.tasks.follow(self.calls, request, view)
        if len(reply.result) > request.session.largest:
            reply.result = self.quirks.cut(request.session, reply.result, keeps=True)
        return reply

    async def _list_tasks(self, request: ClientRequest) -> Message:
        own = await self.tasks.list(self.calls, request)
        if not request.session.replica or request.is_passed:
            return own
        return merge_tasks([own, *await self.handles.ask_others(request)])

    # Notifications of clients, and their comings and goings.

    def noticed(self, session: Session, message: Message, *, is_passed: bool = False) -> None:
        """Take a client's notification; another replica may have passed it on."""
        method = message.method
        if method == "notifications/initialized":
            session.ready = True
        elif method == "notifications/cancelled":
            is_here = self._cancel(session, message)
            if session.replica and not (is_here or is_passed):
                self.handles.tell_others(session, message)
        elif method == "notifications/roots/list_changed":
            own = (instance.keeper for instance in self._instances.of(session.principal))
            for keeper in (*self._pool.keepers.values(), *own):
                if keeper.link is not None and not keeper.link.is_modern:
                    keeper.link.notify(method)

    def _cancel(self, session: Session, message: Message) -> bool:
        """Cancel a request; return False if it is not under way here."""
        try:
            id_ = jsonrpc.fields(message.params).get("requestId")
        except jsonrpc.MalformedError:
            return True  # no request anywhere is called so
        request = session.requests.get(bytes(id_)) if id_ is not None else None
        if request is not None:
            request.abandon()
        return request is not None

    def leave(self, session: Session) -> None:
        """A client is gone."""
        self.subscriptions.sessions.discard(session)
        self.folders.reconsider()
        self.following.leave(session)
        session.close()
        self.calls.leave(session.principal)
        self.held.leave(session.principal)
        self._bridge.leave(session.principal)
        self.tasks.leave(session.principal)
        self.quirks.results.leave(session.principal)
        self._instances.leave(session.principal)

    def away(self, session: Session) -> None:
        """Nothing of a client is connected any more; it may come back."""
        self._instances.leave(session.principal)

    def back(self, session: Session) -> None:
        """It did, and hears what is said unasked."""
        session.ready = True
        self._instances.come_back(session.principal)

    async def run(self) -> None:
        """Tell clients of changed lists, coalesced, until cancelled."""
        await self.news.run()

    def _signed(self, request: ClientRequest, message: Message, extra: bytes = b"") -> Message:
        """Sign an answer of our own, if its client is modern."""
        if not request.is_modern:
            return message
        return sign(message, self._own_answers(request.session).identity, extra)


def _arguments(fields: Fields) -> Any:
    raw = fields.get("arguments")
    return jsonrpc.to_python(raw) if raw is not None else {}
