"""Keeps the link to one server: opens it when needed, mends it, tells the board what it sees.

Patience lives here: growing pauses between tries, a grace during which the
tools of a server that restarts stay listed, and an end to every wait.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final, Protocol

from toolyard.core.errors import LinkError, StartError, ToolyardError
from toolyard.core.model import NO_OFFERS, Observation, Offers, Problem, Server, Status
from toolyard.links.link import Link
from toolyard.links.listing import KINDS, list_offers
from toolyard.links.opening import Patience, ProbeFatalError, own_params
from toolyard.wire import era

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
STEADY_SECONDS: Final = 60.0
"""A link that held this long has earned a fresh start of the pauses."""
GRACE_SECONDS: Final = 10.0
LISTS: Final = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/prompts/list_changed": ("prompts",),
    "notifications/resources/list_changed": ("resources", "templates"),
}
SETTLE_SECONDS: Final = 0.05
"""A server that changes often within a moment is asked once."""

Open = Callable[[Server, "era.Era | None"], AbstractAsyncContextManager[Link]]
Notice = Callable[[Server, Link, str, bytes], None]
Ready = Callable[[Server, Link], None]


class Ears(Protocol):
    """Who hears of links that open, and of what servers say on their own."""

    on_ready: Ready
    on_notice: Notice


class Keeper:
    """One server's link, from first need to last."""

    def __init__(
        self,
        server: Server,
        open_link: Open,
        post: Callable[[Observation], None],
        starts: asyncio.Semaphore,
        patience: Patience,
        ears: Ears,
        offers: Offers = NO_OFFERS,
    ) -> None:
        self.server = server
        self.link: Link | None = None
        self.restarts = 0
        self.last_trace: tuple[str, ...] = ()
        self._open = open_link
        self._post = post
        self._starts = starts
        self._patience = patience
        self._ears = ears
        self._offers = offers
        self._hint: era.Era | None = None
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._error: ToolyardError | None = None
        self._stale: set[str] = set()
        self._relist = asyncio.Event()
        self._grace: asyncio.TimerHandle | None = None
        self._subscribed: frozenset[str] = frozenset()
        self._listen_again = asyncio.Event()

    def want(self) -> None:
        """Somebody needs this server: open the link, now if it is pausing."""
        self._wanted.set()

    async def lease(self, seconds: float) -> Link:
        """The open link; opened first if need be.

        Raises:
            StartError, LinkError: It cannot be opened, or not in time.
        """
        if self.link is not None and not self.link.closed.done():
            return self.link
        self._settled.clear()
        self._error = None
        self.want()
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            raise LinkError(
                f"{self.server.id.name!r} is not ready after {seconds:g} s", "look at its log"
            ) from None
        if self.link is None:
            raise self._failure()
        return self.link

    def _failure(self) -> ToolyardError:
        return self._error or LinkError(f"{self.server.id.name!r} ended at once")

    @property
    def trace(self) -> tuple[str, ...]:
        """The last lines of its stderr, also after its end."""
        return self.link.trace if self.link is not None else self.last_trace

    def refresh(self) -> None:
        """Ask for all its lists again; an idle server is opened for that."""
        self._stale |= set(KINDS)
        self._relist.set()
        self.want()

    async def run(self) -> None:
        """Live until cancelled."""
        pause = FIRST_PAUSE
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                began = loop.time()
                await self._live()
                if loop.time() - began > STEADY_SECONDS:
                    pause = FIRST_PAUSE
                await self._rest(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                self._wanted.set()
        finally:
            if self._grace is not None:
                self._grace.cancel()

    async def _rest(self, pause: float) -> None:
        try:
            async with asyncio.timeout(pause * random.uniform(0.8, 1.2)):
                await self._wanted.wait()
        except TimeoutError:
            pass

    async def _live(self) -> None:
        """One life of the link: open, ready, lost."""
        try:
            async with AsyncExitStack() as stack:
                link = await self._begin(stack)
                await self._serve(link)
        except ToolyardError as error:
            self._fail(error)
        except Exception as error:
            log.exception("the link to a server failed", extra={"server": str(self.server.id)})
            self._fail(LinkError(f"the link to {self.server.id.name!r} failed: {error!r}"))
        finally:
            self.link = None

    async def _begin(self, stack: AsyncExitStack) -> Link:
        async with self._starts:
            self._observe(Status.STARTING)
            try:
                link = await stack.enter_async_context(self._open(self.server, self._hint))
            except ProbeFatalError:
                self._hint = "legacy"
                link = await stack.enter_async_context(self._open(self.server, self._hint))
            self._hint = link.peer.era
            link.on_notice = self._noticed
            offers = await self._list(link, KINDS)
        self.link = link
        self._offers = offers
        self._error = None
        self._observe(Status.READY, link)
        self._settled.set()
        self._ears.on_ready(self.server, link)
        return link

    async def _list(self, link: Link, kinds: tuple[str, ...]) -> Offers:
        return await list_offers(link, self._patience.list, self._offers, kinds)

    async def _serve(self, link: Link) -> None:
        """Follow the server's changes until the link is lost."""
        async with asyncio.TaskGroup() as group:
            followers = [group.create_task(self._follow(link))]
            if link.is_modern and _announces(link):
                followers.append(group.create_task(self._listen(link)))
            why = await asyncio.shield(link.closed)
            for follower in followers:
                follower.cancel()
        self.last_trace = link.trace
        self.restarts += 1
        raise LinkError(
            f"{self.server.id.name!r} {why}", "see its log: toolyard logs " + self.server.id.name
        )

    async def _follow(self, link: Link) -> None:
        while True:
            await self._relist.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._relist.clear()
            kinds = tuple(kind for kind in KINDS if kind in self._stale)
            self._stale.clear()
            try:
                self._offers = await self._list(link, kinds)
            except LinkError as error:
                self._observe(Status.READY, link, _problem(self.server, "server-lists", error))
            else:
                self._observe(Status.READY, link)

    async def _listen(self, link: Link) -> None:
        """Hold the one modern subscription; renew it when it ends or its resources change."""
        while True:
            self._listen_again.clear()
            params = own_params(link, {"notifications": self._interests()})
            flight = link.request("subscriptions/listen", params, patience=0)
            flight.answer.add_done_callback(self._end_of_listening)
            try:
                await self._listen_again.wait()
            finally:
                ended = flight.answer.done()
                # Its own cancellation must not end the next one.
                flight.answer.remove_done_callback(self._end_of_listening)
                link.cancel(flight, "the subscription changed")
            if ended:
                await asyncio.sleep(FIRST_PAUSE)

    def _end_of_listening(self, _answer: object) -> None:
        self._listen_again.set()

    def _interests(self) -> dict[str, Any]:
        lists = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
        wanted: dict[str, Any] = dict.fromkeys(lists, True)
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        return wanted

    def watch(self, uris: frozenset[str]) -> None:
        """Which resources somebody follows; a modern server is told in one subscription."""
        if uris != self._subscribed:
            self._subscribed = uris
            self._listen_again.set()

    def _noticed(self, method: str, params: bytes) -> None:
        if method in LISTS:
            self._stale |= set(LISTS[method])
            self._relist.set()
        elif self.link is not None:
            self._ears.on_notice(self.server, self.link, method, params)

    # What the board is told.

    def _observe(
        self, status: Status, link: Link | None = None, problem: Problem | None = None
    ) -> None:
        if self._grace is not None and status is Status.READY:
            self._grace.cancel()
            self._grace = None
        ready = status is Status.READY
        self._post(
            Observation(
                self.server.id,
                status,
                offers=self._offers if ready else None,
                peer=link.peer if link is not None else None,
                problem=problem,
            )
        )

    def _fail(self, error: ToolyardError) -> None:
        self._error = error
        code = "server-start" if isinstance(error, StartError) else "server-link"
        self._observe(Status.FAILING, problem=_problem(self.server, code, error))
        self._settled.set()
        if self._grace is None:
            self._grace = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._forget)

    def _forget(self) -> None:
        """The grace is over: what the server offered is no longer listed."""
        self._grace = None
        self._offers = NO_OFFERS
        problem = _problem(self.server, "server-link", self._error) if self._error else None
        self._post(Observation(self.server.id, Status.FAILING, offers=NO_OFFERS, problem=problem))


def _announces(link: Link) -> bool:
    """Whether a modern server ever has something to say on a subscription."""
    caps = link.capabilities
    parts = [caps.get(kind) for kind in ("tools", "prompts", "resources")]
    return any(
        isinstance(part, dict) and (part.get("listChanged") or part.get("subscribe"))
        for part in parts
    )


def _problem(server: Server, code: str, error: ToolyardError) -> Problem:
    return Problem(code, str(error), error.hint or "see toolyard doctor", subject=str(server.id))
