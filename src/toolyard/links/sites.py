"""The places where servers run, made when first needed: this machine, and those people named."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final, Protocol, runtime_checkable

from msgspec import Raw

from toolyard.core.agents import Roster
from toolyard.core.errors import StartError, ToolyardError
from toolyard.core.model import Problem, Report
from toolyard.core.placement import Run
from toolyard.core.ports import Executor
from toolyard.core.problems import ProblemCode
from toolyard.core.sites import Placement, Site
from toolyard.executors.probe_server import probe_command
from toolyard.links.connecting import open_run
from toolyard.links.link import Link
from toolyard.links.patience import Patience
from toolyard.wire import jsonrpc

log = logging.getLogger(__name__)

SOURCE: Final = "executors"
LOCAL: Final = "local"
SWEEP_SECONDS: Final = 20.0
"""How long looking for leftovers at one place may take; what is there stays until next time."""
TEST_SECONDS: Final = 60.0
LIMIT: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SiteTrial:
    """The outcome of trying a place, step by step; `failed` says where it stopped."""

    steps: tuple[tuple[str, float], ...] = ()
    """What was done, and how many seconds it took."""
    failed: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@runtime_checkable
class Weighing(Protocol):
    """An executor that can tell how much memory its servers hold."""

    async def memory(self) -> dict[str, int]:
        """Bytes per running server, by its `where`; those it does not know are left out."""
        ...


@dataclass(slots=True)
class _Opened:
    site: Site
    executor: Executor
    doors: AsyncExitStack = field(default_factory=AsyncExitStack)
    reached: dict[int, str] = field(default_factory=dict)


class Sites:
    """Every executor by name; one that changed is made anew for what starts from then on."""

    def __init__(
        self,
        local: Executor,
        make: Callable[[Site], Executor],
        roster: Callable[[], Roster],
    ) -> None:
        """Begin with this machine alone; `make` builds an executor, or raises StartError."""
        self._local = local
        self.make = make
        self._roster = roster
        self._opened: dict[str, _Opened] = {}
        self._old: list[_Opened] = []
        self._reaching = asyncio.Lock()
        self._reached: set[str] = set()

    def get(self, name: str) -> Executor:
        """The executor of that name; this machine without one.

        Raises:
            StartError: There is none, or it cannot be used as configured.
        """
        if is_here(name):
            return self._local
        return self._get(name).executor

    def _get(self, name: str) -> _Opened:
        site = self._roster().sites.get(name)
        if site is None:
            names = ", ".join((LOCAL, *sorted(self._roster().sites)))
            hint = f"there are: {names}; name it with: toolyard executor add"
            raise StartError(f"there is no executor {name[:80]!r}", hint)
        # How many may run there is no matter of the executor's.
        site = replace(site, running_limit=None, memory_limit=None)
        opened = self._opened.get(name)
        if opened is None or opened.site != site:
            if opened is not None:
                self._old.append(opened)
            opened = self._opened[name] = _Opened(site, self.make(site))
        return opened

    async def reach(self, name: str, port: int) -> str:
        """Host and port by which processes at a place reach a loopback port of ours; kept open.

        Raises:
            StartError: There is no way.
        """
        if is_here(name):
            return f"127.0.0.1:{port}"
        async with self._reaching:
            opened = self._get(name)
            if port not in opened.reached:
                way = opened.executor.reach(port)
                opened.reached[port] = await opened.doors.enter_async_context(way)
                self._reached.add(opened.reached[port].lower())
            return opened.reached[port]

    def is_reached_as(self, host: str) -> bool:
        """Tell whether the hub is, or was, reached from elsewhere under a host and port."""
        return host in self._reached

    async def memory(self, name: str) -> dict[str, int]:
        """Bytes in memory per server at a place, by its `where`; {} if that cannot be told."""
        used: dict[str, int] = {}
        for opened in (*self._old, *self._opened.values()):
            if opened.site.name == name and isinstance(opened.executor, Weighing):
                used |= await opened.executor.memory()
        return used

    async def sweep(self, post: Callable[[Report], None]) -> None:
        """End what an earlier start of this hub left anywhere; say what could not be looked at."""
        problems: list[Problem] = []
        for name in sorted(self._roster().sites):
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    ended = await self.get(name).sweep()
            except (ToolyardError, TimeoutError) as error:
                problems.append(_unreached(name, error))
            else:
                if ended:
                    log.warning("ended leftovers", extra={"executor": name, "what": list(ended)})
        post(Report(SOURCE, problems=tuple(problems)))

    async def try_out(self, name: str, placement: Placement, port: int) -> SiteTrial:
        """Start a tiny server at a place, call it, have it look for us, and remove it."""
        steps: list[tuple[str, float]] = []
        notes: list[str] = []
        began = monotonic()

        def done(step: str) -> None:
            nonlocal began
            steps.append((step, monotonic() - began))
            began = monotonic()

        try:
            async with asyncio.timeout(TEST_SECONDS):
                executor = self.get(name)
                run = Run("toolyard-test", probe_command(), placement, owner="test")
                opened = open_run(run, executor, Patience(open=TEST_SECONDS), LIMIT, "legacy")
                async with opened as link:
                    done(f"a tiny server was started ({link.where})")
                    await _call(link, "ping", {}, "pong")
                    done("it was called")
                    notes.append(await self._look_back(name, link, port))
                    done("it looked for the hub")
                done("it was removed")
        except TimeoutError:
            hint = "see whether the place is under load, or cannot be reached"
            return SiteTrial(tuple(steps), f"not done after {TEST_SECONDS:g} s", hint, tuple(notes))
        except ToolyardError as error:
            return SiteTrial(tuple(steps), str(error), error.hint, tuple(notes))
        return SiteTrial(tuple(steps), notes=tuple(notes))

    async def _look_back(self, name: str, link: Link, port: int) -> str:
        """Say whether a process there reaches the hub."""
        try:
            place = await self.reach(name, port)
        except StartError as error:
            return f"the hub cannot be reached from there: {error}; {error.hint}"
        url = f"http://{place}/health/live"
        code = await _call(link, "reach", {"url": url}, "")
        if code == "unknown":
            return f"the hub should be at {place} there; there is nothing to try it with"
        # Any answer of ours will do: a foreign name in Host is refused, and was reached.
        reached = code.isdigit() and code != "000"
        return f"the hub is {'' if reached else 'not '}reached from there at {place}"

    async def close(self) -> None:
        """Let go of every place; call it when no server runs any more."""
        for opened in (*self._opened.values(), *self._old):
            await opened.doors.aclose()
            await opened.executor.close()
        self._opened.clear()
        self._old.clear()


def is_here(name: str) -> bool:
    """Return whether an executor's name stands for this machine."""
    return name in ("", LOCAL)


async def _call(link: Link, tool: str, arguments: dict[str, str], expected: str) -> str:
    params = jsonrpc.encode({"name": tool, "arguments": arguments})
    answer = await link.request("tools/call", params).answer
    result = jsonrpc.to_python(answer.result or Raw(b"null"))
    try:
        text = str(result["content"][0]["text"])
    except (TypeError, KeyError, IndexError):
        text = ""
    if expected and text != expected:
        raise StartError(f"the tiny server answered {text[:80]!r}", "look at the place's own log")
    return text


def _unreached(name: str, error: BaseException) -> Problem:
    why = str(error) or f"no answer within {SWEEP_SECONDS:g} s"
    hint = getattr(error, "hint", "") or f"try it: toolyard executor test {name}"
    text = f"executor {name!r} was not looked at for leftovers: {why}"
    return Problem(ProblemCode.EXECUTOR_UNREACHED, text, hint, name)
