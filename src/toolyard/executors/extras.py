"""The command that adds an optional part of Toolyard, in the words of what installed it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from toolyard.installation import Installer, find_installer

_NEEDED_FOR: Final = re.compile(r"""\s*([^;]+?)\s*;.*\bextra\s*==\s*["']([^"']+)["']""")


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
        named = [each for each in receipt["tool"]["requirements"] if each["name"] == "toolyard"]
        return [str(extra) for each in named for extra in each.get("extras", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
