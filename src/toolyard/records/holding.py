"""The lock of a state directory: two hubs that keep theirs in one would undo each other's work."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.records.files import open_lock, try_lock
from toolyard.records.runfile import RunDir

log = logging.getLogger(__name__)

LOCK: Final = "hub.lock"
BESIDE: Final = "beside"
"""The folder with a lock for each hub that runs beside the one that holds the state directory."""
PATH_BYTES: Final = 4096


@contextmanager
def hold_state(folder: Path, run_dir: Path) -> Iterator[bool]:
    """Be the one hub that keeps its state in a folder; False where there can be no lock.

    The lock file names the run directory of its holder, so that another can say who that is.

    Raises:
        ConfigError: Another hub does.
    """
    try:
        descriptor = open_lock(folder / LOCK)
    except StoreError as error:
        log.warning("%s; another hub with this state directory would not be noticed", error)
        yield False
        return
    try:
        is_ours = _take(descriptor, folder)
        if is_ours:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, os.fsencode(run_dir), 0)
        yield is_ours
    finally:
        os.close(descriptor)  # which also unlocks


@contextmanager
def live_beside(folder: Path, replica: str) -> Iterator[None]:
    """Let the hub that keeps its state in a folder see that another one, of this id, lives."""
    lock = folder / BESIDE / replica
    try:
        descriptor = _lock_anew(lock)
    except StoreError as error:
        log.warning("%s; a hub that starts may remove what this one runs elsewhere", error)
        yield
        return
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def find_beside(folder: Path) -> frozenset[str]:
    """Return the ids of the hubs that live beside the one that keeps its state in a folder."""
    try:
        return frozenset(lock.name for lock in (folder / BESIDE).iterdir() if _is_held(lock))
    except FileNotFoundError:
        return frozenset()


def _lock_anew(lock: Path) -> int:
    """Take a lock that nobody else has, also if its file is removed meanwhile as a leftover."""
    while True:
        descriptor = open_lock(lock)
        try:
            try_lock(descriptor, lock)
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_held(lock: Path) -> bool:
    """Tell whether somebody has a lock; a hub that was killed leaves its file, which is removed."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if is_free := try_lock(descriptor, lock):
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    return not is_free


def _take(descriptor: int, folder: Path) -> bool:
    try:
        is_free = try_lock(descriptor, folder / LOCK)
    except StoreError as error:
        log.warning("%s; another hub with this state directory would not be noticed", error)
        return False
    if not is_free:
        raise _held(folder, os.fsdecode(os.pread(descriptor, PATH_BYTES, 0)))
    return True


def _held(folder: Path, run_dir: str) -> ConfigError:
    """The error that names the hub whose state is in a folder, as far as that is known."""
    state = RunDir(Path(run_dir)).read() if run_dir else None
    holder = f"the hub at {state.address} (pid {state.pid})" if state else "another hub"
    theirs = f"TOOLYARD_RUNTIME_DIR={run_dir}" if run_dir else "its TOOLYARD_RUNTIME_DIR"
    return ConfigError(
        f"the state directory '{folder}' is in use by {holder}",
        f"use that hub, with {theirs}, or give this one a TOOLYARD_STATE_DIR of its own",
    )
