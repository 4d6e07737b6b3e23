"""Apps defined and taken away again, from any door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from toolyard.board import NOTICE_SECONDS
from toolyard.core.apps import App, read_app
from toolyard.core.errors import NotOursError
from toolyard.hub import Hub
from toolyard.records.folder import FolderRecords
from toolyard.stores.apps import completed, remove_app


class AppOrders:
    """What people order about apps; each order says whether the hub has seen it already."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def put(self, name: str, fields: Mapping[str, object]) -> bool:
        """Define an app, or define it anew; what `fields` cannot say stays as it is.

        Raises:
            ConfigError: It cannot be used.
            StoreError: It cannot be written.
        """
        app = await asyncio.to_thread(self._put, read_app({**fields, "name": name}))
        return await self._noticed(lambda: self._seen(name) == app)

    def _put(self, app: App) -> App:
        whole = completed(self._records, app)
        self._records.write(app.name, whole)
        return whole

    async def remove(self, name: str) -> bool:
        """Take away a definition of the user.

        Raises:
            NotOursError: It comes with Toolyard.
            UnknownNameError: There is none of that name.
            StoreError: It cannot be deleted.
        """
        if name in self._hub.scans and name not in self._records.names():
            hint = "have it left alone with a setting of its own, see the how-to of apps"
            raise NotOursError(f"the app {name!r} comes with toolyard", hint)
        before = self._seen(name)
        await asyncio.to_thread(remove_app, self._records, name)
        return await self._noticed(lambda: self._seen(name) != before)

    @property
    def _records(self) -> FolderRecords[App]:
        return self._hub.apps.records

    def _seen(self, name: str) -> App | None:
        scan = self._hub.scans.get(name)
        return scan.watch.app if scan is not None else None

    async def _noticed(self, holds: Callable[[], bool]) -> bool:
        """Wait until the scans are as ordered; definitions of apps are not on the picture."""
        try:
            async with asyncio.timeout(NOTICE_SECONDS):
                while not holds():
                    await self._hub.apps.wait_followed()
        except TimeoutError:
            return False
        return True
