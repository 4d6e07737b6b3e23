"""The settings of the running hub, and where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from toolyard.core.errors import ToolyardError
from toolyard.settings import PREFIX, Setting, Settings, read_settings

Origin = Literal["default", "environment", "flag"]


Value = bool | int | float | str | list[str] | None


class SettingRow(msgspec.Struct, frozen=True):
    """One setting of the running hub; that of a secret is not shown."""

    name: str
    value: Value
    origin: Origin
    variable: str
    text: str
    unit: str = ""
    """What a number of it counts: `s`, `MB`, `bytes`, `days`, ..."""


class SettingList(msgspec.Struct, frozen=True):
    """Every setting of the running hub."""

    settings: list[SettingRow]


def setting_row(setting: Setting, settings: Settings, env: Mapping[str, str]) -> SettingRow:
    """Return a setting with its value and origin."""
    value = getattr(settings, setting.name)
    origin = _origin(setting, value, env)
    shown = None if setting.is_secret else _shown(value)
    return SettingRow(setting.name, shown, origin, setting.variable, setting.text, setting.unit)


def _shown(value: Any) -> Value:
    if isinstance(value, tuple):
        return list(value)
    if value is None:
        return ""
    return value if isinstance(value, int | float | str) else str(value)


def _origin(setting: Setting, value: Any, env: Mapping[str, str]) -> Origin:
    """The origin of a value: a flag beats the environment, which beats the default."""
    written = env.get(setting.variable, "")
    if written and value == _given({setting.variable: written}, setting, env):
        return "environment"
    return "default" if value == _given({}, setting, env) else "flag"


def _given(told: Mapping[str, str], setting: Setting, env: Mapping[str, str]) -> Any:
    """The value of a setting with only this told; the places of the system count as defaults."""
    places = {k: v for k, v in env.items() if not k.startswith(PREFIX) or k == "TOOLYARD_HOME"}
    try:
        return getattr(read_settings({}, {**places, **told}), setting.name)
    except ToolyardError:
        return None
