"""Where the hub's socket is, and whether a directory may be trusted.

The stdio entry must be there in an instant, so this module imports next to nothing.
"""

from __future__ import annotations

import os
import stat
import sys

from toolyard.core.errors import StoreError

SOCKET = "hub.sock"
SOCKET_LONGEST = 107 if sys.platform == "linux" else 103
"""Bytes the path of a Unix socket may have; the kernel has no room for more."""
SHARED = "/tmp"  # noqa: S108 - see below
"""For sockets whose own path is too long. Fixed, because TMPDIR may differ between the hub and
those who look for it; what is made in it is private and checked for its owner."""


def make_private(directory: str) -> None:
    """Make a directory with mode 0700, or make sure that the one there is ours alone.

    Raises:
        StoreError: It cannot be made, is a link, belongs to somebody else, or is open to others.
    """
    try:
        _make(directory)
        seen = os.lstat(directory)
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
            raise StoreError(
                f"'{directory}' is not a directory of yours", "remove it, or set TOOLYARD_HOME"
            )
        if seen.st_mode & 0o077:
            os.chmod(directory, 0o700)
    except OSError as error:
        raise StoreError(
            f"cannot use the directory '{directory}': {error.strerror}",
            "check that you may write there, or set TOOLYARD_HOME",
        ) from error


def _make(directory: str) -> None:
    """Make it and its missing parents, all 0700: `os.makedirs` would leave the parents open."""
    if os.path.lexists(directory):
        return
    _make(os.path.dirname(directory))
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        return  # another process was quicker; the owner is checked all the same


def socket_path(directory: str) -> str:
    """Give the path of the hub's socket for a run directory; it always fits.

    Raises:
        StoreError: The short directory for it is not ours.
    """
    path = os.path.join(directory, SOCKET)
    if len(os.fsencode(path)) <= SOCKET_LONGEST:
        return path
    import hashlib

    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    short = f"{SHARED}/toolyard-{os.geteuid()}-{digest}"
    make_private(short)
    return f"{short}/{SOCKET}"
