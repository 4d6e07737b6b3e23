"""This very Toolyard: how it was installed, and the commands that start it again.

The words for clients are the same in every process of one installation: the command line and the
hub's page must write the same entry.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import Distribution

NAME: Final = "toolyard"
GONE: Final = "the hub's own files are gone, so it can load nothing new"
REPLACED: Final = "the hub's own files were replaced since it started, so it can load nothing new"
GONE_HINT: Final = "run: toolyard restart"
_CACHE: Final = re.compile(r"(?:archive|environments|builds)-v\d+")
"""The folders of uv's cache that hold environments."""
_NEEDED_FOR: Final = re.compile(r"""\s*([^;]+?)\s*;.*\bextra\s*==\s*["']([^"']+)["']""")


class Installer(StrEnum):
    """The program that installed a Toolyard."""

    UVX = "uvx"
    UV_TOOL = "uv tool"
    PIPX = "pipx"
    PIP = "pip"


def find_installer(prefix: Path) -> Installer:
    """Return what made the environment at `prefix`, by what it left there."""
    if any(_CACHE.fullmatch(part) for part in prefix.parts):
        return Installer.UVX
    if (prefix / "uv-receipt.toml").is_file():
        return Installer.UV_TOOL
    if (prefix / "pipx_metadata.json").is_file():
        return Installer.PIPX
    return Installer.PIP


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
    def installer(self) -> Installer:
        """The program that installed it."""
        return find_installer(Path(self.python).parent.parent)

    @property
    def is_fleeting(self) -> bool:
        """True if it may be gone tomorrow."""
        return self.installer is Installer.UVX

    @property
    def permanent(self) -> str:
        """The command that installs it for good, if it is fleeting; else empty."""
        source = shlex.quote(self.origin or NAME)
        return f"uv tool install {source}" if self.is_fleeting else ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that start it, wherever a client runs."""
        if self.is_fleeting:
            return (self.uvx, *(("--from", self.origin) if self.origin else ()), NAME)
        return (self.script,) if self.script else (self.python, "-P", "-m", NAME)


def this_installation(env: Mapping[str, str] = os.environ) -> OwnInstallation:
    """The one this process runs from."""
    from importlib import metadata  # slow to import, and most commands do without

    try:
        package = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return OwnInstallation(sys.executable)
    return OwnInstallation(sys.executable, _script(package), _origin(package), _uvx(env))


def fleeting_note() -> str:
    """The note for those who run from a cache; empty for all others."""
    command = this_installation().permanent
    if not command:
        return ""
    return (
        "toolyard runs from uv's cache, so clients start it with uvx;"
        f" for a path that stays, run: {command}, and connect them again"
    )


def typed_command(invoked: str) -> str:
    """Return how a person types our command where it was started as `invoked`."""
    if find_installer(Path(sys.prefix)) is Installer.UVX:
        _, *rest = this_installation().words
        return shlex.join(("uvx", *rest))
    if os.path.basename(invoked) != NAME:
        return NAME  # as a module, or from another program
    on_path = shutil.which(NAME)
    is_ours = on_path is not None and os.path.realpath(on_path) == os.path.realpath(invoked)
    return NAME if is_ours else shlex.quote(invoked)


def is_gone() -> bool:
    """Tell whether the files that this process was loaded from are gone."""
    return not os.path.exists(__file__)


def why_not_loadable() -> str:
    """Tell why this process can load no more of its own code; nothing if it can.

    Code of a newer Toolyard does not fit what is loaded, so an upgrade counts as well.
    """
    state = _own_state()
    if state == _LOADED:
        return ""
    return GONE if state is None else REPLACED


def _own_state() -> tuple[int, int] | None:
    """This very file as it is on disk, which stands for all; None if it is gone."""
    try:
        own = os.stat(__file__)
    except OSError:
        return None
    return own.st_ino, own.st_mtime_ns


_LOADED: Final = _own_state()


def how_to_add(*extras: str, prefix: Path | None = None) -> str:
    """Give the command that adds these extras to the Toolyard that runs, or the one at `prefix`."""
    place = prefix or Path(sys.prefix)
    wanted = f"'toolyard[{','.join(extras)}]'"
    installer = find_installer(place)
    if installer is Installer.PIPX:
        return "install it: pipx inject toolyard " + " ".join(_packages(extras))
    if installer is Installer.UV_TOOL:
        # It installs anew, with what is named and nothing else.
        every = ",".join(dict.fromkeys((*_installed_extras(place), *extras)))
        return f"install it: uv tool install 'toolyard[{every}]'"
    if installer is Installer.UVX:
        return f"start it as: uvx --from {wanted} toolyard, or install it: uv tool install {wanted}"
    return f"install it: pip install {wanted}"


def _script(package: Distribution) -> str:
    """The command that was installed with the package."""
    for file in package.files or ():
        if file.name in (NAME, f"{NAME}.exe") and file.parent.name in ("bin", "Scripts"):
            path = os.path.abspath(str(package.locate_file(file)))
            return path if os.access(path, os.X_OK) else ""
    return ""


def _origin(package: Distribution) -> str:
    """The address it was installed from, as installers note it."""
    import json

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


def _packages(extras: tuple[str, ...]) -> list[str]:
    """What the extras stand for: pipx adds packages, not extras."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("toolyard") or []
    except PackageNotFoundError:
        lines = []
    needs = [match for line in lines if (match := _NEEDED_FOR.match(line))]
    return [f"'{need[1]}'" for need in needs if need[2] in extras] or [*extras]


def _installed_extras(place: Path) -> list[str]:
    """The extras that `uv tool` was told of before."""
    import tomllib

    try:
        receipt = tomllib.loads((place / "uv-receipt.toml").read_text("utf-8"))
        named = [need for need in receipt["tool"]["requirements"] if need["name"] == NAME]
        return [str(extra) for need in named for extra in need.get("extras", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
