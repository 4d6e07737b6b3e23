"""Installed packages of servers, over the control API."""

from __future__ import annotations

from typing import Any

import msgspec

from toolyard.hub.packages import Packages
from toolyard.operation import Done
from toolyard.surfaces.control.api import Call, Operation

TOP = "/api/v1/packages"
ONE = "/api/v1/packages/{name}"


class PackageRow(msgspec.Struct):
    """A package that was installed so that its servers start without their launcher."""

    name: str
    """What orders call it; the name of a server does as well."""
    servers: list[str]
    kind: str
    """`npm` or `pypi`."""
    package: str
    spec: str
    """What the declared command asks for."""
    version: str
    """What is installed, and stays until an update is ordered."""
    since: float
    """Seconds since the epoch."""
    size: int
    """Bytes."""
    program: str
    path: str
    era: str
    fault: str
    """Why it is not used, and its launcher is."""
    running: int
    """How many processes were started from it."""


class PackageList(msgspec.Struct):
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

    async def _list(self, call: Call) -> dict[str, Any]:
        return {"on": self._packages.on, "packages": self._packages.rows()}

    async def _update(self, call: Call) -> dict[str, Any]:
        return self._packages.row(await self._packages.update(call.path["name"]))

    async def _remove(self, call: Call) -> Done:
        await self._packages.remove(call.path["name"])
        return Done()
