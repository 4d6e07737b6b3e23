"""Servers of this machine that stopped listening are let go of, so that they can end.

A server that is told to stop closes its port, and then most wait until their clients have hung up.
The hub holds a stream to each, on which nothing tells of that; the kernel does.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakSet

from toolyard.links.link import Link
from toolyard.links.opening import Opening, Proceed

LOOK_SECONDS: Final = 1.0
DIAL_SECONDS: Final = 1.0
_HOSTS: Final = {"localhost": ("127.0.0.1", "::1")}
_NOBODY: Final = frozenset({errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.ENETUNREACH})
"""Errors that say that nobody is there, and nothing of our own trouble."""


class Departures:
    """Looks who still listens, while there are links to ports of this machine."""

    def __init__(self, read_ports: Callable[[], set[int] | None]) -> None:
        """Take what tells the ports somebody listens on; it may block, and give None: untold."""
        self._read_ports = read_ports
        self._links: set[Link] = set()
        self._opened = asyncio.Event()
        self._forwarded: WeakSet[Link] = WeakSet()
        """Links to ports that take connections although nobody is known to listen."""

    @asynccontextmanager
    async def watch_over(self, opening: Opening, proceed: Proceed) -> AsyncIterator[Link]:
        """Step: a link to a port of this machine is looked after while it is open."""
        async with proceed(opening) as link:
            if link.local is not None:
                self._links.add(link)
                self._opened.set()
            try:
                yield link
            finally:
                self._links.discard(link)

    async def run(self) -> None:
        """Look until cancelled; not at all where the kernel does not tell."""
        while True:
            await self._opened.wait()
            await asyncio.sleep(LOOK_SECONDS)
            if not self._links:
                self._opened.clear()
                continue
            ports = await asyncio.to_thread(self._read_ports)
            if ports is None:
                return
            await self._look(list(self._links), ports)

    async def _look(self, links: list[Link], ports: set[int]) -> None:
        for link in links:
            assert link.local is not None
            if link.local[1] in ports or link in self._forwarded:
                continue
            accepts = await _accepts(*link.local)
            if accepts:
                self._forwarded.add(link)
            elif accepts is False and link.calls == 0:  # else the server finishes them first
                link.lose("does not listen any more")


async def _accepts(host: str, port: int) -> bool | None:
    """Return whether a connection can be had, or None if that cannot be told.

    The kernel may forward a port, that of a container for one, without a listener here.
    """
    outcomes = [await _dial(address, port) for address in _HOSTS.get(host, (host,))]
    return True if True in outcomes else None if None in outcomes else False


async def _dial(host: str, port: int) -> bool | None:
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return False if error.errno in _NOBODY else None
    writer.close()
    return True
