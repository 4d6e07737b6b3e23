"""Apps over the control API: which of their programs are on this machine, and starting one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from toolyard.core.errors import ConfigError
from toolyard.executors.detached import Installed, find_installed, launch
from toolyard.hub import Hub
from toolyard.surfaces.control.api import Call, Operation

ONE = "/api/v1/apps/{name}"


class InstalledRow(msgspec.Struct):
    """A program of an app that is on this machine, and what would start it."""

    label: str
    variant: str
    place: str
    command: list[str]


class InstalledList(msgspec.Struct):
    """The programs of an app that are on this machine."""

    installed: list[InstalledRow]


class LaunchBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which of its programs to start, by label."""

    label: str


class AppsDoor:
    """Questions and orders about the programs of apps."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "apps", "errors": (404,)}
        start: dict[str, Any] = {"tag": "apps", "body": LaunchBody, "errors": (404, 422, 502)}
        say = "Which of its programs are here"
        return [
            Operation("GET", f"{ONE}/installed", say, self._installed, InstalledList, **tag),
            Operation("POST", f"{ONE}/launch", "Start one", self._launch, InstalledRow, **start),
        ]

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

    async def _find(self, name: str) -> tuple[Installed, ...]:
        app = self._hub.scan(name).watch.app
        return await asyncio.to_thread(find_installed, app, self._env)

    @property
    def _env(self) -> Mapping[str, str]:
        return self._hub.apps.env if self._hub.apps is not None else {}


def _row(each: Installed) -> InstalledRow:
    install = each.install
    return InstalledRow(install.label, install.variant, each.place, list(each.argv))
