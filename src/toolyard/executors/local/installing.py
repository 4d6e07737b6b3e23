"""Installs a package the way its launcher would have, but once, to stay, and out of the way."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from toolyard.core.errors import StartError, StoreError
from toolyard.core.model import Command
from toolyard.core.packages import Package
from toolyard.core.placement import Run
from toolyard.executors.local.environment import environment
from toolyard.executors.local.executor import Local
from toolyard.records.files import read_bounded, write_atomic

LOG: Final = "package installs"
"""Under which name its words are kept; no server can be called so."""
INSTALL_SECONDS: Final = 600.0
_NICE: Final = ("nice", "-n", "10")
_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installer made."""

    version: str
    program: str


async def install(
    local: Local, package: Package, command: Command, room: Path, *, fresh: bool = False
) -> Installed:
    """Install a package into `room`, with the environment of the command that is to use it.

    Scripts of packages run as they did for the launcher. Unless it is to be `fresh`, what the
    launcher has just downloaded will do.

    Raises:
        StartError: It did not work.
        StoreError: The room cannot be written to.
    """
    if package.kind == "npm":
        # Without this, npm might take a folder further up for the project to change.
        await asyncio.to_thread(write_atomic, room / "package.json", b'{"private": true}\n')
    argv, env = _order(package, command, room, fresh=fresh)
    await _carry_out(local, package, Command((*_gently(), *argv), env, str(room)))
    return await asyncio.to_thread(_npm_made if package.kind == "npm" else _uv_made, package, room)


def is_at_hand(package: Package, cwd: str | None) -> bool:
    """Whether the launcher would use what is in the folder of the server, and fetch nothing."""
    if package.kind != "npm":
        return False
    start = Path(cwd or os.getcwd())
    modules = (each / "node_modules" for each in (start, *start.parents))
    return any(
        (each / package.name).exists() or (each / ".bin" / _known_for(package)).exists()
        for each in modules
    )


def path_with(program: str, command: Command) -> str:
    """The PATH a launcher would have given: the programs beside it first."""
    return os.pathsep.join((os.path.dirname(program), environment(command.env)["PATH"]))


def _order(
    package: Package, command: Command, room: Path, *, fresh: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    if package.kind == "npm":
        npm = (_beside(command, "npm"), "install", "--prefix", str(room), "--no-audit", "--no-fund")
        ways = ("--loglevel=error", "--prefer-online" if fresh else "--prefer-offline")
        return (*npm, *ways, "--", package.spec), command.env
    uv = (_beside(command, "uv"), "tool", "install", "--compile-bytecode")
    renewed = ("--refresh",) if fresh else ()
    python = ("--python", package.python) if package.python else ()
    extras = (word for each in package.extras for word in ("--with", each))
    places = (("UV_TOOL_DIR", str(room / "tools")), ("UV_TOOL_BIN_DIR", str(room / "bin")))
    return (*uv, *renewed, *python, *extras, "--", package.spec), (*command.env, *places)


def _beside(command: Command, name: str) -> str:
    """The installer that came with the launcher."""
    folder = os.path.dirname(command.argv[0])
    return os.path.abspath(os.path.join(command.cwd or "", folder, name)) if folder else name


def _gently() -> tuple[str, ...]:
    return _NICE if shutil.which(_NICE[0]) is not None else ()


async def _carry_out(local: Local, package: Package, command: Command) -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def end(why: str) -> None:
        if not ended.done():
            ended.set_result(why)

    try:
        async with asyncio.timeout(INSTALL_SECONDS), local.start(Run(LOG, command)) as child:
            child.connect(lambda _: None, end)
            child.close_input()  # nobody is there to be asked
            why, words = await ended, child.stderr
    except TimeoutError:
        why, words = f"took longer than {INSTALL_SECONDS:g} s", ()
    if why != "exited with code 0":
        said = f": {' | '.join(words[-_WORDS:])}" if words else ""
        hint = "run it by hand to see what is wrong"
        raise StartError(f"the installer of {package.spec!r} {why}{said}", hint)


def _npm_made(package: Package, room: Path) -> Installed:
    modules = room / "node_modules"
    try:
        said = msgspec.json.decode(read_bounded(modules / package.name / "package.json"))
        version, bins = str(said["version"]), said.get("bin")
    except (FileNotFoundError, StoreError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise _nothing(package) from error
    name = package.binary or _chosen(package, bins)
    return Installed(version, _program(package, modules / ".bin" / name))


def _chosen(package: Package, bins: Any) -> str:
    """The one program of a package, or the one that is called like it; as npx chooses."""
    names = list(bins) if isinstance(bins, dict) else []
    return str(names[0]) if len(names) == 1 else _known_for(package)


def _known_for(package: Package) -> str:
    return package.binary or package.name.rpartition("/")[2]


def _uv_made(package: Package, room: Path) -> Installed:
    wanted = _normal(package.name)
    for found in room.glob("tools/*/lib/*/site-packages/*.dist-info"):
        name, _, version = found.name.removesuffix(".dist-info").rpartition("-")
        if _normal(name) == wanted:
            home = room / "tools" / found.relative_to(room / "tools").parts[0]
            return Installed(version, _program(package, home / "bin" / package.binary))
    raise _nothing(package)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _program(package: Package, path: Path) -> str:
    if not os.access(path, os.X_OK):
        raise StartError(
            f"{package.spec!r} was installed, but has no program {path.name!r}",
            "its launcher goes on being used",
        )
    return str(path)


def _nothing(package: Package) -> StartError:
    text = f"the installer of {package.spec!r} left no such package"
    return StartError(text, "its launcher goes on being used")
