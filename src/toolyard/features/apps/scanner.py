"""The source of one app: looks at the ports of its variants and reports those that run.

The kernel tells who listens; only a listener that is new or changed is asked who it is. A running
app is never asked twice, so looking costs it nothing.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.errors import StartError, ToolyardError
from toolyard.core.model import Peer, Problem, Report, Server, ServerId, Url
from toolyard.core.problems import ProblemCode
from toolyard.core.watches import Variant, Watch
from toolyard.executors.local.listeners import Listener, on_port, read_listeners

PROBE_SECONDS: Final = 3.0
JITTER: Final = 0.2
STALL_SECONDS: Final = 1.0
"""A scan that is later than this comes after a pause of our own, in which nobody was missed."""
PATIENT_SCANS: Final = 12
"""The longest pause until an unclear listener is asked again, in scans: about a minute."""
REFRESH_SECONDS: Final = 10.0

Probe = Callable[[str, float], Awaitable[Peer]]
"""Asks an address who it is; leaves nothing behind there. Raises ToolyardError."""
Replaced = Callable[[ServerId, str, float], None]
"""Told of a server whose process is another or gone: why, and since when by the loop's clock."""
Mark = tuple[tuple[int, int], ...]
"""The listeners of a port: owner and number of every socket."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One variant as the last scan saw it."""

    variant: Variant
    listening: bool
    offered: bool
    """True if it is on the report: confirmed, and not missed too often since."""
    misses: int
    conflict: str
    """The listener instead of the app, in words; empty if that is not known."""
    owner: int | None
    """The other user who listens there."""


@dataclass(slots=True)
class _Track:
    """The memory of one variant."""

    variant: Variant
    id: ServerId
    mark: Mark = ()
    seen_at: float = 0.0
    """When that listener was last seen, by the loop's clock."""
    confirmed: bool = False
    offered: bool = False
    misses: int = 0
    conflict: str = ""
    owner: int | None = None
    tries: int = 0
    """The times that the listener was asked without a clear answer."""
    pause: int = 0
    """Scans to let pass before it is asked again; negative for ever."""

    def forget(self) -> None:
        """Whoever listened does not any more."""
        self.mark, self.confirmed, self.conflict, self.owner = (), False, "", None
        self.tries = self.pause = 0


@dataclass(slots=True)
class _Turns:
    """Counts scans, so that one can wait for a whole one that begins after a wish."""

    begun: int = 0
    ended: int = 0
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        self.ended = self.begun
        self.over.set()
        self.over = asyncio.Event()


class Scan:
    """Finds the variants of one app; its name is the app's."""

    def __init__(
        self, watch: Watch, problems: tuple[Problem, ...], probe: Probe, replaced: Replaced
    ) -> None:
        self.watch = watch
        self.scanned_at: float | None = None
        """When the last scan ended, in seconds since the epoch."""
        self._settings = problems
        self._probe = probe
        self._replaced = replaced
        app = watch.app.name
        self._tracks = {v.name: _Track(v, ServerId(v.name, app)) for v in watch.variants}
        self._turns = _Turns()
        self._posted: Report | None = None

    @property
    def name(self) -> str:
        """The name of the app."""
        return self.watch.app.name

    def states(self) -> tuple[Sight, ...]:
        """Every variant as the last scan saw it; whether it listens, as it is now."""
        listeners = read_listeners()
        return tuple(
            Sight(t.variant, _listens(t, listeners), t.offered, t.misses, t.conflict, t.owner)
            for t in self._tracks.values()
        )

    async def run(self, post: Callable[[Report], None]) -> None:
        """Scan at once, then again and again; post what changed."""
        self._posted = None
        loop = asyncio.get_running_loop()
        late = 0.0
        while True:
            await self._cycle(post, counts=late < STALL_SECONDS)
            if not self._tracks:
                await loop.create_future()
            pause = self.watch.interval_ms / 1000 * random.uniform(1 - JITTER, 1 + JITTER)
            due = loop.time() + pause
            try:
                async with asyncio.timeout(pause):
                    await self._turns.wake.wait()
            except TimeoutError:
                pass
            late = loop.time() - due

    async def refresh(self) -> None:
        """Scan now, asking strangers again, and return when that is done."""
        if not self._tracks:
            return
        for track in self._tracks.values():
            track.pause = 0
        turn = self._turns.begun + 1
        self._turns.wake.set()
        try:
            async with asyncio.timeout(REFRESH_SECONDS):
                while self._turns.ended < turn:
                    await self._turns.over.wait()
        except TimeoutError:
            return  # the source is being started again; what is known stands

    def admit(self, server: Server) -> None:
        """See that a link may be opened: the port must not be somebody else's by now.

        Raises:
            StartError: It is.
        """
        track = self._tracks.get(server.id.name)
        listeners = read_listeners()
        if track is None or listeners is None or not track.variant.is_local:
            return
        owner = _stranger(on_port(listeners, track.variant.port))
        if owner is not None:
            raise StartError(*_foreign(track.variant.port, owner))

    def recognise(self, server: Server, peer: Peer) -> None:
        """See that who was reached is the app.

        Raises:
            StartError: It is not.
        """
        if not self.watch.app.is_called(peer.name):
            text = f"{server.id.name!r} is not {self.watch.app.title}: it is {_called(peer)}"
            raise StartError(text, "stop what has its port")

    # One scan.

    async def _cycle(self, post: Callable[[Report], None], *, counts: bool) -> None:
        self._turns.wake.clear()
        self._turns.begun += 1
        listeners = read_listeners()
        try:
            async with asyncio.TaskGroup() as group:
                for track in self._tracks.values():
                    group.create_task(self._visit(track, listeners, counts, post))
        finally:
            self.scanned_at = time.time()
            self._turns.end()
        self._report(post)

    async def _visit(
        self,
        track: _Track,
        listeners: tuple[Listener, ...] | None,
        counts: bool,
        post: Callable[[Report], None],
    ) -> None:
        mark, owner = await _look(track.variant, listeners)
        if not mark:
            self._miss(track, counts)
        elif owner is not None:
            track.forget()
            track.mark, track.owner, track.offered = mark, owner, False
        elif mark != track.mark:
            track.forget()
            track.mark = mark
            await self._ask(track, counts)
        elif track.confirmed:
            track.misses = 0
            track.seen_at = _now()
        elif track.pause == 0:
            await self._ask(track, counts)
        else:
            track.pause -= 1
            if track.offered:
                self._count(track, counts)
        self._report(post)

    async def _ask(self, track: _Track, counts: bool) -> None:
        """Ask a listener who it is."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                peer = await self._probe(track.variant.url, PROBE_SECONDS)
        except TimeoutError:
            self._unclear(track, f"it did not answer within {PROBE_SECONDS:g} s", counts)
        except ToolyardError as error:
            self._unclear(track, str(error), counts)
        else:
            self._clear(track, peer)

    def _clear(self, track: _Track, peer: Peer) -> None:
        if self.watch.app.is_called(peer.name):
            track.conflict, track.tries, track.misses, track.confirmed = "", 0, 0, True
            if track.offered:
                self._replaced(track.id, "was restarted", track.seen_at)
            track.offered, track.seen_at = True, _now()
        else:
            # It has said who it is, so the app is gone, and this listener need not be asked again.
            track.conflict, track.pause, track.offered = f"it is {_called(peer)}", -1, False
            track.tries, track.misses = 1, 0

    def _unclear(self, track: _Track, text: str, counts: bool) -> None:
        """It may be the app that starts: ask again, after growing pauses."""
        track.conflict = text
        track.tries += 1
        track.pause = min(2 ** (track.tries - 1) - 1, PATIENT_SCANS)
        if track.offered:
            self._count(track, counts)

    def _miss(self, track: _Track, counts: bool) -> None:
        if track.mark and track.offered:
            self._replaced(track.id, "stopped listening", _now())
        track.forget()
        if track.offered:
            self._count(track, counts)

    def _count(self, track: _Track, counts: bool) -> None:
        track.misses += counts
        if track.misses >= self.watch.misses:
            track.offered, track.misses = False, 0

    # What is told.

    def _report(self, post: Callable[[Report], None]) -> None:
        app = self.watch.app
        servers = [
            Server(
                t.id,
                Url(t.variant.url),
                title=f"{app.title} {t.variant.name}",
                steady=True,
                app=app.name,
            )
            for t in self._tracks.values()
            if t.offered
        ]
        problems = [p for t in self._tracks.values() if (p := self._problem(t)) is not None]
        report = Report(app.name, tuple(servers), (*self._settings, *problems))
        # Nothing found is known at the end of the first scan only; what was found, at once.
        begun = self._posted is not None or bool(servers) or self._turns.ended > 0
        if begun and report != self._posted:
            self._posted = report
            post(report)

    def _problem(self, track: _Track) -> Problem | None:
        port, subject = track.variant.port, str(track.id)
        if track.owner is not None:
            text, hint = _foreign(port, track.owner)
            return Problem(ProblemCode.SCAN_FOREIGN, text, hint, subject)
        # Once may be an app that is just starting.
        if track.conflict and (track.pause < 0 or track.tries > 1):
            title = self.watch.app.title
            text = f"port {port} of {title} {track.variant.name} is taken: {track.conflict}"
            return Problem(
                ProblemCode.SCAN_CONFLICT, text, "stop what has the port, or move it", subject
            )
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _look(
    variant: Variant, listeners: tuple[Listener, ...] | None
) -> tuple[Mark, int | None]:
    """The mark of the listener for a variant, and the other user whose it is."""
    if listeners is None or not variant.is_local:
        return (((-1, 0),) if await _answers(variant) else ()), None
    owners = on_port(listeners, variant.port)
    return tuple((listener.uid, listener.inode) for listener in owners), _stranger(owners)


def _stranger(listeners: tuple[Listener, ...]) -> int | None:
    mine = os.geteuid()
    return next((listener.uid for listener in listeners if listener.uid != mine), None)


async def _answers(variant: Variant) -> bool:
    """Return whether something takes connections there, where no table tells."""
    from urllib.parse import urlsplit

    host = urlsplit(variant.url).hostname
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, variant.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _called(peer: Peer) -> str:
    return f"{peer.name!r} {peer.release}".strip() if peer.name else "an MCP server without a name"


def _foreign(port: int, owner: int) -> tuple[str, str]:
    text = f"port {port} belongs to another user (uid {owner}) and is not used"
    return text, "stop that user's process, or start the app as the user who runs the hub"


def _listens(track: _Track, listeners: tuple[Listener, ...] | None) -> bool:
    if listeners is None or not track.variant.is_local:
        return bool(track.mark)
    return bool(track.mark) and bool(on_port(listeners, track.variant.port))
