"""Keeps the link to one server: opens it when needed, mends it, tells the board what it sees.

Patience lives here: growing pauses between tries, a grace during which the
tools of a server that restarts stay listed, and an end to every wait.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final, Protocol

from toolyard.core.errors import LinkError, MemberSecretError, ToolyardError
from toolyard.core.last_words import RECENT, explain
from toolyard.core.model import NO_OFFERS, Command, Observation, Offers, Problem, Server
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.link import Link
from toolyard.links.listening import Listening
from toolyard.links.offered import LISTS, OfferedLists
from toolyard.links.patience import Patience
from toolyard.links.refusals import AuthNeededError
from toolyard.links.reporting import StatusReporter
from toolyard.records.secrets.mask import MASK
from toolyard.wire import era

log = logging.getLogger(__name__)

STEADY_SECONDS: Final = 60.0
"""A link that held this long has earned a fresh start of the pauses."""
LOOK_SECONDS: Final = 5.0
SPARE_SECONDS: Final = 1.0
"""How long a server that was only asked what it offers may be called before it rests."""
TOLD_SECONDS: Final = 0.05

OnInstalling = Callable[[Problem | None], None]
"""Hears that a package is installed before the server runs, and of the problem that this mends."""
Open = Callable[[Server, "era.Era | None", OnInstalling], AbstractAsyncContextManager[Link]]
Notice = Callable[[Server, Link, str, bytes], None]
Ready = Callable[[Server, Link], None]


def ignore_installing(_problem: Problem | None) -> None:
    """Tell nobody."""


class Ears(Protocol):
    """The one who hears of links that open, and of what servers say on their own."""

    def on_ready(self, server: Server, link: Link) -> None:
        """A link was opened."""
        ...

    def on_notice(self, server: Server, link: Link, method: str, params: bytes) -> None:
        """A server said something that concerns more than one call."""
        ...

    async def admit(self, keeper: Keeper) -> None:
        """Make room for one more running server.

        Raises:
            StartError: There is none.
        """
        ...


class KeeperSignals:
    """The events of a server's life that others wait for."""

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        """Somebody needs the server."""
        self.settled = asyncio.Event()
        """It has been tried: it is ready, or why it is not is known."""
        self.rest_asked = asyncio.Event()
        """It is to rest."""
        self.ended = asyncio.Event()
        """The present life of its link is over."""
        self.freed = asyncio.Event()
        """Something was done about what it failed of."""


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
        *,
        hint: era.Era | None = None,
        apart: bool = False,
        looks: bool = True,
    ) -> None:
        """Keep a server.

        Args:
            offers: The offers that are known of it.
            hint: The era in which it is known to speak.
            apart: It is started by calls alone.
            looks: It is asked what it offers.
        """
        self.server = server
        self.link: Link | None = None
        self.restarts = 0
        self.is_running = False
        """Whether its process runs, or its connection is open, or is about to."""
        self.last_trace: tuple[str, ...] = ()
        self.since = 0.0
        """When the link was opened, in seconds since the epoch; 0 if there is none."""
        self.starting_since: float | None = None
        """When its present start began, in seconds since the epoch."""
        self.note = ""
        """Why it was sent to rest, until it is started again."""
        self.listening = Listening(patience)
        self.loans: set[object] = set()
        """Other replicas that use the link."""
        self._lists = OfferedLists(offers, patience.list)
        self.reporter = StatusReporter(post, self._lists, patience.grace)
        self._nobody = 0
        self._apart = apart
        self._looks = looks
        self._open = open_link
        self._starts = starts
        self._patience = patience
        self._ears = ears
        self._hint = hint
        self._opened_at = 0.0
        self._signals = KeeperSignals()
        self._error: ToolyardError | None = None
        self._is_installing = False
        self._retired = False
        """Whether this life of the link is for nobody who calls from now on."""
        self._parked: ToolyardError | None = None

    def want(self) -> None:
        """Somebody needs this server: open the link, now if it is pausing."""
        self._signals.wanted.set()

    async def lease(self, seconds: float) -> Link:
        """The open link; opened first if need be.

        Raises:
            StartError, LinkError: It cannot be opened, or not in time.
        """
        if self.link is not None and not self.link.closed.done():
            return self.link
        if self._parked is not None:
            raise self._parked
        try:
            async with asyncio.timeout(seconds):
                await self._settle()
                while self._retired:
                    await self._settle()
        except TimeoutError:
            raise self._late(seconds) from None
        if self.link is None:
            raise self._failure()
        return self.link

    async def _settle(self) -> None:
        """Wait for the next life of the link, or for its failure."""
        self._signals.settled.clear()
        self._error = None
        self.want()
        await self._signals.settled.wait()

    def _late(self, seconds: float) -> LinkError:
        name = self.server.id.name
        if self._is_installing:
            text = f"{name!r} is still installing its package"
            return LinkError(text, f"try again in a moment; see how it goes: toolyard logs {name}")
        text = f"{name!r} is not ready after {seconds:g} s"
        return LinkError(text, f"look at its log: toolyard logs {name}")

    def _failure(self) -> ToolyardError:
        return self._error or LinkError(f"{self.server.id.name!r} ended at once")

    @property
    def trace(self) -> tuple[str, ...]:
        """The last lines of its stderr, also after its end."""
        return self.link.trace if self.link is not None else self.last_trace

    @property
    def unattributed(self) -> int:
        """The number of its messages that no caller could be found for, and that went to nobody."""
        return self._nobody + (self.link.unattributed if self.link is not None else 0)

    @property
    def is_idle(self) -> bool:
        """True if it is ready and no call is under way."""
        return self.link is not None and self.link.calls == 0

    @property
    def used_at(self) -> float:
        """The time at which a call last needed it, by the loop's clock; 0 while it starts."""
        return self.link.used_at if self.link is not None else 0.0

    async def wait_ended(self) -> None:
        """Wait until its process has ended."""
        if self.is_running:
            await self._signals.ended.wait()

    def rest(self, why: str = "") -> None:
        """End the server as soon as no call is under way; the next call starts it again."""
        self.note = why
        self._signals.rest_asked.set()

    def retire(self, why: str) -> None:
        """As `rest`, but whoever calls from now on gets the next process."""
        self.rest(why)
        if self.link is not None:
            self.link.retire(why)
        self.link = None
        self._retired = True

    def _moved(self, link: Link, why: str) -> None:
        if self.link is link:
            self.retire(why)

    def replaced(self, why: str, since: float) -> None:
        """The server is another since that moment of the loop's clock, or gone.

        A link from before is let go and opened anew at once. A later one may be to the new server
        already, with calls under way: it is only asked again for what it offers.
        """
        if self.link is not None and self._opened_at >= since:
            self.refresh()
        else:
            self.renew(why)

    def renew(self, why: str) -> None:
        """The server is another now, or gone: let go of it and try again at once."""
        self.free()
        self.want()
        if self.link is not None:
            self.link.lose(why)

    def park(self, error: AuthNeededError) -> None:
        """A person has to log in: let go of the server, and ask it nothing until `free`."""
        self._parked = error
        if self.link is not None:
            self.link.lose("wants authorization", error.hint)
        elif not self.is_running:
            self._fail(error)

    def free(self) -> None:
        """Something was done about what it failed of: try again at once."""
        self._parked = None
        self._signals.freed.set()
        self._lack(None)
        if self.reporter.failing_since is not None:
            self.want()

    def lack(self, error: ToolyardError) -> None:
        """It serves, but wants more rights for some calls: say so until `free`."""
        self._lack(error)

    def _lack(self, error: ToolyardError | None) -> None:
        if self.reporter.lack(self.server, error):
            self._report_ready()

    def refresh(self) -> None:
        """Ask for all its lists again; an idle server is opened for that."""
        self._lists.mark_stale()
        self.want()

    async def run(self) -> None:
        """Live until cancelled."""
        first, longest = self._patience.first_pause, self._patience.longest_pause
        pause = first
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._signals.wanted.wait()
                self._signals.wanted.clear()
                began = loop.time()
                rested = await self._live()
                if rested or loop.time() - began > STEADY_SECONDS:
                    pause = first
                if self._parked is not None:
                    await self._signals.freed.wait()
                    pause = first
                elif not rested:
                    await self._pause(pause)
                    pause = min(pause * 2, longest)
                    if not self._apart:
                        self._signals.wanted.set()
        finally:
            self.reporter.close()

    async def _pause(self, pause: float) -> None:
        try:
            async with asyncio.timeout(pause * random.uniform(0.8, 1.2)):
                await self._signals.wanted.wait()
        except TimeoutError:
            pass

    async def _live(self) -> bool:
        """One life of the link: open, ready, and lost or rested; true if rested."""
        opened = False
        try:
            async with AsyncExitStack() as stack:
                link = await self._begin(stack)
                # Whoever waits from here on waits for the next life.
                opened = True
                await self._serve(link)
                self.link = None
            self.reporter.idle(self.server)
            return True
        except ToolyardError as error:
            self._fail(error)
        except Exception as error:
            log.exception("the link to a server failed", extra={"server": str(self.server.id)})
            self._fail(LinkError(f"the link to {self.server.id.name!r} failed: {error!r}"))
        finally:
            self.link = None
            self.is_running = self._is_installing = False
            self.starting_since = None
            self.since = 0.0
            self._signals.ended.set()
            if not opened:
                self._signals.settled.set()
        return False

    async def _begin(self, stack: AsyncExitStack) -> Link:
        self._retired = False
        await self._ears.admit(self)
        self.is_running = True
        self._signals.ended.clear()
        async with self._slot():
            self.starting_since = time.time()
            self.reporter.starting(self.server)
            # A hint holds for one try: what failed with it may have been replaced since.
            hint, self._hint = self._hint, None
            began = asyncio.get_running_loop().time()
            link = await self._open_in(stack, hint)
            self._lists.failures.clear()
            link.greeted_after = asyncio.get_running_loop().time() - began
            self._hint = link.peer.era
            link.on_notice = self._noticed
            if self._looks:
                await self._lists.ask(link)
        self.link = link
        link.retired.add_done_callback(lambda retired: self._moved(link, retired.result()))
        self._is_installing, self.starting_since = False, None
        self.since, self.note = time.time(), ""
        # Whoever wanted it until now has it; else it would start again as soon as it rests.
        self._signals.wanted.clear()
        self._opened_at = link.used_at = asyncio.get_running_loop().time()
        self._error = None
        self.reporter.ready(self.server, link.peer)
        self._signals.settled.set()
        self._ears.on_ready(self.server, link)
        return link

    async def _open_in(self, stack: AsyncExitStack, hint: era.Era | None) -> Link:
        """Open the link; what ends when it is probed is started again and greeted the old way."""
        try:
            return await self._enter(stack, hint)
        except ProbeFatalError:
            return await self._enter(stack, "legacy")

    async def _enter(self, stack: AsyncExitStack, hint: era.Era | None) -> Link:
        opened = self._open(self.server, hint, self._installing)
        return await stack.enter_async_context(opened)

    def _installing(self, problem: Problem | None) -> None:
        self._is_installing = True
        self.reporter.installing(self.server, problem)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """One of the few starts at once; a start that takes long gives its place to others."""
        await self._starts.acquire()
        held = [True]

        def release() -> None:
            if held.pop() if held else False:
                self._starts.release()

        timer = asyncio.get_running_loop().call_later(self._patience.slot, release)
        try:
            yield
        finally:
            timer.cancel()
            release()

    async def _serve(self, link: Link) -> None:
        """Follow the server's changes until the link is lost, or nobody needs it."""
        self._signals.rest_asked.clear()
        async with asyncio.TaskGroup() as group:
            rest = group.create_task(self._wait_unneeded(link))
            followers = [rest, group.create_task(self._lists.follow(link, self._report_ready))]
            if link.is_modern and _announces(link):
                followers.append(group.create_task(self.listening.run(link)))
            await asyncio.wait((link.closed, rest), return_when=asyncio.FIRST_COMPLETED)
            # Whoever calls from here on gets the next life of the server, not the end of this.
            self.link = None
            if not link.closed.done():
                link.retire(self.note or "rests")
            for follower in followers:
                follower.cancel()
        self.last_trace = link.trace
        self._nobody += link.unattributed
        if not link.closed.done():
            return
        why = link.closed.result()
        self.restarts += 1
        lost = LinkError(f"{self.server.id.name!r} {why}")
        explain(lost, link.trace[-RECENT:])
        lost.trace = link.trace
        raise lost

    def _report_ready(self) -> None:
        if self.link is not None:
            self.reporter.ready(self.server, self.link.peer)

    async def _wait_unneeded(self, link: Link) -> None:
        """Return when the server was told to rest, or has been idle for long; never in a call."""
        loop = asyncio.get_running_loop()
        is_bound = self._apart or isinstance(self.server.endpoint, Command)
        usual = self._patience.idle if is_bound else 0.0
        while True:
            idle = SPARE_SECONDS if self._is_spare(link) else usual
            step = min(LOOK_SECONDS, idle / 4) if idle else LOOK_SECONDS
            must_rest = self._signals.rest_asked.is_set()
            busy = link.calls > 0 or bool(self.listening.wanted) or bool(self.loans)
            long = bool(idle) and loop.time() - link.used_at > idle
            if (must_rest and link.calls == 0) or (long and not busy):
                return
            try:
                async with asyncio.timeout(TOLD_SECONDS if must_rest else step):
                    await (asyncio.sleep(step) if must_rest else self._signals.rest_asked.wait())
            except TimeoutError:
                continue

    def _is_spare(self, link: Link) -> bool:
        """True if it was started to find out what it offers, and nobody has called it since."""
        is_spare = self.server.spare or (self.server.is_per_member and not self._apart)
        return is_spare and link.used_at <= self._opened_at

    def _noticed(self, method: str, params: bytes) -> None:
        if method == "notifications/subscriptions/acknowledged":
            if self.link is not None:
                self.listening.acknowledge(self.link, params)
        elif method in LISTS and self._looks:
            self._lists.mark_stale(LISTS[method])
        elif self.link is not None:
            self._ears.on_notice(self.server, self.link, method, params)

    def _fail(self, error: ToolyardError) -> None:
        # One that dies before it greets has no link, and its last words are needed most.
        self.last_trace = error.trace or self.last_trace
        error = self._parked or error
        if isinstance(error, AuthNeededError | MemberSecretError) and not self._apart:
            self._parked = error
            self._signals.freed.clear()
        # Callers and people are told of it; neither must read what was resolved for the server.
        error.args, error.hint = (MASK.hide(str(error)),), MASK.hide(error.hint)
        self._error = error
        self.reporter.failing(self.server, error)


def _announces(link: Link) -> bool:
    """Return whether a modern server ever has something to say on a subscription."""
    caps = link.capabilities
    parts = [caps.get(kind) for kind in ("tools", "prompts", "resources")]
    extensions = caps.get("extensions")
    if isinstance(extensions, dict) and era.TASKS in extensions:
        return True
    return any(
        isinstance(part, dict) and (part.get("listChanged") or part.get("subscribe"))
        for part in parts
    )
