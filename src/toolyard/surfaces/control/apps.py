"""Apps over the control API: defined, taken away, and their programs found and started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from toolyard.core.apps import MISSES
from toolyard.core.errors import ConfigError
from toolyard.executors.local.detached import InstalledApp, find_installed, launch
from toolyard.hub import Hub
from toolyard.hub.apps import AppOrders
from toolyard.operation import Ordered
from toolyard.surfaces.control.api import Call, Operation

ONE = "/api/v1/apps/{name}"


class InstalledRow(msgspec.Struct, frozen=True):
    """A program of an app that is on this machine, and what would start it."""

    label: str
    variant: str
    place: str
    command: list[str]


class InstalledList(msgspec.Struct, frozen=True):
    """The programs of an app that are on this machine."""

    installed: list[InstalledRow]


class LaunchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of its programs to start, by label."""

    label: str


class AppBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An app: its variants and their ports, and how its MCP server is told from others."""

    variants: dict[str, int]
    title: str = ""
    match: str = ""
    """Part of what its MCP server calls itself; its name, if nothing is said."""
    path: str = "/mcp"
    misses: int = MISSES
    """Scans in a row that must miss a variant until it leaves."""


class AppsDoor:
    """Questions and orders about apps and their programs."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._orders = AppOrders(hub)

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "apps", "errors": (404,)}
        start: dict[str, Any] = {"tag": "apps", "body": LaunchBody, "errors": (404, 422, 502)}
        define: dict[str, Any] = {"tag": "apps", "body": AppBody, "errors": (422,)}
        remove: dict[str, Any] = {"tag": "apps", "errors": (404, 409)}
        say = "Which of its programs are here"
        return [
            Operation("PUT", ONE, "Define an app", self._put, Ordered, **define),
            Operation("DELETE", ONE, "Take it away", self._remove, Ordered, **remove),
            Operation("GET", f"{ONE}/installed", say, self._installed, InstalledList, **tag),
            Operation("POST", f"{ONE}/launch", "Start one", self._launch, InstalledRow, **start),
        ]

    async def _put(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._orders.put(name, msgspec.to_builtins(call.body)))

    async def _remove(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._orders.remove(name))

    async def _installed(self, call: Call) -> InstalledList:
        return InstalledList([_row(each) for each in await self._find(call.path["name"])])

    async def _launch(self, call: Call) -> InstalledRow:
        name, wanted = call.path["name"], call.body.label
        found = await self._find(name)
        for each in found:
            if each.install.label == wanted:
                await asyncio.to_thread(launch, each, self._env)
                return _row(each)
        labels = ", ".join(each.install.label for each in found) or "none"
        raise ConfigError(f"{wanted[:80]!r} of {name!r} is not installed", f"there are: {labels}")

    async def _find(self, name: str) -> tuple[InstalledApp, ...]:
        app = self._hub.scan(name).watch.app
        return await asyncio.to_thread(find_installed, app, self._env)

    @property
    def _env(self) -> Mapping[str, str]:
        return self._hub.apps.env


def _row(each: InstalledApp) -> InstalledRow:
    install = each.install
    return InstalledRow(install.label, install.variant, each.place, list(each.argv))
