"""Who wants to hear of changes: legacy sessions, and the listening requests of modern ones."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.core.model import Server, ServerId
from toolyard.links.instances import Instance, Instances
from toolyard.links.keeper import Keeper
from toolyard.links.link import Link
from toolyard.links.pool import Pool
from toolyard.relay.exposure import Exposure
from toolyard.relay.routes import Route
from toolyard.relay.session import LEVELS, Exchange, Session
from toolyard.wire import era, jsonrpc
from toolyard.wire.tasks import Tasks

log = logging.getLogger(__name__)

TOLD_SECONDS: Final = 0.5
"""How long a client waits for a server to take note; one that hangs must not hold up more."""
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


Telling = asyncio.Task[Any] | None
"""A server being told something; None if it need not be."""


Place = tuple[ServerId, str, str]
"""Which running server: whose it is and how else it runs, if it is not the picture's."""
Followers = Counter[tuple[str, str]]
"""Clients, each with the URI by which it knows a resource, and how often it follows it."""
Find = Callable[[str], Route | None]
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


class Listener:
    """A modern client's open `subscriptions/listen` request."""

    def __init__(self, exchange: Exchange, wanted: dict[str, Any]) -> None:
        self.exchange = exchange
        self.wanted = {field for _, field in CHANGED.values() if wanted.get(field) is True}
        uris = wanted.get("resourceSubscriptions")
        self.uris = {u for u in uris if isinstance(u, str)} if isinstance(uris, list) else set()

    @property
    def honoured(self) -> dict[str, Any]:
        """What it will hear of."""
        out: dict[str, Any] = dict.fromkeys(sorted(self.wanted), True)
        if self.uris:
            out["resourceSubscriptions"] = sorted(self.uris)
        return out

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification marked with the id of the listening request."""
        params["_meta"] = {era.META_SUBSCRIPTION: Raw(self.exchange.id)}
        self.exchange.emit(jsonrpc.notification(method, jsonrpc.encode(params)))


class Subscriptions:
    """Tells clients what changed, once, and servers what is followed."""

    def __init__(self, pool: Pool, instances: Instances, link_for: LinkFor) -> None:
        self._pool = pool
        self._instances = instances
        self._link_for = link_for
        self._tasks = Tasks()
        self.sessions: set[Session] = set()
        self._listeners: set[Listener] = set()
        self._counts: Counter[str] = Counter()
        """How many resources each client follows."""
        self._followed: dict[Place, dict[str, Followers]] = {}
        """The resources that somebody follows, by the server's own URI."""

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.close()

    # Lists.

    def lists_changed(self, changed: Mapping[Exposure | None, set[str]]) -> None:
        """Tell everybody who wants to know; `changed` says what, by how clients see the yard."""
        for kind, (method, field) in CHANGED.items():
            message = jsonrpc.notification(method)
            for session in self.sessions:
                if session.ready and not session.is_modern and kind in _of(changed, session):
                    session.push(message)
            for listener in self._listeners:
                if field in listener.wanted and kind in _of(changed, listener.exchange.session):
                    listener.tell(method, {})

    def tell_changed(self, principal: str, method: str) -> None:
        """Tell one client alone that a list changed."""
        field = next((field for said, field in CHANGED.values() if said == method), "")
        for session in self.sessions:
            if session.principal == principal and session.ready and not session.is_modern:
                session.push(jsonrpc.notification(method))
        for listener in self._listeners:
            if field in listener.wanted and listener.exchange.session.principal == principal:
                listener.tell(method, {})

    @property
    def exposures(self) -> set[Exposure | None]:
        """How the clients that are there see the yard."""
        listening = (listener.exchange.session for listener in self._listeners)
        return {session.exposure for session in (*self.sessions, *listening)}

    def own_updated(self, own: Mapping[Exposure | None, frozenset[str]]) -> bool:
        """Tell who follows a resource of the hub's own that it changed; false if nobody does."""
        told = False
        for session in self.sessions:
            for uri in sorted(session.watched.keys() & own[session.exposure]):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": uri})))
                told = True
        for listener in self._listeners:
            for uri in sorted(listener.uris & own[listener.exchange.session.exposure]):
                listener.tell(UPDATED, {"uri": uri})
                told = True
        return told

    async def listen(self, exchange: Exchange, wanted: dict[str, Any], find: Find) -> None:
        """Serve a listening request until its client goes away; `find` knows where URIs lead.

        Raises:
            ConfigError: It is about too many resources.
        """
        listener = Listener(exchange, wanted)
        self.check(exchange.session, len(listener.uris))
        routes = {uri: route for uri in listener.uris if (route := find(uri)) is not None}
        listener.uris &= routes.keys()
        try:
            await until_told(self.follow(routes, exchange.session))
            listener.tell(
                "notifications/subscriptions/acknowledged", {"notifications": listener.honoured}
            )
            self._listeners.add(listener)  # not before: the acknowledgement comes first
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.discard(listener)
            self.unfollow(routes, exchange.session)

    # Resources.

    def check(self, session: Session, more: int) -> None:
        """Refuse to let a client follow so many more resources.

        Raises:
            ConfigError: They would be too many.
        """
        if self._counts[session.principal] + more > FOLLOWED:
            text = f"a client follows at most {FOLLOWED} resources"
            raise ConfigError(text, "follow those that matter, or the lists")

    def follow(self, routes: Mapping[str, Route], session: Session) -> list[Telling]:
        """Somebody follows resources; each server that has one not followed so far is told."""
        self._counts[session.principal] += len(routes)
        fresh: dict[Place, list[Route]] = {}
        for uri, route in routes.items():
            if route.server is None:
                continue
            place = place_of(route, session)
            followers = self._followed.setdefault(place, {}).setdefault(route.key, Counter())
            if not followers:
                fresh.setdefault(place, []).append(route)
            followers[session.principal, uri] += 1
        return [self._tell(each, session, "resources/subscribe") for each in fresh.values()]

    def unfollow(self, routes: Mapping[str, Route], session: Session) -> None:
        """Somebody does not any more; a server is told of what nobody follows now."""
        self._counts[session.principal] -= len(routes)
        if self._counts[session.principal] <= 0:
            del self._counts[session.principal]
        lost: dict[Place, list[Route]] = {}
        for uri, route in routes.items():
            if route.server is None:
                continue
            place = place_of(route, session)
            if self._forget(place, route.key, (session.principal, uri)):
                lost.setdefault(place, []).append(route)
        for each in lost.values():
            if self._keeper(each[0], session) is not None:
                self._tell(each, session, "resources/unsubscribe")

    def _forget(self, place: Place, key: str, follower: tuple[str, str]) -> bool:
        """Count a follower off; true if it was the last one of this resource."""
        followed = self._followed.get(place, {})
        followers = followed.get(key, Counter())
        followers[follower] -= 1
        if followers[follower] <= 0:
            del followers[follower]
        if not followers:
            followed.pop(key, None)
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

    def _tell(self, routes: list[Route], session: Session, method: str) -> Telling:
        return self._tasks.start(self._tell_server(routes, session, method))

    async def _tell_server(self, routes: list[Route], session: Session, method: str) -> None:
        """Tell a server what is followed; `routes` all lead to it."""
        try:
            link = await self._link_for(routes[0], session)
        except ToolyardError as error:
            said = {"server": str(routes[0].server), "why": str(error)}
            log.info("a subscription was refused", extra=said)
            return
        if link.is_modern:
            self._watch(routes[0], session)
        else:
            await asyncio.gather(*(_ask(link, method, route.key) for route in routes))

    def _watch(self, route: Route, session: Session) -> None:
        keeper = self._keeper(route, session)
        if keeper is not None:
            keeper.watch(frozenset(self._followed.get(place_of(route, session), ())))

    def updated(self, place: Place, params: bytes) -> None:
        """A server says that a resource changed."""
        try:
            uri = jsonrpc.to_python(jsonrpc.fields(params)["uri"])
        except (*jsonrpc.MalformedError, KeyError):
            return
        names: dict[str, list[str]] = {}
        for client, shown in self._followed.get(place, {}).get(uri, ()):
            names.setdefault(client, []).append(shown)
        for session in self.sessions if names else ():
            for shown in session.watched.keys() & names.get(session.principal, ()):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": shown})))
        for listener in self._listeners if names else ():
            for shown in listener.uris & set(names.get(listener.exchange.session.principal, ())):
                listener.tell(UPDATED, {"uri": shown})

    # A link that was opened (again) is told what is wanted of it.

    def ready(self, server: Server, link: Link) -> None:
        """Repeat to a fresh link what its forerunner knew."""
        self._repeat((server.id, "", ""), link, self.sessions)

    def ready_apart(self, instance: Instance, link: Link) -> None:
        """Repeat it to a server that runs apart: what its own clients want, and no others."""
        key = instance.owner.key
        theirs = {each for each in self.sessions if not key or each.principal == key}
        self._repeat(place_of_instance(instance), link, theirs)

    def _repeat(self, place: Place, link: Link, sessions: set[Session]) -> None:
        if link.is_modern:
            return
        for uri in self._followed.get(place, ()):
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


async def _ask(link: Link, method: str, uri: str) -> None:
    try:
        await link.ask(method, jsonrpc.encode({"uri": uri}))
    except ToolyardError as error:
        log.info("a subscription was refused", extra={"server": link.name, "why": str(error)})


def _of(changed: Mapping[Exposure | None, set[str]], session: Session) -> set[str]:
    return changed.get(session.exposure, set())
