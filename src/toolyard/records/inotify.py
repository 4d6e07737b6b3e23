"""The kernel's own word on changes in folders (Linux), without a thread and without a timer.

`watchfiles`, which does this elsewhere, looks for news twenty times a second.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import TracebackType
from typing import Final

log = logging.getLogger(__name__)

_MODIFY: Final = 0x002
_ATTRIBUTES: Final = 0x004
_CLOSED: Final = 0x008
_MOVED: Final = 0x0C0
_CREATED: Final = 0x100
_DELETED: Final = 0x200
_SELF: Final = 0xC00  # the folder itself was deleted or moved
_FOLDERS_ONLY: Final = 0x01000000
_MASK: Final = (
    _MODIFY | _ATTRIBUTES | _CLOSED | _MOVED | _CREATED | _DELETED | _SELF | _FOLDERS_ONLY
)
_OVERFLOW: Final = 0x4000
_HEAD: Final = struct.Struct("iIII")
_BYTES: Final = 65_536


class Inotify:
    """Calls back with the folder and the name of what changed, while it is open."""

    def __init__(self, folders: Iterable[str], tell: Callable[[str, str], None]) -> None:
        """Watch these folders; one that cannot be watched is left out.

        Raises:
            OSError: The kernel has no watch for us.
        """
        self._tell = tell
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "cannot watch files")
        # One folder may be watched by several names.
        self._folders: dict[int, list[str]] = {}
        for folder in folders:
            self._add(folder)

    async def __aenter__(self) -> None:
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _add(self, folder: str) -> None:
        watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _MASK)
        if watch >= 0:
            self._folders.setdefault(watch, []).append(folder)
            return
        error = os.strerror(ctypes.get_errno())
        log.info("cannot watch, looking instead", extra={"folder": folder, "error": error})

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _BYTES)
        except BlockingIOError:
            return
        for watch, mask, name in _events(data):
            lost = mask & _OVERFLOW  # then it is not known what happened, nor where
            for folder in chain(*self._folders.values()) if lost else self._folders.get(watch, ()):
                self._tell(folder, name)


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    """The watch, the kind and the name of each event; the name is empty for the folder itself."""
    at = 0
    while at < len(data):
        watch, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))
        at += length
