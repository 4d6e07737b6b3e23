"""Files that are read within bounds, written whole or not at all, and changed by one at a time.

All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolyard.core.errors import StoreError

READ_LIMIT = 4 * 1024 * 1024
"""Far more than anybody writes by hand, far less than would hurt."""
LOCK_DEADLINE = 5.0
"""Seconds; a holder needs milliseconds, so whoever holds longer is stuck."""
LOCK_PAUSE = 0.02


def read_bounded(path: Path, limit: int = READ_LIMIT) -> bytes:
    """Give the whole content of a regular file of at most `limit` bytes.

    Raises:
        FileNotFoundError: There is no such file; left as it is, for absence is often no trouble.
        StoreError: It cannot be read, is no regular file, or is larger.
    """
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise StoreError(f"'{path}' is not a regular file", "name a file")
            with open(fd, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"cannot read '{path}': {error.strerror}", "check that the file is readable for you"
        ) from error
    if len(data) > limit:
        raise StoreError(
            f"'{path}' is larger than {limit} bytes", "check that it is the file you meant"
        )
    return data


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, keep_mode: bool = True) -> None:
    """Replace a file by `data`, so that any reader and any crash sees the old or the new whole.

    A new file gets `mode`, missing directories 0700; an existing file keeps its own unless that is
    not wanted. A symbolic link is refused: who wants to write where it points resolves it first.

    Raises:
        StoreError: It could not be written; what was there is unchanged, unless all that failed was
            to make the new file outlast a power cut: then that is there, whole.
    """
    try:
        _make_directory(path.parent)
        own_mode = _mode_to_keep(path, mode)
        mode = own_mode if keep_mode else mode
        temp = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            _write_new(temp, data, mode)
            os.replace(temp, path)
        except BaseException:
            with suppress(OSError):
                temp.unlink()
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise StoreError(
            f"cannot write '{path}': {error.strerror}",
            "check the free space and that the directory is writable for you",
        ) from error


@contextmanager
def locked(path: Path, deadline: float = LOCK_DEADLINE) -> Iterator[None]:
    """Hold the lock of a file, which is another file beside it, named `<name>.lock`.

    It excludes threads as well as processes and cannot be taken twice. The lock file is never
    deleted: after that, two could hold two different files of one name.

    Raises:
        StoreError: The lock file cannot be opened, or somebody held it for `deadline` seconds.
    """
    fd = open_lock(path.with_name(f"{path.name}.lock"))
    try:
        end = time.monotonic() + deadline
        while not try_lock(fd, path):
            if time.monotonic() >= end:
                raise StoreError(
                    f"'{path}' was locked by another process for {deadline:g} seconds",
                    "see which process is changing it, and try again",
                )
            time.sleep(LOCK_PAUSE)  # noqa: TID251 - flock has no deadline to wait for
        yield
    finally:
        os.close(fd)  # which also unlocks


def open_lock(lock: Path) -> int:
    """Open a lock file, which is made if need be; give its descriptor.

    Raises:
        StoreError: It cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        _make_directory(lock.parent)
        return os.open(lock, flags, 0o600)
    except OSError as error:
        raise StoreError(
            f"cannot open the lock '{lock}': {error.strerror}",
            "check that the directory is writable for you and the lock is a plain file",
        ) from error


def try_lock(fd: int, path: Path) -> bool:
    """Take the lock of an open lock file; false if somebody has it.

    Raises:
        StoreError: There can be no locks there.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # held; network file systems may say the second
        return False
    except OSError as error:
        raise StoreError(
            f"cannot lock '{path}': {error.strerror}", "keep it on a file system that has locks"
        ) from error
    return True


def _mode_to_keep(path: Path, mode: int) -> int:
    try:
        own_mode = path.lstat().st_mode
    except FileNotFoundError:
        return mode
    if stat.S_ISLNK(own_mode):
        raise StoreError(
            f"'{path}' is a symbolic link and was not written", "name the file it points to"
        )
    if not stat.S_ISREG(own_mode):
        raise StoreError(f"'{path}' is not a regular file and was not written", "name a file")
    return own_mode & 0o777


def _write_new(temp: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temp, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), mode)  # the umask must not narrow a mode that was kept
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _make_directory(directory: Path) -> None:
    """Create it and its missing parents, all 0700: `Path.mkdir` would leave the parents open."""
    if directory.is_dir() or directory == directory.parent:
        return
    _make_directory(directory.parent)
    with suppress(FileExistsError):  # another process was quicker
        directory.mkdir(mode=0o700)


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
