"""Files that decide what is run: nobody but their owner may be able to change them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from toolyard.core.errors import ConfigError

_GROUP: int = stat.S_IWGRP
_OTHERS: int = stat.S_IWOTH


def refuse_shared(path: str) -> None:
    """See that nobody but the user and root can change a file, or put another in its place.

    Raises:
        ConfigError: Somebody can; names the file or directory, and what to do.
    """
    for step in _steps(path):
        try:
            seen = os.lstat(step)
        except OSError:
            continue  # for reading it to say
        if seen.st_uid not in (0, os.geteuid()):
            raise _refused(path, step, "belongs to another user", "use a file of your own")
        if not stat.S_ISLNK(seen.st_mode) and _is_open(seen):
            letters = "o-w" if seen.st_mode & _OTHERS else "g-w"
            raise _refused(path, step, "can be changed by others", f"run: chmod {letters} '{step}'")


def _refused(path: str, step: str, why: str, hint: str) -> ConfigError:
    where = "it" if step == path else f"'{step}'"
    return ConfigError(f"'{path}' is not used: {where} {why}, who could run programs as you", hint)


def _steps(path: str) -> Iterator[str]:
    """The file and every directory above it: by the way that was named, and where links lead."""
    for way in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        yield way
        while (above := os.path.dirname(way)) != way:
            yield above
            way = above


def _is_open(seen: os.stat_result) -> bool:
    if stat.S_ISDIR(seen.st_mode) and seen.st_mode & stat.S_ISVTX:
        return False  # what is in it can be replaced by its owner alone
    if seen.st_mode & _OTHERS:
        return True
    return bool(seen.st_mode & _GROUP) and not _is_of_one(seen.st_gid)


def _is_of_one(gid: int) -> bool:
    """Whether a group is the user's alone: many systems give everybody one of their own name."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}
