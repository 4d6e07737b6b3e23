"""The service as systemd and launchd want it written, and the mark of what we wrote ourselves."""

from __future__ import annotations

import hashlib
import os
import plistlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolyard.core.errors import ConfigError
from toolyard.settings import HOME, SETTINGS, XDG_HOMES

_STOP_SECONDS: Final = 45
"""More than a hub takes to let calls finish and to stop its servers."""
_USELESS: Final = "6 8"
"""Exit codes after which another start is no use: the configuration, and another hub."""
_MARK: Final = re.compile(rb"(?:# |<!-- )toolyard sha256 ([0-9a-f]{64})(?: -->)?\n\Z")

UNIT_HEAD: Final = """\
# Written by: toolyard service install
# Add settings of your own with: systemctl --user edit toolyard
"""


class UnitState(StrEnum):
    """The file of the service, compared with what would be written."""

    ABSENT = "absent"
    CURRENT = "current"
    OLDER = "older"
    """We wrote it, with another text."""
    EDITED = "edited"
    """Somebody else wrote it, or changed it."""


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """The hub as a service: the words that start it, its environment and its log."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    log: str
    """The file for its output, where the supervisor has no log of its own."""


def service_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of a terminal that a hub needs to be the same one.

    No secrets: others can read the file.
    """
    settings = [setting.variable for setting in SETTINGS if not setting.is_secret]
    chosen = {name: env[name] for name in (*XDG_HOMES, HOME, *settings) if env.get(name)}
    return {"PATH": _search_path(env.get("PATH", os.defpath)), **chosen}


def secret_variables(env: Mapping[str, str]) -> list[str]:
    """The variables of a terminal that the service does not get, because they are secrets."""
    settings = (setting for setting in SETTINGS if setting.is_secret)
    return [setting.variable for setting in settings if env.get(setting.variable)]


def write_unit(spec: UnitSpec) -> str:
    """Write a unit for systemd.

    Only the hub is told to stop, so that its servers can finish the calls under way.

    Raises:
        ConfigError: A word or a value cannot be written.
    """
    variables = [
        f"Environment={_quote(f'{name}={value}')}" for name, value in spec.environment.items()
    ]
    lines = [
        "[Unit]",
        "Description=Toolyard",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(_quote(word).replace('$', '$$') for word in spec.words)}",
        *variables,
        "KillMode=mixed",
        f"TimeoutStopSec={_STOP_SECONDS}",
        "Restart=on-failure",
        f"RestartPreventExitStatus={_USELESS}",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return _marked(UNIT_HEAD + "\n".join(lines) + "\n", "# {}")


def write_plist(spec: UnitSpec) -> str:
    """Write a property list for launchd."""
    fields = {
        "Label": "toolyard",
        "ProgramArguments": list(spec.words),
        "EnvironmentVariables": dict(spec.environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": _STOP_SECONDS,
        "StandardOutPath": spec.log,
        "StandardErrorPath": spec.log,
    }
    return _marked(plistlib.dumps(fields, sort_keys=False).decode(), "<!-- {} -->")


def compare(present: bytes | None, text: str) -> UnitState:
    """Compare the file that is there with the text to write."""
    if present is None:
        return UnitState.ABSENT
    if present == text.encode():
        return UnitState.CURRENT
    return UnitState.OLDER if is_unchanged(present) else UnitState.EDITED


def is_unchanged(data: bytes) -> bool:
    """Return whether we wrote a file, and nobody has changed it since."""
    mark = _MARK.search(data)
    return mark is not None and mark[1].decode() == _digest(data[: mark.start()])


def _marked(text: str, comment: str) -> str:
    return text + comment.format(f"toolyard sha256 {_digest(text.encode())}") + "\n"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _quote(word: str) -> str:
    """Write a word so that systemd reads it as it is."""
    if any(ord(character) < 0x20 for character in word):
        raise ConfigError(
            f"{word!r} cannot be part of a service", "leave control characters out of it"
        )
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if re.fullmatch(r"[\w@%+=:,./-]+", escaped, re.ASCII) else f'"{escaped}"'


def _search_path(path: str) -> str:
    """A search path without what depends on the current directory."""
    parts = [part for part in path.split(os.pathsep) if os.path.isabs(part)]
    return os.pathsep.join(dict.fromkeys(parts))
