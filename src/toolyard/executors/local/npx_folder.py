"""The folders in which npx installs packages, and how one that is broken is recognised and removed.

An npx that was killed while it installed leaves half a package behind, and takes it for a whole one
ever after. Such a folder is of no use to anybody: npx makes it anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from toolyard.core.failure_hints import PROVIDERS
from toolyard.core.model import Command
from toolyard.core.packages import recognise

NAME: Final = "_npx"
_LOCK: Final = "concurrency.lock"
"""A folder that newer versions of npm touch every second while they install."""
_BELOW: Final = re.compile(rf"(/[^'\":\n]*/{NAME}/[0-9a-f]{{16}})(?=/)")
_MISSING: Final = re.compile(r"Cannot find (?:package|module) '([^']+)'")
_SIGNS: Final = re.compile(
    r"Cannot find (?:package|module)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|ENOTEMPTY"
    r"|Invalid package config|ERR_INVALID_PACKAGE_CONFIG|Unexpected end of (?:JSON )?input"
)
_SIGNS_WITHOUT_PATH: Final = re.compile(
    r"could not determine executable to run"
    r"|sh: (?:\d+: |line \d+: )?([\w.@-]+): (?:command )?not found"
)


def find_broken(lines: Sequence[str], command: Command, home: str) -> Path | None:
    """Return the folder of npx that, by its stderr, holds half a package; None if there is none."""
    text = "\n".join(lines)
    named = _BELOW.search(text)
    if named is not None and _SIGNS.search(text) and not _is_elsewhere(text, named[1]):
        return Path(named[1])
    sign = _SIGNS_WITHOUT_PATH.search(text)
    return _folder_of(command, home) if sign and sign[1] not in PROVIDERS else None


def is_in_use(folder: Path, seconds: float) -> bool:
    """Return whether something in the folder changed within the last `seconds`."""
    modules = folder / "node_modules"
    since = time.time() - seconds
    return any(_changed(path) > since for path in (folder, folder / _LOCK, *_entries(modules)))


def clear(folder: Path) -> bool:
    """Remove a folder of npx; False if it is none, or not the user's own.

    It is moved aside first, so that nobody meets it half removed.
    """
    if folder.parent.name != NAME or not (folder.parent.parent / "_cacache").is_dir():
        return False
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        parent = os.open(folder.parent, flags)
    except OSError:
        return False
    try:
        if not _is_own_folder(os.fstat(parent)) or not _is_own_folder(
            os.stat(folder.name, dir_fd=parent, follow_symlinks=False)
        ):
            return False
        aside = f".broken-{folder.name}-{uuid.uuid4().hex[:8]}"
        os.rename(folder.name, aside, src_dir_fd=parent, dst_dir_fd=parent)
        shutil.rmtree(aside, ignore_errors=True, dir_fd=parent)
    except OSError:
        return False
    finally:
        os.close(parent)
    return True


def _is_own_folder(entry: os.stat_result) -> bool:
    return stat.S_ISDIR(entry.st_mode) and entry.st_uid == os.getuid()


def _is_elsewhere(text: str, folder: str) -> bool:
    """True if what cannot be found is a file of the user's, and no part of the package."""
    missing = _MISSING.search(text)
    return missing is not None and missing[1].startswith("/") and folder not in missing[1]


def _folder_of(command: Command, home: str) -> Path | None:
    """Return the folder in which npx installs the package of a command."""
    package = recognise(command.argv)
    if package is None or package.kind != "npm":
        return None
    env = {name.lower(): value for name, value in (*os.environ.items(), *command.env)}
    cache = env.get("npm_config_cache") or os.path.join(env.get("home", home), ".npm")
    return Path(cache, NAME, hashlib.sha512(package.spec.encode()).hexdigest()[:16])


def _entries(modules: Path) -> Iterable[Path]:
    """The folder of modules, its packages, and those of its scopes."""
    yield modules
    for path in _list(modules):
        yield path
        if path.name.startswith("@"):
            yield from _list(path)


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
