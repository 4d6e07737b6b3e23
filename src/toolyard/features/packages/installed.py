"""Servers behind `npx`, `uvx` and `pipx run` are installed once, and then started without them.

The first start is the launcher's. When the server is ready, the same package is installed in the
background; from then on it is that version which starts, without a download and without the
launcher's own processes, until somebody orders another. The declared command stays what it is.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Final

import msgspec

from toolyard.board import Board
from toolyard.core.errors import LinkError, StartError, StoreError, ToolyardError, UnknownNameError
from toolyard.core.model import Endpoint, Problem, Report, Server
from toolyard.core.packages import start_installed
from toolyard.core.rows import InstalledVersion
from toolyard.executors.local import Local
from toolyard.executors.local.installing import install, is_at_hand, path_with
from toolyard.features.packages.launches import (
    Launch,
    faulty,
    gone,
    not_installed,
    read_launch,
)
from toolyard.features.packages.store import Installation, PackagesFolder, size_of
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.link import Link
from toolyard.links.opening import Opening, Proceed

log = logging.getLogger(__name__)

SOURCE: Final = "packages"
Expand = Callable[[Server], Endpoint]


class PackageRow(Installation, frozen=True, kw_only=True):
    """A package that was installed so that its servers start without their launcher."""

    servers: list[str]
    running: int
    """The number of processes that were started from it."""


class Packages:
    """Every package that is installed for servers here, and the one being installed."""

    def __init__(
        self,
        board: Board,
        folder: PackagesFolder,
        local: Local,
        expand: Expand,
        patience: float,
        *,
        on: bool,
    ) -> None:
        self._board = board
        self._folder = folder
        self._local = local
        self._expand = expand
        self._patience = patience
        self.on = on
        self._installations = folder.load()
        self._launches: dict[str, Launch] = {}
        self._eras: dict[str, str] = {}
        self._used: Counter[str] = Counter()  # by path, of which a name may have had several
        self._running: Counter[str] = Counter()
        self._troubles: dict[str, Problem] = {}
        self._waiting: asyncio.Queue[Launch] = asyncio.Queue()
        self._tried: set[str] = set()
        self._one_at_a_time = asyncio.Lock()

    # Starting.

    def prefer_installed(
        self, opening: Opening, proceed: Proceed
    ) -> AbstractAsyncContextManager[Link]:
        """Step: go on with what is installed, if it is; else as declared, and install it after."""
        server = opening.server
        # What is only tried, and in no yard, leaves nothing behind.
        is_ours = server.id in self._board.snapshot.entries
        launch = read_launch(server, opening.endpoint) if self.on and is_ours else None
        if launch is None or is_at_hand(launch.package, launch.command.cwd):
            return proceed(opening)
        self._launches[launch.name] = launch
        return self._launched(launch, opening, proceed)

    @asynccontextmanager
    async def _launched(
        self, launch: Launch, opening: Opening, proceed: Proceed
    ) -> AsyncIterator[Link]:
        async with AsyncExitStack() as stack:
            yield await self._enter(stack, launch, opening, proceed)

    async def _enter(
        self, stack: AsyncExitStack, launch: Launch, opening: Opening, proceed: Proceed
    ) -> Link:
        installation, failed = self._usable(launch), None
        if installation is not None:
            began = time.monotonic()
            try:
                return await self._enter_installed(stack, launch, installation, opening, proceed)
            except (StartError, LinkError) as error:
                if not self._may_blame(installation, error, time.monotonic() - began):
                    raise
                failed = error
        link = await stack.enter_async_context(proceed(opening))
        if installation is not None and failed is not None:
            await self._set_aside(installation, failed)
        elif launch.name not in self._installations:
            self._install_later(launch, link)
        return link

    async def _enter_installed(
        self,
        stack: AsyncExitStack,
        launch: Launch,
        installation: Installation,
        opening: Opening,
        proceed: Proceed,
    ) -> Link:
        for counter, key in ((self._used, installation.path), (self._running, installation.name)):
            counter[key] += 1
            stack.callback(counter.subtract, (key,))
        path = path_with(installation.program, launch.command)
        command = start_installed(launch.command, launch.package, installation.program, path)
        link = await stack.enter_async_context(proceed(replace(opening, endpoint=command)))
        link.where = f"{link.where}, {installation.package} {installation.version} as installed"
        return link

    def _may_blame(self, installation: Installation, error: ToolyardError, seconds: float) -> bool:
        """Return whether the launcher may do better than what is installed."""
        if isinstance(error, ProbeFatalError):
            # Another is greeted the old way next, by whoever asked.
            return installation.era == "modern"
        return seconds < self._patience  # who is slow is no faster with a launcher before it

    def _usable(self, launch: Launch) -> Installation | None:
        installation = self._installations.get(launch.name)
        if installation is None or installation.fault:
            return None
        if os.access(installation.program, os.X_OK):
            return installation
        del self._installations[installation.name]
        self._tried.discard(installation.name)
        self._note(installation.name, gone(installation))
        return None

    async def _set_aside(self, installation: Installation, error: ToolyardError) -> None:
        """Use the launcher from now on, which works where the installed program did not."""
        self._installations[installation.name] = installation = msgspec.structs.replace(
            installation, fault=str(error)
        )
        try:
            await asyncio.to_thread(self._folder.keep, installation)
        except StoreError as trouble:
            log.warning(
                "an installation was not written",
                extra={"package": installation.name, "why": str(trouble)},
            )
        self._note(installation.name, faulty(installation))

    def _install_later(self, launch: Launch, link: Link) -> None:
        self._eras[launch.name] = link.peer.era
        if launch.name not in self._tried:
            self._tried.add(launch.name)
            self._waiting.put_nowait(launch)

    # Installing.

    async def run(self) -> None:
        """Install what was started by its launcher, one after the other, until cancelled."""
        async with self._one_at_a_time:
            await self._clear()
        for installation in self._installations.values():
            if installation.fault:
                self._note(installation.name, faulty(installation))
        while True:
            launch = await self._waiting.get()
            try:
                async with self._one_at_a_time:
                    await self._install(launch)
            except Exception as error:
                # Whatever is wrong with one package, the launcher starts its server as before.
                log.warning("a package was not installed", exc_info=error)
                self._note(launch.name, not_installed(launch, error))

    async def _install(self, launch: Launch, *, fresh: bool = False) -> Installation:
        package = launch.package
        room = await asyncio.to_thread(self._folder.make_room, launch.name)
        try:
            made = await install(self._local, package, launch.command, room, fresh=fresh)
            old = self._installations.get(launch.name)
            installation = Installation(
                name=launch.name,
                kind=package.kind,
                package=package.name,
                spec=package.spec,
                version=made.version,
                program=made.program,
                path=str(room),
                since=time.time(),
                size=await asyncio.to_thread(size_of, room),
                era=self._eras.get(launch.name, old.era if old else ""),
            )
            await asyncio.to_thread(self._folder.keep, installation)
            self._installations[installation.name] = installation
            self._note(installation.name, None)
            return installation
        finally:
            await self._clear()

    async def _clear(self) -> None:
        """Remove what is neither in use nor to be used."""
        staying = {installation.path for installation in self._installations.values()}
        staying |= {path for path, count in self._used.items() if count > 0}
        await asyncio.to_thread(self._folder.clear, staying)

    # Questions and orders.

    def rows(self) -> list[PackageRow]:
        """Every installed package, and for which servers."""
        return [self.row(installation) for _, installation in sorted(self._installations.items())]

    def row(self, installation: Installation) -> PackageRow:
        """One installed package, and for which servers."""
        entries = self._board.snapshot.entries.values()
        launches = ((entry.alias, self._declared(entry.server)) for entry in entries)
        return PackageRow(
            **msgspec.structs.asdict(installation),
            servers=sorted(
                alias for alias, launch in launches if launch and launch.name == installation.name
            ),
            running=self._running[installation.name],
        )

    def installed(self, server: Server) -> InstalledVersion | None:
        """Return the version that starts in place of a server's launcher, if one does."""
        launch = self._declared(server) if self.on else None
        installation = self._installations.get(launch.name) if launch is not None else None
        if installation is None or installation.fault:
            return None
        return InstalledVersion(installation.package, installation.version, installation.program)

    async def update(self, name: str) -> Installation:
        """Install the newest version that the command allows; it is used from the next start on.

        Raises:
            UnknownNameError: There is no such package or server, or nothing uses it.
            StartError: It could not be installed; what was there stays.
        """
        launch = await self._find_launch(self._find(name))
        async with self._one_at_a_time:
            return await self._install(launch, fresh=True)

    async def remove(self, name: str) -> None:
        """Remove what is installed; the launcher starts the server next, and it is made again.

        Raises:
            UnknownNameError: There is no such package.
        """
        package = self._find(name)
        if package not in self._installations:
            raise UnknownNameError(f"nothing is installed for {name[:80]!r}")
        async with self._one_at_a_time:
            await asyncio.to_thread(self._folder.forget, package)
            self._installations.pop(package, None)
            self._tried.discard(package)
            self._note(package, None)
            await self._clear()

    def _find(self, name: str) -> str:
        """The name of a package, by its own or that of a server that uses it."""
        if name in self._installations or name in self._launches:
            return name
        for entry in self._board.snapshot.entries.values():
            if name in (entry.alias, str(entry.server.id)):
                launch = self._declared(entry.server)
                if launch is not None:
                    return launch.name
        names = ", ".join(sorted(self._installations)) or "none yet"
        raise UnknownNameError(f"no package is called {name[:80]!r}", f"there are: {names}")

    async def _find_launch(self, name: str) -> Launch:
        """The command that a package is for, with its values."""
        if name in self._launches:
            return self._launches[name]
        for entry in self._board.snapshot.entries.values():
            launch = self._declared(entry.server)
            if launch is not None and launch.name == name:
                place = await asyncio.to_thread(self._expand, entry.server)
                launch = read_launch(entry.server, place)
                if launch is not None:
                    return launch
        hint = f"run: toolyard executor packages remove {name}"
        raise UnknownNameError(f"no server uses {name!r}", hint)

    def _declared(self, server: Server) -> Launch | None:
        """The launch that a server's command means, also where it refers to values."""
        launches = (launch for launch in self._launches.values() if launch.server == server.id)
        return read_launch(server, server.endpoint) or next(launches, None)

    def _note(self, name: str, problem: Problem | None) -> None:
        """Put trouble on the picture, or take it away."""
        old = self._troubles.pop(name, None)
        if problem is not None:
            self._troubles[name] = problem
        if old != problem:
            self._board.post(Report(SOURCE, problems=tuple(self._troubles.values())))
