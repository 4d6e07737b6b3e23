"""The resources and tasks that clients follow at servers, and the servers that are told of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.core.model import ServerId
from toolyard.links.instances import Instance, Instances
from toolyard.links.keeper import Keeper
from toolyard.links.link import Link
from toolyard.links.listening import Topic, Topics
from toolyard.links.pool import LinkPool
from toolyard.relay.routes import Route
from toolyard.relay.session import Session
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc

log = logging.getLogger(__name__)

GRANTED_SECONDS: Final = 10.0
"""A client waits so long for a server to grant a subscription; it may have to be started first."""
FOLLOWED: Final = 1000
"""Resources that one client may follow."""

Refusals = dict[Topic, str]
"""Things that a server will not tell of, and why."""
TopicRoutes = Mapping[Topic, Route]
"""Things that a client follows, by the names it knows, and where they lead."""
Place = tuple[ServerId, str, str]
"""A running server: whose it is and how else it runs, if it is not the picture's."""
Followers = Counter[tuple[str, str]]
"""Clients, each with the name by which it knows a thing, and how often it follows it."""
LinkFor = Callable[[Route, Session], Awaitable[Link]]


def place_of(route: Route, session: Session) -> Place:
    """The running server that a route leads a session to."""
    assert route.server is not None
    apart = route.apart_for(session.has_folders)
    if apart is None:
        return route.server, "", ""
    return route.server, session.owner_key(apart), apart.key


def place_of_instance(instance: Instance) -> Place:
    """The place of a server that runs apart."""
    return instance.apart.server, instance.owner.key, instance.apart.key


class FollowedTopics:
    """Counts who follows what, and tells each server once what is followed there."""

    def __init__(self, pool: LinkPool, instances: Instances, link_for: LinkFor) -> None:
        self._pool = pool
        self._instances = instances
        self._link_for = link_for
        self._tasks = Tasks()
        self._counts: Counter[str] = Counter()
        """The number of things that each client follows."""
        self._followed: dict[Place, dict[Topic, Followers]] = {}
        """Things that somebody follows, by the server's own names."""
        self._tellings: dict[tuple[Place, Topic], asyncio.Task[Refusals] | None] = {}
        """Servers being told of them, or told already."""

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.close()

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
            instance = self._instances.find(apart, session.owner_key(apart))
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
        for _, uri in still:
            link.follows.join(self, uri)
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
            over = [uri for (_, uri), _ in lost if link.follows.leave(self, uri)]
            await asyncio.gather(*(_ask(link, "resources/unsubscribe", uri) for uri in over))

    def repeat(self, place: Place, link: Link) -> None:
        """Tell a legacy server over a fresh link what is followed there."""
        for _, uri in self._followed.get(place, ()):
            link.follows.join(self, uri)
            self._tasks.start(_ask(link, "resources/subscribe", uri))

    def followers(self, place: Place, member: str, key: str, params: bytes) -> dict[str, set[str]]:
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


async def _ask(link: Link, method: str, uri: str) -> str:
    """Tell a legacy server of a resource that is followed, or no longer; why it refuses."""
    try:
        await link.ask(method, jsonrpc.encode({"uri": uri}))
    except ToolyardError as error:
        log.info("a subscription was refused", extra={"server": link.name, "why": str(error)})
        return str(error)
    return ""
