"""Launchers that install a package before they run it: given time, shown, and mended once."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Command, Problem
from toolyard.core.packages import may_fetch
from toolyard.core.problems import ProblemCode
from toolyard.executors.local import npx_folder
from toolyard.links.link import Link
from toolyard.links.opening import Opening, Proceed
from toolyard.links.sites import is_here

log = logging.getLogger(__name__)

SIGN_SECONDS: Final = 3.0
"""A launcher that has its package already takes less than this."""
QUIET_SECONDS: Final = 3.0
"""A folder in which nothing changed for so long is not being installed by anybody."""
LOOK_SECONDS: Final = 0.25
LOOKS: Final = 60


class AllowInstalling:
    """Step: a launcher on this machine may install its package first.

    That takes longer than a start, and is told. If npx runs into half a package that somebody
    left, its folder is removed and the launcher started once more.

    Args:
        seconds: The time a server has to answer if it is installed first.
        sign: The time after which a launcher that is silent is said to install.
        quiet: The time for which nothing may have changed in a folder that is removed.
    """

    def __init__(
        self, seconds: float, *, sign: float = SIGN_SECONDS, quiet: float = QUIET_SECONDS
    ) -> None:
        self._seconds = seconds
        self._sign = sign
        self._quiet = quiet
        self._cleared: set[Path] = set()
        """Folders that were removed already: what is broken again is the package itself."""

    def __call__(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Go on with the patience that an installation needs, if there may be one."""
        command = opening.endpoint
        if not isinstance(command, Command) or not _is_launcher(opening, command):
            return proceed(opening)
        return self._open(replace(opening, seconds=self._seconds), command, proceed)

    @asynccontextmanager
    async def _open(
        self, opening: Opening, command: Command, proceed: Proceed
    ) -> AsyncIterator[Link]:
        async with AsyncExitStack() as stack:
            yield await self._enter(stack, opening, command, proceed)

    async def _enter(
        self, stack: AsyncExitStack, opening: Opening, command: Command, proceed: Proceed
    ) -> Link:
        try:
            return await self._begin(stack, opening, proceed)
        except ToolyardError as error:
            folder = npx_folder.find_broken(error.trace, command, os.path.expanduser("~"))
            if folder is None or not await self._clear(folder):
                raise
        name = opening.server.id.name
        log.warning("a broken npx folder was removed", extra={"server": name, "at": str(folder)})
        opening.on_installing(_mended(opening, folder))
        return await self._begin(stack, opening, proceed)

    async def _begin(self, stack: AsyncExitStack, opening: Opening, proceed: Proceed) -> Link:
        timer = asyncio.get_running_loop().call_later(self._sign, opening.on_installing, None)
        try:
            return await stack.enter_async_context(proceed(opening))
        finally:
            timer.cancel()

    async def _clear(self, folder: Path) -> bool:
        """Remove a folder once, as soon as nobody is installing into it."""
        if folder in self._cleared:
            return False
        for _ in range(LOOKS):
            if not await asyncio.to_thread(npx_folder.is_in_use, folder, self._quiet):
                self._cleared.add(folder)
                return await asyncio.to_thread(npx_folder.clear, folder)
            await asyncio.sleep(LOOK_SECONDS)
        return False


def _is_launcher(opening: Opening, command: Command) -> bool:
    return is_here(opening.server.placement.executor) and may_fetch(command.argv)


def _mended(opening: Opening, folder: Path) -> Problem:
    name = opening.server.id.name
    return Problem(
        ProblemCode.NPX_BROKEN,
        f"npx had half a package for {name!r}: {folder} was removed, and is installed again",
        "nothing is to be done, unless it fails again",
        subject=str(opening.server.id),
    )
