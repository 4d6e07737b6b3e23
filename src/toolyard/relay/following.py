"""Clients that follow resources, lists and tasks, in the words of either era."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from toolyard.board import Board
from toolyard.core.errors import ToolyardError
from toolyard.core.names import quoted
from toolyard.links.listening import RESOURCES, TASKS, Topic
from toolyard.relay.answers import unknown_resource
from toolyard.relay.calls import Calls
from toolyard.relay.extensions import knows_tasks
from toolyard.relay.followed import FollowedTopics
from toolyard.relay.news import News
from toolyard.relay.replies import EMPTY, error_reply, unknown_uri
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest, Note, Session
from toolyard.relay.subscriptions import Subscriptions
from toolyard.relay.tasks import TaskTable, missing_tasks
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message


class Following:
    """Begins and ends what clients follow; the subscriptions do the rest."""

    def __init__(
        self,
        board: Board,
        look: Callable[[ViewKey | None], View],
        calls: Calls,
        tasks: TaskTable,
        followed: FollowedTopics,
        subscriptions: Subscriptions,
        news: News,
        note: Note,
    ) -> None:
        self._board = board
        self._look = look
        self._calls, self._tasks = calls, tasks
        self._followed = followed
        self._subscriptions = subscriptions
        self._news = news
        self._note = note

    async def subscribe(self, request: ClientRequest) -> Message:
        """Let a legacy client follow a resource."""
        session, uri = request.session, request.text("uri")
        view = self._look(session.view_key)
        route = self._calls.route_uri(session, view, uri)
        if route is None:
            return unknown_uri(
                uri, unknown_resource(self._board.snapshot, view, uri), modern=request.is_modern
            )
        if uri in session.watched:
            return EMPTY
        self._followed.check(session, 1)
        session.watched[uri] = route
        refused = await self._followed.follow({(RESOURCES, uri): route}, session)
        if refused:
            self._unwatch(session, uri)
            text = f"changes to {quoted(uri)} are not told: {refused[RESOURCES, uri]}"
            return error_reply(era.SERVER_ERROR, text)
        self._note(session)
        return EMPTY

    async def unsubscribe(self, request: ClientRequest) -> Message:
        """Let a legacy client follow a resource no longer."""
        self._unwatch(request.session, request.text("uri"))
        self._note(request.session)
        return EMPTY

    async def resume(self, session: Session, uris: Iterable[str]) -> None:
        """Let a legacy client follow what it followed at another replica, where that can be."""
        view = self._look(session.view_key)
        routes: dict[Topic, Route] = {}
        for uri in uris:
            with suppress(ToolyardError):
                route = self._calls.route_uri(session, view, uri)
                if route is not None and uri not in session.watched:
                    session.watched[uri] = routes[RESOURCES, uri] = route
        for _, uri in await self._followed.follow(routes, session):
            self._unwatch(session, uri)

    def drop(self, session: Session, uris: Iterable[str]) -> None:
        """Let a legacy client follow no longer what it has given up at another replica."""
        for uri in list(uris):
            self._unwatch(session, uri)

    async def listen(self, request: ClientRequest) -> Message:
        """Tell a modern client what it follows, until it goes away."""
        raw = request.params.get("notifications")
        notifications = jsonrpc.to_python(raw) if raw is not None else {}
        if not isinstance(notifications, dict):
            return error_reply(era.INVALID_PARAMS, "notifications must be an object")
        self._news.expect(request.session.view_key)
        if notifications.get(TASKS) and not knows_tasks(request.capabilities):
            return missing_tasks()
        view = self._look(request.session.view_key)
        await self._subscriptions.listen(request, notifications, partial(self._find, request, view))
        return EMPTY

    def leave(self, session: Session) -> None:
        """End all that a client follows that is gone."""
        self.drop(session, session.watched)

    def _unwatch(self, session: Session, uri: str) -> None:
        route = session.watched.pop(uri, None)
        if route is not None:
            self._followed.unfollow({(RESOURCES, uri): route}, session)

    def _find(self, request: ClientRequest, view: View, topic: Topic) -> Route | None:
        """Find what a client wants to follow."""
        member, name = topic
        if member == TASKS:
            return self._tasks.route(request.session.principal, name, view)
        return self._calls.route_uri(request.session, view, name)
