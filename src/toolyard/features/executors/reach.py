"""The way back from executors to the hub."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

from toolyard.board import Board
from toolyard.core.errors import StartError
from toolyard.links.sites import Sites

REACH_SECONDS: Final = 15.0


class ExecutorReach:
    """The hub's address as each executor sees it, once somebody asked."""

    def __init__(self, board: Board, sites: Sites, url: str) -> None:
        """Look for ways to the hub at `url`."""
        self._board = board
        self._sites = sites
        self._url = url
        self._reached: dict[str, str] = {}
        self.out_of_reach: dict[str, str] = {}
        """The reason why the hub cannot be reached from a place, by its name."""

    @property
    def port(self) -> int:
        """The port of the hub here."""
        return urlsplit(self._url).port or 0

    async def prepare(self, name: str) -> None:
        """Open the way from a place back to the hub, so that plans for it are true."""
        if name not in self._board.snapshot.roster.sites or name in self._reached:
            return
        try:
            async with asyncio.timeout(REACH_SECONDS):
                self._reached[name] = await self._sites.reach(name, self.port)
            self.out_of_reach.pop(name, None)
        except TimeoutError:
            self.out_of_reach[name] = f"no way was found within {REACH_SECONDS:g} s"
        except StartError as error:
            self.out_of_reach[name] = f"{error}; {error.hint}"

    def forget(self, name: str) -> None:
        """Look anew when somebody asks next: the place is another now."""
        self._reached.pop(name, None)

    def reach_of(self, name: str) -> tuple[str, str]:
        """The hub's address as a place sees it, and the host that stands for our loopback there.

        Empty if it cannot be reached, or nobody looked yet.
        """
        if name in self._board.snapshot.roster.sites:
            place = self._reached.get(name, "")
            return (f"http://{place}" if place else ""), ""
        if name == "docker":
            # The name that container engines give the machine they run on.
            return f"http://host.docker.internal:{self.port}", "host.docker.internal"
        return self._url, ""
