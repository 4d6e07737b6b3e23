"""Tells of changes: legacy sessions, and the listening requests of modern clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ToolyardError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Server
from toolyard.links.instances import Instance
from toolyard.links.link import Link
from toolyard.links.listening import RESOURCES, TASKS, Topic
from toolyard.relay.followed import FollowedTopics, Place, place_of_instance
from toolyard.relay.routes import Route
from toolyard.relay.session import LEVELS, ClientRequest, Session
from toolyard.relay.view_key import ViewKey
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc

log = logging.getLogger(__name__)

TOLD_SECONDS: Final = 0.5
"""The time that a client waits for a server to take note; one that hangs must not hold up more."""
COALESCE_SECONDS: Final = 0.25
"""Changes that come together are told together."""
CHANGED: Final = {
    "tools": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources": ("notifications/resources/list_changed", "resourcesListChanged"),
}
UPDATED: Final = "notifications/resources/updated"
TASK_CHANGED: Final = "notifications/tasks"


Telling = asyncio.Task[Any] | None
"""A server being told something; None if it need not be."""
Params = Mapping[str, object]
Find = Callable[[Topic], Route | None]


async def until_told(tellings: Iterable[Telling]) -> None:
    """Wait a moment until servers know, so that what a client does next finds them ready."""
    if tasks := [telling for telling in tellings if telling is not None]:
        await asyncio.wait(tasks, timeout=TOLD_SECONDS)


class ListenRequest:
    """A modern client's open `subscriptions/listen` request."""

    def __init__(self, request: ClientRequest, notifications: JsonObject) -> None:
        self.request = request
        self.wanted = {field for _, field in CHANGED.values() if notifications.get(field) is True}
        self.topics = {
            topic for member in (RESOURCES, TASKS) for topic in _named(notifications, member)
        }
        self._early: dict[tuple[str, str], Params] | None = {}
        """Changes from before the acknowledgement, the last of each thing; None after it."""

    @property
    def uris(self) -> set[str]:
        """The resources it follows."""
        return {name for member, name in self.topics if member == RESOURCES}

    @property
    def honoured(self) -> dict[str, bool | list[str]]:
        """The changes that it will hear of."""
        names: dict[str, list[str]] = {}
        for member, name in sorted(self.topics):
            names.setdefault(member, []).append(name)
        return {**dict.fromkeys(sorted(self.wanted), True), **names}

    def acknowledge(self) -> None:
        """Say what it will hear of, and then all of that which changed in the meantime.

        A server may tell of a change as soon as it was asked to, which is before we know that it
        will.
        """
        changes, self._early = self._early or {}, None
        names = {name for _, name in self.topics}
        self._send("notifications/subscriptions/acknowledged", {"notifications": self.honoured})
        for (method, name), params in changes.items():
            if not name or name in names:
                self._send(method, params)

    def tell(self, method: str, params: Params, name: str = "") -> None:
        """Tell of a change, to the thing of that name if it has one."""
        if self._early is None:
            self._send(method, params)
        else:
            self._early[method, name] = params

    def _send(self, method: str, params: Params) -> None:
        """Send a notification marked with the id of the listening request."""
        marked = {**params, "_meta": {era.META_SUBSCRIPTION: Raw(self.request.id)}}
        self.request.responder.emit(jsonrpc.notification(method, jsonrpc.encode(marked)))


class Subscriptions:
    """Tells clients what changed, once, and servers what their clients want to hear."""

    def __init__(self, followed: FollowedTopics, sessions: set[Session]) -> None:
        self.sessions = sessions
        self._followed = followed
        self._tasks = Tasks()
        self._listeners: set[ListenRequest] = set()

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.close()
        await self._followed.close()

    # What clients are told.

    def lists_changed(self, changed: Mapping[ViewKey | None, set[str]]) -> None:
        """Tell everybody who wants to know; `changed` says what, by how clients see the yard."""
        for kind, (method, field) in CHANGED.items():
            message = jsonrpc.notification(method)
            for session in self.sessions:
                if session.ready and not session.is_modern and kind in _of(changed, session):
                    session.push(message)
            for listener in self._listeners:
                if field in listener.wanted and kind in _of(changed, listener.request.session):
                    listener.tell(method, {})

    def tell_changed(self, key: str, method: str) -> None:
        """Tell the clients of one owner alone that a list changed."""
        field = next((field for name, field in CHANGED.values() if name == method), "")
        for session in self.sessions:
            if session.is_of(key) and session.ready and not session.is_modern:
                session.push(jsonrpc.notification(method))
        for listener in self._listeners:
            if field in listener.wanted and listener.request.session.is_of(key):
                listener.tell(method, {})

    @property
    def listening(self) -> list[Session]:
        """Those of modern clients that listen now."""
        return [listener.request.session for listener in self._listeners]

    @property
    def view_keys(self) -> set[ViewKey | None]:
        """The views of the clients that are there."""
        return {session.view_key for session in (*self.sessions, *self.listening)}

    def own_updated(self, own: Mapping[ViewKey | None, frozenset[str]]) -> bool:
        """Tell who follows a resource of the hub's own that it changed; false if nobody does."""
        has_followers = False
        for session in self.sessions:
            for uri in sorted(session.watched.keys() & own[session.view_key]):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": uri})))
                has_followers = True
        for listener in self._listeners:
            for uri in sorted(listener.uris & own[listener.request.session.view_key]):
                listener.tell(UPDATED, {"uri": uri}, uri)
                has_followers = True
        return has_followers

    async def listen(self, request: ClientRequest, notifications: JsonObject, find: Find) -> None:
        """Serve a listening request until its client goes away; `find` knows where names lead.

        Raises:
            ConfigError: It is about too many things.
        """
        listener = ListenRequest(request, notifications)
        self._followed.check(request.session, len(listener.topics))
        routes = {topic: route for topic in listener.topics if (route := find(topic)) is not None}
        self._listeners.add(listener)
        try:
            refused = await self._followed.follow(routes, request.session)
            dropped = {topic: routes.pop(topic) for topic in refused}
            self._followed.unfollow(dropped, request.session)
            listener.topics &= routes.keys()
            listener.acknowledge()
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.discard(listener)
            self._followed.unfollow(routes, request.session)

    def updated(self, place: Place, params: bytes) -> None:
        """A server says that a resource changed."""
        followers = self._followed.followers(place, RESOURCES, "uri", params)
        for session in self.sessions if followers else ():
            for shown in session.watched.keys() & followers.get(session.principal, ()):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": shown})))
        for listener, shown in self._hearing(RESOURCES, followers):
            listener.tell(UPDATED, {"uri": shown}, shown)

    def task_changed(self, place: Place, params: bytes) -> None:
        """A modern server says that a task changed."""
        followers = self._followed.followers(place, TASKS, "taskId", params)
        for listener, shown in self._hearing(TASKS, followers):
            listener.tell(TASK_CHANGED, {**jsonrpc.fields(params), "taskId": shown}, shown)

    def _hearing(
        self, member: str, followers: Mapping[str, set[str]]
    ) -> Iterator[tuple[ListenRequest, str]]:
        for listener in self._listeners if followers else ():
            for shown in followers.get(listener.request.session.principal, ()):
                if (member, shown) in listener.topics:
                    yield listener, shown

    # A link that was opened (again) is told what is wanted of it.

    def ready(self, server: Server, link: Link) -> None:
        """Repeat to a fresh link what its forerunner knew."""
        self._repeat((server.id, "", ""), link, self.sessions)

    def ready_apart(self, instance: Instance, link: Link) -> None:
        """Repeat it to a server that runs apart: what its own clients want, and no others."""
        key = instance.owner.key
        theirs = {session for session in self.sessions if session.is_of(key)}
        self._repeat(place_of_instance(instance), link, theirs)

    def _repeat(self, place: Place, link: Link, sessions: set[Session]) -> None:
        if link.is_modern:
            return
        self._followed.repeat(place, link)
        self.set_level(link, sessions)

    def set_level(self, link: Link, sessions: set[Session] | None = None) -> Telling:
        """Ask a legacy server for the most that any of its clients wants to hear."""
        heard = self.sessions if sessions is None else sessions
        levels = [LEVELS.index(s.log_level) for s in heard if s.log_level is not None]
        if not levels or "logging" not in link.capabilities or link.is_modern:
            return None
        return self._tasks.start(self._set_level(link, LEVELS[min(levels)]))

    async def _set_level(self, link: Link, level: str) -> None:
        try:
            await link.ask("logging/setLevel", jsonrpc.encode({"level": level}))
        except ToolyardError as error:
            log.info("a log level was refused", extra={"server": link.name, "why": str(error)})


def _named(notifications: JsonObject, member: str) -> Iterator[Topic]:
    names = notifications.get(member)
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str):
            yield member, name


def _of(changed: Mapping[ViewKey | None, set[str]], session: Session) -> set[str]:
    return changed.get(session.view_key, set())
