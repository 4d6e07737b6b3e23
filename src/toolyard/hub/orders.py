"""Orders that go around: written into a store, noticed by its source, seen on the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolyard.core.errors import NotOursError, TakenError
from toolyard.core.model import Server, ServerId, Snapshot
from toolyard.hub import Hub
from toolyard.stores.servers import SOURCE, ServersFile


class Orders:
    """What people order of the yard's files, from any door.

    Each order says whether its effect was seen on the picture before it returned.
    """

    def __init__(self, hub: Hub, servers: ServersFile) -> None:
        self._hub = hub
        self._servers = servers

    async def add_server(self, name: str, entry: Mapping[str, object]) -> bool:
        """Write a new server down.

        Raises:
            TakenError: There is one of that name.
            ConfigError, StoreError: It cannot be written down.
        """
        if ServerId(name, SOURCE) in self._hub.snapshot.entries:
            raise TakenError(f"there is a server '{name}' already", "change it, or choose a name")
        return await self._put(name, entry)

    async def change_server(self, alias: str, entry: Mapping[str, object]) -> bool:
        """Write down anew how a server is started or reached.

        Raises:
            UnknownNameError, NotOursError: It is not in the user's file.
            ConfigError, StoreError: It cannot be written down.
        """
        return await self._put(self._name(alias), entry)

    async def remove_server(self, alias: str) -> bool:
        """Take a server out of the file.

        Raises:
            UnknownNameError, NotOursError: It is not in the user's file.
            ConfigError, StoreError: The file cannot be changed.
        """
        name = self._name(alias)
        await asyncio.to_thread(self._servers.remove, name)
        id_ = ServerId(name, SOURCE)
        return await self._hub.board.wait_until(lambda snapshot: id_ not in snapshot.entries)

    async def enable_server(self, alias: str, enabled: bool) -> bool:
        """Switch a server on or off.

        Raises:
            UnknownNameError, NotOursError: It is not in the user's file.
            ConfigError, StoreError: The file cannot be changed.
        """
        name = self._name(alias)
        await asyncio.to_thread(self._servers.set_enabled, name, enabled)
        return await self._declared(name)

    async def _put(self, name: str, entry: Mapping[str, object]) -> bool:
        await asyncio.to_thread(self._servers.put, name, entry)
        return await self._declared(name)

    async def _declared(self, name: str) -> bool:
        """Whether the picture says of a server what the file does."""
        loaded = await asyncio.to_thread(self._servers.load)
        wanted = next((each for each in loaded.servers if each.id.name == name), None)
        if wanted is None:
            return False  # somebody else changed the file meanwhile

        def holds(snapshot: Snapshot) -> bool:
            entry = snapshot.entries.get(wanted.id)
            return entry is not None and _facts(entry.server) == _facts(wanted)

        return await self._hub.board.wait_until(holds)

    def _name(self, alias: str) -> str:
        """The name in the file of a server.

        Raises:
            UnknownNameError: There is no such server.
            NotOursError: It comes from elsewhere.
        """
        id_ = self._hub.entry(alias).server.id
        if id_.source != SOURCE:
            raise NotOursError(
                f"server {id_.name!r} is not in the servers file; {id_.source!r} declares it",
                "change it where it is declared",
            )
        return id_.name


def _facts(server: Server) -> Any:
    return server.endpoint, server.enabled, server.title, server.timeout
