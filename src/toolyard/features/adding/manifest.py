"""The manifest of a bundle (MCPB): the server it holds, and the values it asks for.

https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md
"""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.server_entries import read_entry
from toolyard.features.adding.model import (
    NumberRange,
    Proposal,
    WantedValue,
    secret_name,
    usable_name,
)
from toolyard.records.jsonc import parse

_HINT: Final = "ask its author for a bundle that follows the MCPB specification"
_PLACEHOLDER: Final = re.compile(r"\$\{([^}]*)\}")
_CONFIG: Final = "user_config."
_FOLDERS: Final = {"DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}
_LINKS: Final = ("homepage", "documentation", "support")
LONGEST_TEXT: Final = 10_000


@dataclass(frozen=True, slots=True)
class BundlePlace:
    """All that the words of a manifest stand for on this machine."""

    folder: Path
    """The folder into which the bundle is unpacked."""
    home: Path
    platform: str

    def variable(self, name: str) -> str | None:
        """Return what a variable of the specification stands for; None if there is no such."""
        if name in ("/", "pathSeparator"):
            return os.sep
        places = {"__dirname": self.folder, "HOME": self.home}
        places |= {key: self.home / folder for key, folder in _FOLDERS.items()}
        return str(places[name]) if name in places else None


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """The parts of a manifest that people are shown, and the server."""

    name: str
    version: str
    author: str
    description: str
    link: str
    entry_point: str
    """The file of the bundle that is run; empty if none is named."""
    is_binary: bool
    proposal: Proposal


def read_manifest(data: bytes, place: BundlePlace) -> BundleManifest:
    """Read the manifest of a bundle.

    Raises:
        ConfigError: It cannot be used, or not on this machine.
    """
    root = parse(data).root
    raw = root.plain() if root else None
    if not isinstance(raw, dict):
        raise ConfigError("the manifest of the bundle holds no object", _HINT)
    _check_platform(raw, place.platform)
    server = _object(raw.get("server"))
    name = usable_name(_text(raw, "name"), "bundle")
    wants = tuple(_wants(name, _object(raw.get("user_config")), place))
    entry = _entry(server, wants, place) | {"title": _text(raw, "display_name")}
    entry = {key: value for key, value in entry.items() if value}
    read_entry(entry)
    return BundleManifest(
        name,
        _text(raw, "version"),
        _text(_object(raw.get("author")), "name"),
        _text(raw, "description"),
        next(filter(None, (_text(raw, key) for key in _LINKS)), ""),
        _text(server, "entry_point"),
        server.get("type") == "binary",
        Proposal(name, entry, wants),
    )


def _check_platform(raw: JsonObject, platform: str) -> None:
    platforms = _object(raw.get("compatibility")).get("platforms")
    if isinstance(platforms, list) and platforms and platform not in platforms:
        listed = ", ".join(map(str, platforms))
        raise ConfigError(f"the bundle does not run on {platform}", f"it runs on: {listed}")


def _wants(server: str, options: JsonObject, place: BundlePlace) -> list[WantedValue]:
    return [_wanted(server, key, _object(raw), place) for key, raw in options.items()]


def _wanted(server: str, key: str, raw: JsonObject, place: BundlePlace) -> WantedValue:
    default = raw.get("default")
    defaults = default if isinstance(default, list) else [] if default is None else [default]
    return WantedValue(
        key,
        f"${{{_CONFIG}{key}}}",
        secret_name(server, key),
        _text(raw, "title") or key,
        _text(raw, "description"),
        is_secret=raw.get("sensitive") is True,
        is_required=raw.get("required") is True,
        is_list=raw.get("multiple") is True,
        is_path=raw.get("type") in ("directory", "file"),
        default=tuple(_replaced(_scalar(item), place) for item in defaults),
        range=_range(raw) if raw.get("type") == "number" else None,
    )


def _range(raw: JsonObject) -> NumberRange:
    return NumberRange(_bound(raw.get("min"), -math.inf), _bound(raw.get("max"), math.inf))


def _bound(value: Any, default: float) -> float:
    is_number = isinstance(value, int | float) and abs(value) < sys.float_info.max
    return float(value) if is_number else default


def _entry(server: JsonObject, wants: tuple[WantedValue, ...], place: BundlePlace) -> JsonObject:
    """The entry that a manifest means, with the placeholders of its values left in."""
    config = _object(server.get("mcp_config"))
    config |= _object(_object(config.get("platform_overrides")).get(place.platform))
    keys = tuple(value.key for value in wants)

    def text(value: Any) -> str:
        return _replaced(_scalar(value), place, keys, escape="$")

    command = text(config.get("command"))
    args = [text(arg) for arg in config.get("args") or []]
    if not command and server.get("type") == "uv":
        point = str(place.folder / _text(server, "entry_point"))
        command, args = "uv", ["run", "--directory", str(place.folder), point]
    if not command:
        raise ConfigError("the manifest does not say what to run", _HINT)
    env = {name: text(value) for name, value in _object(config.get("env")).items()}
    if server.get("type") == "binary" and not os.path.isabs(command):
        command = str(place.folder / command)
    return {"command": command, "args": args, "env": env, "cwd": str(place.folder)}


def _replaced(
    text: str, place: BundlePlace, keys: tuple[str, ...] = (), *, escape: str = ""
) -> str:
    """The text with variables replaced; what means nothing stays, with an `escape` before it."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith(_CONFIG) and name.removeprefix(_CONFIG) in keys:
            return match[0]
        value = place.variable(name)
        return value if value is not None else f"{escape}{match[0]}"

    return _PLACEHOLDER.sub(replace, text)


def _object(value: Any) -> JsonObject:
    return dict(value) if isinstance(value, dict) else {}


def _text(raw: JsonObject, key: str) -> str:
    value = raw.get(key)
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
