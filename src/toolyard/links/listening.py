"""The one subscription that the hub holds at a modern server, for all that clients follow there."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.links.greeting import own_params
from toolyard.links.link import Link
from toolyard.links.patience import Patience
from toolyard.links.pending import PendingRequest
from toolyard.wire import era, jsonrpc

RESOURCES: Final = "resourceSubscriptions"
TASKS: Final = "taskIds"
_LISTS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")

Topic = tuple[str, str]
"""A thing to follow: the member of a subscription that asks for it, and its name there."""
Topics = frozenset[Topic]


class Listening:
    """Asks for what is followed, again whenever that changes, and knows what was granted."""

    def __init__(self, patience: Patience) -> None:
        self.wanted: Topics = frozenset()
        self._wanted_by: dict[object, Topics] = {}
        self._patience = patience
        self._asked: Topics = frozenset()
        self._granted: Topics = frozenset()
        self._answered = asyncio.Event()
        """Set while the server has answered for what is wanted now."""
        self._renew = asyncio.Event()
        self._current: PendingRequest | None = None
        self._former: PendingRequest | None = None
        """The subscription before; let go when the next one is granted, so that nothing is lost."""

    def want(self, topics: Topics, who: object = None) -> None:
        """Follow these from now on, and no others, for this hub or another that uses the link."""
        self._wanted_by[who] = topics
        if not topics:
            del self._wanted_by[who]
        wanted = frozenset().union(*self._wanted_by.values())
        if wanted != self.wanted:
            self.wanted = wanted
            self._answered.clear()
            self._renew.set()

    async def granted(self) -> Topics:
        """Return what the server will tell of, as soon as it has answered."""
        await self._answered.wait()
        return self._granted

    async def run(self, link: Link) -> None:
        """Hold the subscription at a link until cancelled."""
        pause = self._patience.first_pause
        try:
            while True:
                self._ask(link)
                await self._renew.wait()
                if self._current is None:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, self._patience.longest_pause)
        finally:
            self._let_go(link, self._former)
            self._let_go(link, self._current)
            self._former = self._current = None
            self._answered.clear()

    def _ask(self, link: Link) -> None:
        self._renew.clear()
        self._answered.clear()
        self._let_go(link, self._former)
        self._former, self._asked = self._current, self.wanted
        params = own_params(link, {"notifications": members_of(self._asked)}, _able(self._asked))
        self._current = link.request("subscriptions/listen", params, patience=0)
        self._current.answer.add_done_callback(self._ended)

    def acknowledge(self, link: Link, params: bytes) -> None:
        """The server says what it grants."""
        try:
            notice = jsonrpc.to_python(params)
            number = notice["_meta"][era.META_SUBSCRIPTION]
            granted = read_topics(notice["notifications"])
        except (*jsonrpc.MalformedError, KeyError, TypeError):
            return
        if self._current is None or number != self._current.number:
            return
        self._let_go(link, self._former)
        self._former = None
        if self._asked == self.wanted:
            self._granted = granted
            self._answered.set()

    def _ended(self, answer: asyncio.Future[Any]) -> None:
        """The server has ended the subscription, or refused it."""
        if self._current is not None and answer is self._current.answer:
            self._current, self._granted = None, frozenset()
            self._answered.set()
            self._renew.set()

    def _let_go(self, link: Link, pending: PendingRequest | None) -> None:
        if pending is not None:
            pending.answer.remove_done_callback(self._ended)
            link.cancel(pending, "the subscription changed")


def members_of(topics: Topics) -> dict[str, bool | list[str]]:
    """A subscription to these, and to all lists."""
    subscription: dict[str, bool | list[str]] = dict.fromkeys(_LISTS, True)
    for member in (RESOURCES, TASKS):
        if names := sorted(name for kind, name in topics if kind == member):
            subscription[member] = names
    return subscription


def _able(topics: Topics) -> era.Capabilities:
    """The capabilities to declare for following these."""
    follows_tasks = any(member == TASKS for member, _ in topics)
    return {"extensions": {era.TASKS: {}}} if follows_tasks else {}


def read_topics(notifications: JsonObject) -> Topics:
    """Return the things that a subscription names."""
    return frozenset(
        (member, name)
        for member in (RESOURCES, TASKS)
        for name in notifications.get(member) or ()
        if isinstance(name, str)
    )
