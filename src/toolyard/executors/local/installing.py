"""Installs the package of a launcher once and for good, in a folder of its own."""

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
from toolyard.core.last_words import explain
from toolyard.core.model import Command
from toolyard.core.packages import Package
from toolyard.core.placement import Run
from toolyard.executors.local.environment import environment
from toolyard.executors.local.executor import Local
from toolyard.records.files import read_bounded, write_atomic

LOG: Final = "package installs"
"""The name of its log; no server can have this name."""
INSTALL_SECONDS: Final = 600.0
_NICE: Final = ("nice", "-n", "10")


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package that was installed."""

    version: str
    program: str


async def install(
    local: Local, package: Package, command: Command, folder: Path, *, fresh: bool = False
) -> InstalledPackage:
    """Install a package into `folder`, with the environment of the command that is to use it.

    Scripts of packages run as they did for the launcher. Unless it is to be `fresh`, what the
    launcher has just downloaded will do.

    Raises:
        StartError: It did not work.
        StoreError: The folder cannot be written to.
    """
    if package.kind == "npm":
        # Without this, npm might take a folder further up for the project to change.
        await asyncio.to_thread(write_atomic, folder / "package.json", b'{"private": true}\n')
    argv, env = _order(package, command, folder, fresh=fresh)
    await _carry_out(local, package, Command((*_gently(), *argv), env, str(folder)))
    read = _installed_by_npm if package.kind == "npm" else _installed_from_pypi
    return await asyncio.to_thread(read, package, folder)


def is_at_hand(package: Package, cwd: str | None) -> bool:
    """True if the launcher would use a package in the folder of the server, and install nothing."""
    if package.kind != "npm":
        return False
    start = Path(cwd or os.getcwd())
    return any(
        (modules / package.name).exists() or (modules / ".bin" / _binary(package)).exists()
        for modules in (parent / "node_modules" for parent in (start, *start.parents))
    )


def path_with(program: str, command: Command) -> str:
    """Return the PATH that a launcher would set: the folder of the program first."""
    return os.pathsep.join((os.path.dirname(program), environment(command.env)["PATH"]))


def _order(
    package: Package, command: Command, folder: Path, *, fresh: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    if package.kind == "npm":
        npm = (_beside(command, "npm"), "install", "--prefix", str(folder), "--loglevel=error")
        flags = ("--no-audit", "--no-fund", "--prefer-online" if fresh else "--prefer-offline")
        return (*npm, *flags, "--", package.spec), command.env
    if _is_pipx(command):
        return _pipx_order(package, command, folder)
    uv = (_beside(command, "uv"), "tool", "install", "--compile-bytecode")
    renewed = ("--refresh",) if fresh else ()
    python = ("--python", package.python) if package.python else ()
    extras = (word for extra in package.extras for word in ("--with", extra))
    places = (("UV_TOOL_DIR", str(folder / "tools")), ("UV_TOOL_BIN_DIR", str(folder / "bin")))
    return (*uv, *renewed, *python, *extras, "--", package.spec), (*command.env, *places)


def _is_pipx(command: Command) -> bool:
    return os.path.basename(command.argv[0]) == "pipx"


def _pipx_order(
    package: Package, command: Command, folder: Path
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The same with pipx, whose users may not have uv."""
    python = ("--python", package.python) if package.python else ()
    places = (("PIPX_HOME", str(folder / "tools")), ("PIPX_BIN_DIR", str(folder / "bin")))
    argv = (command.argv[0], "install", *python, package.spec)
    return argv, (*command.env, *places, ("PIPX_MAN_DIR", str(folder / "man")))


def _beside(command: Command, name: str) -> str:
    """Return the installer that came with the launcher."""
    parent = os.path.dirname(command.argv[0])
    return os.path.abspath(os.path.join(command.cwd or "", parent, name)) if parent else name


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
            child.close_input()  # an installer cannot ask anybody
            why, words = await ended, child.stderr
    except TimeoutError:
        why, words = f"took longer than {INSTALL_SECONDS:g} s", ()
    if why != "exited with code 0":
        failed = StartError(f"the installer of {package.spec!r} {why}")
        explain(failed, words)
        failed.hint = failed.hint or "run it by hand to see what is wrong"
        raise failed


def _installed_by_npm(package: Package, folder: Path) -> InstalledPackage:
    modules = folder / "node_modules"
    try:
        manifest = msgspec.json.decode(read_bounded(modules / package.name / "package.json"))
        version, bins = str(manifest["version"]), manifest.get("bin")
    except (FileNotFoundError, StoreError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise _nothing(package) from error
    name = package.binary or _chosen(package, bins)
    return InstalledPackage(version, _program(package, modules / ".bin" / name))


def _chosen(package: Package, bins: Any) -> str:
    """Return the program that npx would choose: the only one, or the one named like the package."""
    names = list(bins) if isinstance(bins, dict) else []
    return str(names[0]) if len(names) == 1 else _binary(package)


def _binary(package: Package) -> str:
    return package.binary or package.name.rpartition("/")[2]


def _installed_from_pypi(package: Package, folder: Path) -> InstalledPackage:
    normal_name = _normal(package.name)
    for home in (*folder.glob("tools/*"), *folder.glob("tools/venvs/*")):  # of uv, and of pipx
        for entry in home.glob("lib/*/site-packages/*.dist-info"):
            name, _, version = entry.name.removesuffix(".dist-info").rpartition("-")
            if _normal(name) == normal_name:
                return InstalledPackage(version, _program(package, home / "bin" / package.binary))
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
