"""The command that starts this very Toolyard again, however it was installed.

The same words in every process of one installation: the command line and the hub's page must
write the same entry.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

NAME: Final = "toolyard"
FLEETING: Final = (
    "toolyard runs from uv's cache, so clients start it with uvx; for a path that stays, run:"
    " uv tool install toolyard, and connect them again"
)
_CACHE: Final = re.compile(r"(?:archive|environments|builds)-v\d+")
"""The folders of uv's cache that hold environments."""


@dataclass(frozen=True, slots=True)
class OwnInstallation:
    """The place of a Toolyard, and its origin."""

    python: str
    script: str = ""
    """Its command; empty if it has none, because it runs from its sources."""
    origin: str = ""
    """The address of the package; empty if it has it from an index."""
    uvx: str = "uvx"

    @property
    def is_fleeting(self) -> bool:
        """True if it may be gone tomorrow."""
        return any(_CACHE.fullmatch(part) for part in Path(self.python).parts)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that start it, wherever a client runs."""
        if self.is_fleeting:
            return (self.uvx, *(("--from", self.origin) if self.origin else ()), NAME)
        return (self.script,) if self.script else (self.python, "-P", "-m", NAME)


def this_installation(env: Mapping[str, str] = os.environ) -> OwnInstallation:
    """The one this process runs from."""
    try:
        package = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return OwnInstallation(sys.executable)
    return OwnInstallation(sys.executable, _script(package), _origin(package), _uvx(env))


def fleeting_note() -> str:
    """The note for those who run from a cache; empty for all others."""
    return FLEETING if this_installation().is_fleeting else ""


def _script(package: metadata.Distribution) -> str:
    """The command that was installed with the package."""
    for file in package.files or ():
        if file.name in (NAME, f"{NAME}.exe") and file.parent.name in ("bin", "Scripts"):
            path = os.path.abspath(str(package.locate_file(file)))
            return path if os.access(path, os.X_OK) else ""
    return ""


def _origin(package: metadata.Distribution) -> str:
    """The address it was installed from, as installers note it."""
    try:
        return str(json.loads(package.read_text("direct_url.json") or "{}").get("url", ""))
    except ValueError:
        return ""


def _uvx(env: Mapping[str, str]) -> str:
    """The full path of uvx, because clients often run with a short PATH."""
    beside = Path(env.get("UV", "")).with_name("uvx") if env.get("UV") else None
    if beside and os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which("uvx", path=env.get("PATH")) or "uvx"
