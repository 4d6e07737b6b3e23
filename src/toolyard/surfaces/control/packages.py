"""Installed packages of servers, over the control API."""

from __future__ import annotations

from typing import Any

import msgspec

from toolyard.hub.packages import PackageRow, Packages
from toolyard.operation import Done
from toolyard.surfaces.control.api import Call, Operation

TOP = "/api/v1/packages"
ONE = "/api/v1/packages/{name}"


class PackageList(msgspec.Struct, frozen=True):
    """All of them, and whether they are used."""

    on: bool
    packages: list[PackageRow]


class PackagesDoor:
    """Questions and orders about installed packages."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "packages"}
        gone: dict[str, Any] = {**tag, "errors": (404,)}
        anew: dict[str, Any] = {**tag, "errors": (404, 502)}
        return [
            Operation("GET", TOP, "What is installed for servers", self._list, PackageList, **tag),
            Operation("POST", f"{ONE}/update", "Install it anew", self._update, PackageRow, **anew),
            Operation("DELETE", ONE, "Remove it", self._remove, Done, **gone),
        ]

    async def _list(self, call: Call) -> PackageList:
        return PackageList(self._packages.on, self._packages.rows())

    async def _update(self, call: Call) -> PackageRow:
        return self._packages.row(await self._packages.update(call.path["name"]))

    async def _remove(self, call: Call) -> Done:
        await self._packages.remove(call.path["name"])
        return Done()
