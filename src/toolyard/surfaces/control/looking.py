"""What there is to read beside servers and tools: problems, settings, announced servers, apps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from toolyard.core.errors import ToolyardError
from toolyard.hub import Hub
from toolyard.settings import PREFIX, SETTINGS, Setting, Settings, read_settings
from toolyard.surfaces.control.api import Call, Operation, Reply
from toolyard.surfaces.control.rows import ProblemList, ProblemRow, ServerRow

Origin = Literal["default", "environment", "flag"]


class SettingRow(msgspec.Struct):
    """One setting of the running hub; that of a secret is not shown."""

    name: str
    value: Any
    origin: Origin
    variable: str
    text: str


class SettingList(msgspec.Struct):
    """Every setting of the running hub."""

    settings: list[SettingRow]


class Announced(msgspec.Struct):
    """The servers that announced themselves, and what is wrong with announcements."""

    servers: list[ServerRow]
    problems: list[ProblemRow]


class AppList(msgspec.Struct):
    """All that is known of every app."""

    apps: list[dict[str, Any]]


class LookingDoor:
    """Questions about the rest of the yard."""

    def __init__(self, hub: Hub, settings: Settings) -> None:
        self._hub = hub
        self._settings = settings

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        apps, app = "/api/v1/apps", dict[str, Any]
        one = f"{apps}/{{name}}"
        return [
            Operation("GET", "/api/v1/problems", "All trouble", self._problems, ProblemList),
            Operation("GET", "/api/v1/settings", "How it was started", self._read, SettingList),
            Operation(
                "GET", "/api/v1/announced", "Who announced itself", self._announced, Announced
            ),
            Operation("GET", apps, "All apps", self._apps, AppList, tag="apps"),
            Operation("GET", one, "One app", self._app, app, tag="apps"),
            Operation("POST", f"{one}/scan", "Look for it now", self._scan, app, tag="apps"),
        ]

    async def _problems(self, call: Call) -> Reply:
        status = self._hub.status()
        body = {"revision": status["revision"], "problems": status["problems"]}
        return Reply(body, etag=str(status["revision"]))

    async def _read(self, call: Call) -> SettingList:
        return SettingList([_row(each, self._settings, os.environ) for each in SETTINGS])

    async def _announced(self, call: Call) -> dict[str, Any]:
        status = self._hub.status()
        state = self._hub.snapshot.sources.get("announced")
        found = [*state.report.problems, state.problem] if state is not None else []
        problems = [
            ProblemRow(each.code, each.text, each.hint, each.subject)
            for each in found
            if each is not None
        ]
        servers = [each for each in status["servers"] if each["source"] == "announced"]
        return {"servers": servers, "problems": problems}

    async def _apps(self, call: Call) -> AppList:
        return AppList([self._hub.app_status(name) for name in self._hub.scans])

    async def _app(self, call: Call) -> dict[str, Any]:
        return self._hub.app_status(call.path["name"])

    async def _scan(self, call: Call) -> dict[str, Any]:
        name = call.path["name"]
        await self._hub.scan(name).refresh()
        return self._hub.app_status(name)


def _row(setting: Setting, settings: Settings, env: Mapping[str, str]) -> SettingRow:
    value = getattr(settings, setting.name)
    origin = _origin(setting, value, env)
    shown = None if setting.name == "token" else _shown(value)
    return SettingRow(setting.name, shown, origin, setting.variable, setting.text)


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, int | float | str | None) else str(value)


def _origin(setting: Setting, value: Any, env: Mapping[str, str]) -> Origin:
    """Where a value came from: a flag beats the environment, which beats the default."""
    written = env.get(setting.variable, "")
    if written and value == _given({setting.variable: written}, setting, env):
        return "environment"
    return "default" if value == _given({}, setting, env) else "flag"


def _given(told: Mapping[str, str], setting: Setting, env: Mapping[str, str]) -> Any:
    """What a setting is with only this told; the places of the system count as defaults."""
    places = {k: v for k, v in env.items() if not k.startswith(PREFIX) or k == "TOOLYARD_HOME"}
    try:
        return getattr(read_settings({}, {**places, **told}), setting.name)
    except ToolyardError:
        return None
