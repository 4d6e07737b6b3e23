"""The newest seal of a log, noted in a file: what is cut off the end of the log shows by it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final, NamedTuple

log = logging.getLogger(__name__)

_LENGTH: Final = 200


class ChainEnd(NamedTuple):
    """The newest seal."""

    number: int = 0
    digest: bytes = b""


class TailFile:
    """A small file beside the key; without a path, nothing is noted."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> ChainEnd:
        """Return the newest seal that was noted."""
        if self._path is None:
            return ChainEnd()
        try:
            number, digest = self._path.read_text("ascii")[:_LENGTH].split()
            return ChainEnd(int(number), bytes.fromhex(digest))
        except (OSError, ValueError):
            return ChainEnd()

    def write(self, tail: ChainEnd) -> None:
        """Note the newest seal; a failure costs nothing but the note.

        It is not forced to the disk: a crash of the machine may lose what the database keeps, which
        is no harm, as only an older note remains.
        """
        if self._path is None:
            return
        part = self._path.with_name(f"{self._path.name}.new")
        try:
            part.unlink(missing_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{tail.number} {tail.digest.hex()}\n")
            part.replace(self._path)
        except OSError as error:
            log.debug("the newest seal was not noted", extra={"why": str(error)})
