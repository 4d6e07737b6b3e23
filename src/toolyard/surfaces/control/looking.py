"""What there is to read beside servers and tools: problems, settings, announced servers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Entry, ServerId
from toolyard.hub import Hub
from toolyard.hub.rows import ProblemRow, problem_row
from toolyard.operation import OpenObject
from toolyard.settings import PREFIX, SETTINGS, Setting, Settings, read_settings
from toolyard.sources.announced import SOURCE, AnnouncedServer, transports_of
from toolyard.surfaces.control.api import Call, Operation, Reply

TEXT: Final = 2048
"""Characters of what an entry says that are shown."""
TRANSPORTS: Final = 16
Origin = Literal["default", "environment", "flag"]


Value = bool | int | float | str | list[str] | None


class SettingRow(msgspec.Struct, frozen=True):
    """One setting of the running hub; that of a secret is not shown."""

    name: str
    value: Value
    origin: Origin
    variable: str
    text: str


class SettingList(msgspec.Struct, frozen=True):
    """Every setting of the running hub."""

    settings: list[SettingRow]


class AnnouncedTransport(msgspec.Struct, frozen=True):
    """One way to reach a server that announced itself."""

    type: str
    url: str = ""


class AnnouncedRow(msgspec.Struct, frozen=True):
    """A server that announced itself, as it says; `status` and what follows, as the hub sees it."""

    id: str
    name: str
    file: str
    project: str
    url: str
    port: int | None
    transports: list[AnnouncedTransport]
    pid: int
    version: str
    started_at: str
    uptime_s: float | None
    heartbeat: str
    capabilities: OpenObject
    status: str
    """`waits` for one that is not offered; `problems` says why."""
    alias: str = ""
    tools: int = 0


class AnnouncedList(msgspec.Struct, frozen=True):
    """The servers that announced themselves, and what is wrong with announcements."""

    servers: list[AnnouncedRow]
    problems: list[ProblemRow]


class ProblemList(msgspec.Struct, frozen=True):
    """All trouble on the picture."""

    revision: int
    problems: list[ProblemRow]


class LookingDoor:
    """Questions about the rest of the yard."""

    def __init__(
        self, hub: Hub, settings: Settings, living: Callable[[], Mapping[str, AnnouncedServer]]
    ) -> None:
        self._hub = hub
        self._settings = settings
        self._living = living

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        return [
            Operation("GET", "/api/v1/problems", "All trouble", self._problems, ProblemList),
            Operation("GET", "/api/v1/settings", "How it was started", self._read, SettingList),
            Operation(
                "GET", "/api/v1/announced", "Who announced itself", self._announced, AnnouncedList
            ),
        ]

    async def _problems(self, call: Call) -> Reply:
        status = self._hub.status()
        return Reply(ProblemList(status.revision, status.problems), etag=str(status.revision))

    async def _read(self, call: Call) -> SettingList:
        return SettingList([_row(each, self._settings, os.environ) for each in SETTINGS])

    async def _announced(self, call: Call) -> AnnouncedList:
        entries = self._hub.snapshot.entries
        state = self._hub.snapshot.sources.get("announced")
        told = [*state.report.problems, state.problem] if state is not None else []
        problems = [problem_row(problem) for problem in told if problem is not None]
        now = time.time()
        servers = [
            _announced(name, found, entries.get(ServerId(name, SOURCE)), now)
            for name, found in self._living().items()
        ]
        return AnnouncedList(servers, problems)


def _announced(name: str, found: AnnouncedServer, entry: Entry | None, now: float) -> AnnouncedRow:
    said = found.entry
    ways = [
        AnnouncedTransport(_text(way, "type"), _text(way, "url"))
        for way in transports_of(said)[:TRANSPORTS]
    ]
    url = next((way.url for way in ways if way.url), "")
    pid, capabilities = said.get("pid"), said.get("capabilities")
    return AnnouncedRow(
        id=found.key[:TEXT],
        name=name,
        file=str(found.path),
        project=found.project,
        url=url,
        port=_port(url),
        transports=ways,
        pid=pid if isinstance(pid, int) else 0,
        version=_text(said, "version"),
        started_at=_text(said, "started_at"),
        uptime_s=_uptime(_text(said, "started_at"), now),
        heartbeat=_text(said, "heartbeat"),
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        status=entry.status.value if entry is not None else "waits",
        alias=entry.alias if entry is not None else "",
        tools=len(entry.offers.tools) if entry is not None else 0,
    )


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value[:TEXT] if isinstance(value, str) else ""


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _uptime(started: str, now: float) -> float | None:
    try:
        return max(0.0, round(now - datetime.fromisoformat(started).timestamp(), 1))
    except (ValueError, OverflowError):
        return None


def _row(setting: Setting, settings: Settings, env: Mapping[str, str]) -> SettingRow:
    value = getattr(settings, setting.name)
    origin = _origin(setting, value, env)
    shown = None if setting.name == "token" else _shown(value)
    return SettingRow(setting.name, shown, origin, setting.variable, setting.text)


def _shown(value: Any) -> Value:
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
