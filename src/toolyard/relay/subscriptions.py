"""Tells of changes: legacy sessions, and the listening requests of modern clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Server, ServerId
from toolyard.links.instances import Instance, Instances
from toolyard.links.keeper import Keeper
from toolyard.links.link import Link
from toolyard.links.listening import RESOURCES, TASKS, Topic, Topics
from toolyard.links.pool import LinkPool
from toolyard.relay.routes import Route
from toolyard.relay.session import LEVELS, ClientRequest, Session
from toolyard.relay.view_key import ViewKey
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc

log = logging.getLogger(__name__)

TOLD_SECONDS: Final = 0.5
"""The time that a client waits for a server to take note; one that hangs must not hold up more."""
GRANTED_SECONDS: Final = 10.0
"""A client waits so long for a server to grant a subscription; it may have to be started first."""
COALESCE_SECONDS: Final = 0.25
"""Changes that come together are told together."""
CHANGED: Final = {
    "tools": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources": ("notifications/resources/list_changed", "resourcesListChanged"),
}
FOLLOWED: Final = 1000
"""Resources that one client may follow."""
UPDATED: Final = "notifications/resources/updated"
TASK_CHANGED: Final = "notifications/tasks"


Telling = asyncio.Task[Any] | None
"""A server being told something; None if it need not be."""
Refusals = dict[Topic, str]
"""Things that a server will not tell of, and why."""
TopicRoutes = Mapping[Topic, Route]
"""Things that a client follows, by the names it knows, and where they lead."""

Place = tuple[ServerId, str, str]
"""A running server: whose it is and how else it runs, if it is not the picture's."""
Followers = Counter[tuple[str, str]]
"""Clients, each with the name by which it knows a thing, and how often it follows it."""
Params = Mapping[str, object]
Find = Callable[[Topic], Route | None]
LinkFor = Callable[[Route, Session], Awaitable[Link]]


def place_of(route: Route, session: Session) -> Place:
    """The running server that a route leads a session to."""
    assert route.server is not None
    apart = route.apart_for(session.has_folders)
    if apart is None:
        return route.server, "", ""
    return route.server, session.principal if apart.per_session else "", apart.key


def place_of_instance(instance: Instance) -> Place:
    """The place of a server that runs apart."""
    return instance.apart.server, instance.owner.key, instance.apart.key


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
    """Tells clients what changed, once, and servers what is followed."""

    def __init__(
        self, pool: LinkPool, instances: Instances, link_for: LinkFor, sessions: set[Session]
    ) -> None:
        self._pool = pool
        self._instances = instances
        self._link_for = link_for
        self._tasks = Tasks()
        self.sessions = sessions
        self._listeners: set[ListenRequest] = set()
        self._counts: Counter[str] = Counter()
        """The number of things that each client follows."""
        self._followed: dict[Place, dict[Topic, Followers]] = {}
        """Things that somebody follows, by the server's own names."""
        self._tellings: dict[tuple[Place, Topic], asyncio.Task[Refusals] | None] = {}
        """Servers being told of them, or told already."""

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.close()

    # Lists.

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

    def tell_changed(self, principal: str, method: str) -> None:
        """Tell one client alone that a list changed."""
        field = next((field for name, field in CHANGED.values() if name == method), "")
        for session in self.sessions:
            if session.principal == principal and session.ready and not session.is_modern:
                session.push(jsonrpc.notification(method))
        for listener in self._listeners:
            if field in listener.wanted and listener.request.session.principal == principal:
                listener.tell(method, {})

    @property
    def view_keys(self) -> set[ViewKey | None]:
        """The views of the clients that are there."""
        listening = (listener.request.session for listener in self._listeners)
        return {session.view_key for session in (*self.sessions, *listening)}

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
        self.check(request.session, len(listener.topics))
        routes = {topic: route for topic in listener.topics if (route := find(topic)) is not None}
        self._listeners.add(listener)
        try:
            refused = await self.follow(routes, request.session)
            self.unfollow({topic: routes.pop(topic) for topic in refused}, request.session)
            listener.topics &= routes.keys()
            listener.acknowledge()
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.discard(listener)
            self.unfollow(routes, request.session)

    # What is followed at servers.

    def check(self, session: Session, more: int) -> None:
        """Refuse to let a client follow so many more things.

        Raises:
            ConfigError: They would be too many.
        """
        if self._counts[session.principal] + more > FOLLOWED:
            text = f"a client follows at most {FOLLOWED} resources"
            raise ConfigError(text, "follow those that matter, or the lists")

    async def follow(self, routes: TopicRoutes, session: Session) -> Refusals:
        """Somebody follows things; return what the servers that have them will not tell of.

        Whatever comes of it, `unfollow` takes it back.
        """
        self._counts[session.principal] += len(routes)
        fresh: dict[Place, list[tuple[Topic, Route]]] = {}
        theirs = {topic: route for topic, route in routes.items() if route.server is not None}
        for topic, route in theirs.items():
            place, named = place_of(route, session), (topic[0], route.key)
            followers = self._followed.setdefault(place, {}).setdefault(named, Counter())
            if not followers:
                fresh.setdefault(place, []).append((named, route))
            followers[session.principal, topic[1]] += 1
        for place, group in fresh.items():
            telling = self._tasks.start(self._subscribe(place, group, session))
            self._tellings |= {(place, topic): telling for topic, _ in group}
        return await self._refused(theirs, session)

    async def _refused(self, routes: TopicRoutes, session: Session) -> Refusals:
        """Wait until the servers have been told; what they refuse."""
        tellings = {
            topic: self._tellings.get((place_of(route, session), (topic[0], route.key)))
            for topic, route in routes.items()
        }
        tasks = {task for task in tellings.values() if task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=GRANTED_SECONDS)
        late = f"the server did not grant it within {GRANTED_SECONDS:g} s"
        refused = {}
        for topic, task in tellings.items():
            if task is None or not task.done() or task.cancelled():
                refused[topic] = late
            elif why := task.result().get((topic[0], routes[topic].key)):
                refused[topic] = why
        return refused

    def unfollow(self, routes: TopicRoutes, session: Session) -> None:
        """Somebody does not any more; a server is told of what nobody follows now."""
        self._counts[session.principal] -= len(routes)
        if self._counts[session.principal] <= 0:
            del self._counts[session.principal]
        lost: dict[Place, list[tuple[Topic, Route]]] = {}
        for topic, route in routes.items():
            if route.server is None:
                continue
            place, named = place_of(route, session), (topic[0], route.key)
            if self._forget(place, named, (session.principal, topic[1])):
                lost.setdefault(place, []).append((named, route))
        for place, group in lost.items():
            if self._keeper(group[0][1], session) is not None:
                self._tasks.start(self._unsubscribe(place, group, session))

    def _forget(self, place: Place, topic: Topic, follower: tuple[str, str]) -> bool:
        """Count a follower off; true if it was the last one."""
        followed = self._followed.get(place, {})
        followers = followed.get(topic, Counter())
        followers[follower] -= 1
        if followers[follower] <= 0:
            del followers[follower]
        if not followers:
            followed.pop(topic, None)
            self._tellings.pop((place, topic), None)
        if not followed:
            self._followed.pop(place, None)
        return not followers

    def _keeper(self, route: Route, session: Session) -> Keeper | None:
        """The keeper of the server that a route leads a session to, if it has one already."""
        apart = route.apart_for(session.has_folders)
        if apart is not None:
            instance = self._instances.find(apart, session.principal)
            return instance.keeper if instance is not None else None
        return self._pool.keepers.get(route.server) if route.server is not None else None

    async def _subscribe(
        self, place: Place, fresh: list[tuple[Topic, Route]], session: Session
    ) -> Refusals:
        """Ask a server to tell of what nobody followed there so far."""
        try:
            link = await self._link_for(fresh[0][1], session)
        except ToolyardError as error:
            return {topic: str(error) for topic, _ in fresh}
        if link.is_modern:
            return await self._watch(place, fresh, session)
        still = [topic for topic, _ in fresh if topic in self._followed.get(place, ())]
        answers = await asyncio.gather(*(_ask(link, "resources/subscribe", t[1]) for t in still))
        return {topic: why for topic, why in zip(still, answers, strict=True) if why}

    async def _watch(
        self, place: Place, fresh: list[tuple[Topic, Route]], session: Session
    ) -> Refusals:
        """Have a modern server told of all that is followed there; what it does not grant."""
        keeper = self._keeper(fresh[0][1], session)
        granted: Topics = frozenset()
        if keeper is not None:
            keeper.listening.want(frozenset(self._followed.get(place, ())))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRANTED_SECONDS):
                    granted = await keeper.listening.granted()
        why = "the server does not tell of changes to it"
        return {topic: why for topic, _ in fresh if topic not in granted}

    async def _unsubscribe(
        self, place: Place, lost: list[tuple[Topic, Route]], session: Session
    ) -> None:
        keeper = self._keeper(lost[0][1], session)
        if keeper is None or keeper.link is None:
            return
        if keeper.link.is_modern:
            keeper.listening.want(frozenset(self._followed.get(place, ())))
        else:
            link = keeper.link
            await asyncio.gather(*(_ask(link, "resources/unsubscribe", t[1]) for t, _ in lost))

    def updated(self, place: Place, params: bytes) -> None:
        """A server says that a resource changed."""
        followers = self._followers(place, RESOURCES, "uri", params)
        for session in self.sessions if followers else ():
            for shown in session.watched.keys() & followers.get(session.principal, ()):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": shown})))
        for listener, shown in self._hearing(RESOURCES, followers):
            listener.tell(UPDATED, {"uri": shown}, shown)

    def task_changed(self, place: Place, params: bytes) -> None:
        """A modern server says that a task changed."""
        followers = self._followers(place, TASKS, "taskId", params)
        for listener, shown in self._hearing(TASKS, followers):
            listener.tell(TASK_CHANGED, {**jsonrpc.fields(params), "taskId": shown}, shown)

    def _followers(self, place: Place, member: str, key: str, params: bytes) -> dict[str, set[str]]:
        """Return the followers of what a server speaks of, with the names they know it by."""
        try:
            name = jsonrpc.to_python(jsonrpc.fields(params)[key])
        except (*jsonrpc.MalformedError, KeyError):
            return {}
        names: dict[str, set[str]] = {}
        if isinstance(name, str):
            for client, shown in self._followed.get(place, {}).get((member, name), ()):
                names.setdefault(client, set()).add(shown)
        return names

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
        theirs = {s for s in self.sessions if not key or s.principal == key}
        self._repeat(place_of_instance(instance), link, theirs)

    def _repeat(self, place: Place, link: Link, sessions: set[Session]) -> None:
        if link.is_modern:
            return
        for _, uri in self._followed.get(place, ()):
            self._tasks.start(_ask(link, "resources/subscribe", uri))
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


async def _ask(link: Link, method: str, uri: str) -> str:
    """Tell a legacy server of a resource that is followed, or no longer; why it refuses."""
    try:
        await link.ask(method, jsonrpc.encode({"uri": uri}))
    except ToolyardError as error:
        log.info("a subscription was refused", extra={"server": link.name, "why": str(error)})
        return str(error)
    return ""


def _named(notifications: JsonObject, member: str) -> Iterator[Topic]:
    names = notifications.get(member)
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str):
            yield member, name


def _of(changed: Mapping[ViewKey | None, set[str]], session: Session) -> set[str]:
    return changed.get(session.view_key, set())
