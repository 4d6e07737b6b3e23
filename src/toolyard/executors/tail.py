"""Keeps the end of the stderr of a server, in memory and in a log file."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from urllib.parse import quote

_log = logging.getLogger(__name__)

RING_BYTES = 256 * 1024
LOG_BYTES = 10 * 1024 * 1024
_SLACK_BYTES = 64 * 1024  # forgotten in one go, not byte by byte
_LAST_LINES = 200
_LINE_CHARS = 2000  # one endless line must not fill a screen

# Colours and cursor moves vanish; what else could steer a terminal becomes a question mark.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_STEERING = bytes.maketrans(
    bytes(code for code in (*range(32), 127) if code not in b"\t\n\r") + b"\r", b"?" * 30 + b"\n"
)
_SEPARATORS = str.maketrans("\u2028\u2029", "??")


def neutral(chunk: bytes) -> bytes:
    """Return the chunk without control sequences for terminals; lines end in LF alone."""
    plain = _SEQUENCE.sub(b"", chunk) if b"\x1b" in chunk else chunk
    return _C1.sub(b"?", plain.replace(b"\r\n", b"\n")).translate(_STEERING)


class Tail:
    """The last 256 KiB of a stream, as lines fit to be shown."""

    def __init__(self) -> None:
        self._text = bytearray()

    def add(self, chunk: bytes) -> None:
        """Append the chunk and drop what is too old."""
        self._text += chunk[-RING_BYTES:]
        if len(self._text) > RING_BYTES + _SLACK_BYTES:
            del self._text[:-RING_BYTES]

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines that are not blank, oldest first."""
        text = self._text[-RING_BYTES:].decode(errors="replace")
        lines = [line for line in text.translate(_SEPARATORS).split("\n") if line.strip()]
        return tuple(line[:_LINE_CHARS] for line in lines[-_LAST_LINES:])


class LogFile:
    """A server's log file, for its owner alone; the one before it is kept as `.1`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{quote(name, safe='@+ ')}.log"
        self._works = True

    def add(self, chunk: bytes) -> None:
        """Append the chunk; a full or broken disk is logged once and never stops the server."""
        if not self._works:
            return
        try:
            self._append(chunk)
        except OSError as error:
            self._works = False
            _log.warning("cannot write %s: %s", self.path, error.strerror)

    def _append(self, chunk: bytes) -> None:
        # Opened for each chunk: two runs of one server may share the file and rotate it.
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            os.write(descriptor, chunk)
            full = os.fstat(descriptor).st_size >= LOG_BYTES
        finally:
            os.close(descriptor)
        if full:
            os.replace(self.path, self.path.with_name(self.path.name + ".1"))
