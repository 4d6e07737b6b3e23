"""Runs servers as processes on this machine, and leaves none behind."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from toolyard.core.errors import StartError, ToolyardError
from toolyard.core.packages import may_fetch
from toolyard.core.placement import Run
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Placement
from toolyard.executors.child import Child
from toolyard.executors.local import posix, reaper
from toolyard.executors.local.environment import environment
from toolyard.executors.local.fetching import HINT, FetchLock, FetchLocks
from toolyard.executors.local.marking import marking
from toolyard.executors.local.program import Program, locate, refusal
from toolyard.executors.local.reaper_client import ReaperClient
from toolyard.executors.local.serving import SECONDS, check_port, serving
from toolyard.executors.tail import LogFile
from toolyard.executors.waits import through, within, within_either
from toolyard.tasks import Tasks

_KILL_WAIT = 1.0  # a killed process goes at once, unless the kernel holds it
_DRAIN_WAIT = 0.5  # with all writers gone the rest is there already
_SWEEPERS = 16  # stops that may search for leftovers at once


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server; None is no limit. They hold on Linux alone."""

    descriptors: int | None = 1024
    memory: int | None = None
    """Bytes of private writable memory; V8 and Go reserve far more address space than they use."""
    processes: int | None = None
    """Counted by the kernel over all processes of the user, so rarely useful."""


@dataclass(frozen=True, slots=True)
class LocalPatience:
    """Seconds until the next step of a stop."""

    eof: float = 2.0
    term: float = 3.0
    fetch: float = 300.0
    """For a launcher that may be installing a package; see `fetching`."""
    hold: float = 300.0
    """For the next launcher to wait for it."""


class Local:
    """Runs servers on this machine.

    `logs` is the folder for their stderr, one file per server; `fetches` the one for the locks of
    launchers that install packages.
    """

    def __init__(
        self,
        logs: Path | None = None,
        *,
        fetches: Path | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        patience: LocalPatience = LocalPatience(),  # noqa: B008 - frozen
    ) -> None:
        self._logs = logs
        self._limits = limits
        self._patience = patience
        self._owner = uuid.uuid4().hex
        self._reaper = ReaperClient(self._owner, patience.fetch)
        self._fetches = FetchLocks(fetches, patience.hold)
        self._left = Tasks()
        """Waits for launchers that were left to finish."""
        self._sweepers = ThreadPoolExecutor(_SWEEPERS, thread_name_prefix="sweep")
        self._last: dict[str, list[Child]] = {}

    @property
    def owner(self) -> str:
        """The value of TOOLYARD_OWNER in every process of this executor."""
        return self._owner

    @property
    def reaper(self) -> int | None:
        """The pid of the process that cleans up if the hub dies, once a server was started."""
        return self._reaper.pid

    @asynccontextmanager
    async def open(self, run: Run) -> AsyncIterator[Pipes | Address]:
        """Start a server; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        if run.placement.port:
            await check_port(run)
        async with self.start(run) as child:
            reached: Pipes | Address = child
            if run.placement.port:
                reached = await serving(run, child, self._patience_of(run))
                child.has_spoken()
            yield reached

    def _patience_of(self, run: Run) -> float:
        """The seconds in which a server must accept connections."""
        return max(self._patience.fetch, SECONDS) if may_fetch(run.command.argv) else SECONDS

    @asynccontextmanager
    async def start(self, run: Run) -> AsyncIterator[Child]:
        """Start a process; leaving the context stops it and all it started.

        Raises:
            StartError: It could not be started.
        """
        name, command = run.name, run.command
        instance = uuid.uuid4().hex
        marks = ((reaper.OWNER, self._owner), (reaper.INSTANCE, instance))
        env = environment(command.env, marks)
        program = locate(name, command, env)
        child = Child(LogFile(self._logs, name) if self._logs else None)
        hold = await self._fetches.hold(name, command)
        self._reaper.begin()
        try:
            self._bind(run, instance)
            with marking() as limit:
                process = _start(name, program, env, child, hold)
        except StartError:
            if hold is not None:
                hold.leave()
            raise
        child.pid = process.pid
        self._last[name] = [*self._last.get(name, ())[-1:], child]
        life = _LocalRun(self, process, child, instance, limit, hold)
        try:
            await life.begin(_bounds(run.placement, self._limits))
            yield child
        except ToolyardError as error:
            if life.is_fetching:
                error.hint = HINT
            raise
        finally:
            # An exclusive one may not be left to finish: the next is started elsewhere.
            await through(life.stop() if run.deadline is None else life.end())
            self._reaper.unbind(instance)

    def _bind(self, run: Run, instance: str) -> None:
        """Have the reaper end a process in time, also while the hub is frozen and cannot.

        Raises:
            StartError: Its time is over already.
        """
        deadline = run.deadline
        if deadline is None:
            return
        if deadline.at <= time.monotonic():
            text = f"cannot start {run.name!r}: it is exclusive, and may be another's by now"
            raise StartError(text, "call again")
        self._reaper.bind(instance, deadline.at)
        deadline.follow(lambda at: self._reaper.move(instance, at))

    @asynccontextmanager
    async def reach(self, port: int) -> AsyncIterator[str]:
        """Give the host and port by which local processes reach a loopback port."""
        yield f"127.0.0.1:{port}"

    async def sweep(self) -> tuple[str, ...]:
        """End what earlier hubs left: nothing, because their reapers did that."""
        return ()

    def last_words(self, name: str) -> tuple[str, ...]:
        """Return the last lines of stderr of the newest process of that name.

        While a process that was just started again has written nothing, those of the one before.
        """
        lines = (child.stderr for child in reversed(self._last.get(name, ())))
        return next((stderr for stderr in lines if stderr), ())

    async def close(self) -> None:
        """Stop the reaper; call it when no server runs any more, because it ends what is left.

        Launchers that may be installing are left to it.
        """
        await self._left.close()
        await self._reaper.close()


class _LocalRun:
    """One server from start to the last of its processes."""

    def __init__(
        self,
        local: Local,
        process: posix.Process,
        child: Child,
        instance: str,
        limit: int,
        hold: FetchLock | None,
    ) -> None:
        self._local = local
        self._process = process
        self._child = child
        self._instance = instance
        self._hold = hold
        self._fetched = asyncio.Event()
        child.on_spoken = self._spoken if hold is not None else None
        self._limit = limit
        entry = reaper.read_process(process.pid)
        self._start = entry.start if entry else 0

    @property
    def is_fetching(self) -> bool:
        """True while it may be installing a package."""
        return self._hold is not None and not self._child.gone.is_set()

    def _spoken(self) -> None:
        """Release the lock: the server itself runs, so its package is installed."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None
            self._fetched.set()
            self._local._reaper.may_end(self._process.pid)

    async def begin(self, limits: Limits) -> None:
        self._local._reaper.add(self._process.pid, self._start, self._limit, self._instance)
        if self._hold is not None:
            self._local._reaper.spare(self._process.pid)
        _limit(self._process.pid, limits)
        # Uninterrupted: a pipe that is half connected would belong to nobody.
        await through(self._process.attach())

    async def stop(self) -> None:
        """End it, or let it finish first if it may be installing."""
        if self.is_fetching:
            self._child.let_go()
            if self._local._left.start(self._finish()) is not None:
                return
        await self.end()

    async def _finish(self) -> None:
        """Wait until a launcher has installed its package, then end it."""
        try:
            await within_either(self._local._patience.fetch, self._child.gone, self._fetched)
        except asyncio.CancelledError:
            # The hub ends first: the launcher is left to the reaper.
            self._leave()
            raise
        await through(self.end())

    def _leave(self) -> None:
        if self._hold is not None:
            self._hold.leave()
        self._process.leave()
        self._child.close()

    async def end(self) -> None:
        """Close stdin, then TERM, then KILL, then end what escaped; every wait is bounded."""
        try:
            await self._ask()
            await asyncio.get_running_loop().run_in_executor(
                self._local._sweepers, self._sweep, self._local._patience.term
            )
            await within(_DRAIN_WAIT, self._child.drained)
        except asyncio.CancelledError:
            # The event loop is being closed: there is no time to wait.
            self._process.signal(signal.SIGKILL)
            self._sweep(0)
            raise
        finally:
            if self._hold is not None:
                self._hold.leave()
            self._local._reaper.remove(self._process.pid)
            self._process.reap()
            self._child.close()

    async def _ask(self) -> None:
        patience = self._local._patience
        self._child.close_input()
        if await within(patience.eof, self._child.gone):
            return
        self._process.signal(signal.SIGTERM)
        if await within(patience.term, self._child.gone):
            return
        self._process.signal(signal.SIGKILL)
        await within(_KILL_WAIT, self._child.gone)

    def _sweep(self, patience: float) -> None:
        """End the rest of its group, and processes that left the group but carry its mark."""
        if self._start:
            pid = self._process.pid
            limits = {pid: self._limit} if self._limit else {}
            mark = f"{reaper.INSTANCE}={self._instance}"
            family = reaper.ProcessFamily(mark, {pid: self._start}, limits)
            reaper.end_processes(family, self._start, patience)
        else:
            self._process.signal(signal.SIGKILL)


def _start(
    name: str, program: Program, env: dict[str, str], child: Child, hold: FetchLock | None
) -> posix.Process:
    try:
        if hold is not None:
            inherited = (hold.fd,) if hold.fd >= 0 else ()
            return posix.start_to_stay(program, env, child, inherited)
        return posix.start(program, env, child)
    except (OSError, ValueError) as error:
        raise refusal(name, program, error) from error


def _bounds(placement: Placement, usual: Limits) -> Limits:
    """Return the limits of one server: its own, or else the usual ones."""
    return Limits(
        descriptors=placement.descriptors or usual.descriptors,
        memory=placement.memory << 20 or usual.memory,
        processes=placement.processes or usual.processes,
    )


def _limit(pid: int, limits: Limits) -> None:
    # Set from outside after the start: code between fork and exec would make every start slow.
    if sys.platform != "linux":
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_NOFILE, limits.descriptors),
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_NPROC, limits.processes),
    ):
        if most is not None:
            with suppress(OSError, ValueError):  # ended already, or our own limit is lower
                resource.prlimit(pid, kind, (most, most))
