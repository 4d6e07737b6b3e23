"""Who wants to hear of changes: legacy sessions, and the listening requests of modern ones."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Server, ServerId
from toolyard.links.link import Link
from toolyard.links.pool import Pool
from toolyard.relay.session import LEVELS, Exchange, Session
from toolyard.relay.view import Exposure, Route, View
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
UPDATED: Final = "notifications/resources/updated"


Telling = asyncio.Task[Any] | None
"""A server being told something; None if it need not be."""


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

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._tasks = Tasks()
        self.sessions: set[Session] = set()
        self._listeners: set[Listener] = set()
        self._followers: Counter[tuple[ServerId, str]] = Counter()
        self._exposed: dict[tuple[ServerId, str], str] = {}

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

    @property
    def exposures(self) -> set[Exposure | None]:
        """How the clients that are there see the yard."""
        listening = (listener.exchange.session for listener in self._listeners)
        return {session.exposure for session in (*self.sessions, *listening)}

    def own_updated(self, own: Mapping[Exposure | None, frozenset[str]]) -> bool:
        """Tell who follows a resource of the hub's own that it changed; false if nobody does."""
        told = False
        for session in self.sessions:
            for uri in sorted(session.watched & own[session.exposure]):
                session.push(jsonrpc.notification(UPDATED, jsonrpc.encode({"uri": uri})))
                told = True
        for listener in self._listeners:
            for uri in sorted(listener.uris & own[listener.exchange.session.exposure]):
                listener.tell(UPDATED, {"uri": uri})
                told = True
        return told

    async def listen(self, exchange: Exchange, wanted: dict[str, Any], view: View) -> None:
        """Serve a listening request until its client goes away."""
        listener = Listener(exchange, wanted)
        routes = {uri: route for uri in listener.uris if (route := view.route_uri(uri)) is not None}
        listener.uris &= routes.keys()
        told = [self.follow(route, uri) for uri, route in routes.items()]
        try:
            await until_told(told)
            listener.tell(
                "notifications/subscriptions/acknowledged", {"notifications": listener.honoured}
            )
            self._listeners.add(listener)  # not before: the acknowledgement comes first
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.discard(listener)
            for route in routes.values():
                self.unfollow(route)

    # Resources.

    def follow(self, route: Route, uri: str) -> Telling:
        """Somebody follows a resource; the first one makes us tell the server."""
        if route.server is None:
            return None
        key = (route.server, route.key)
        self._followers[key] += 1
        self._exposed[key] = uri
        if self._followers[key] > 1:
            return None
        return self._tasks.start(self._tell_server(route.server, "resources/subscribe", route.key))

    def unfollow(self, route: Route) -> None:
        """Somebody does not any more; the last one makes us tell the server."""
        if route.server is None:
            return
        key = (route.server, route.key)
        self._followers[key] -= 1
        if self._followers[key] <= 0:
            del self._followers[key]
            self._exposed.pop(key, None)
            self._tasks.start(self._tell_server(route.server, "resources/unsubscribe", route.key))

    async def _tell_server(self, id_: ServerId, method: str, uri: str) -> None:
        try:
            link = await self._pool.lease(id_)
            if link.is_modern:
                self._watch(id_)
            else:
                await link.ask(method, jsonrpc.encode({"uri": uri}))
        except ToolyardError as error:
            log.info("a subscription was refused", extra={"server": str(id_), "why": str(error)})

    def _watch(self, id_: ServerId) -> None:
        uris = frozenset(uri for server, uri in self._followers if server == id_)
        self._pool.keeper(id_).watch(uris)

    def updated(self, server: Server, params: bytes) -> None:
        """A server says that a resource changed."""
        try:
            uri = jsonrpc.to_python(jsonrpc.fields(params)["uri"])
        except (*jsonrpc.MalformedError, KeyError):
            return
        exposed = self._exposed.get((server.id, uri))
        if exposed is None:
            return
        method = UPDATED
        for session in self.sessions:
            if exposed in session.watched:
                session.push(jsonrpc.notification(method, jsonrpc.encode({"uri": exposed})))
        for listener in self._listeners:
            if exposed in listener.uris:
                listener.tell(method, {"uri": exposed})

    # A link that was opened (again) is told what is wanted of it.

    def ready(self, server: Server, link: Link) -> None:
        """Repeat to a fresh link what its forerunner knew."""
        if not link.is_modern:
            for id_, uri in self._followers:
                if id_ == server.id:
                    self._tasks.start(self._tell_server(id_, "resources/subscribe", uri))
            self.set_level(link)

    def set_level(self, link: Link) -> Telling:
        """Ask a legacy server for the most that any client wants to hear."""
        levels = [LEVELS.index(s.log_level) for s in self.sessions if s.log_level is not None]
        if not levels or "logging" not in link.capabilities or link.is_modern:
            return None
        return self._tasks.start(self._set_level(link, LEVELS[min(levels)]))

    async def _set_level(self, link: Link, level: str) -> None:
        try:
            await link.ask("logging/setLevel", jsonrpc.encode({"level": level}))
        except ToolyardError as error:
            log.info("a log level was refused", extra={"server": link.name, "why": str(error)})


def _of(changed: Mapping[Exposure | None, set[str]], session: Session) -> set[str]:
    return changed.get(session.exposure, set())
