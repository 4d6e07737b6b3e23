"""Replaces one record between two marks, and prints what it was told: for sweeps of faults.

    python one_write.py KIND FOLDER

Everything is loaded before a child does the work, and all is open before its first mark: nothing
but the write lies between, and what the child calls is the same in every run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.records.notes import FILE_ENGINES, A, Note
from toolyard.announce import Announcements
from toolyard.core.errors import StoreError

MARK = "/the-write-begins-here"
WRITTEN = "written"
OLD, NEW = "old " * 2000, "new " * 2000
"""Longer than any buffer on the way, so that half of one would show."""
Write = Callable[[str], str]
"""Writes a text; returns why it was refused, or nothing."""


def opened(kind: str, folder: Path, stack: ExitStack) -> Write:
    """Open the place of a kind of write."""
    if kind == "announce":
        file = Announcements(folder / "mcp_servers.json")
        return lambda text: file.register_server("a", {"name": text, "pid": os.getpid()}) or ""
    if kind == "in-place":
        return lambda text: in_place(folder / "plain", text)
    records = FILE_ENGINES[kind](folder, None, stack)

    def write(text: str) -> str:
        try:
            records.write(A, Note(text))
        except StoreError as error:
            return str(error)
        return ""

    return write


def in_place(path: Path, text: str) -> str:
    """The control: written as nobody should."""
    try:
        with path.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return str(error)
    return ""


def read(kind: str, folder: Path) -> str:
    """The text that is there, by another reader."""
    if kind == "announce":
        return str(Announcements(folder / "mcp_servers.json").read().servers["a"]["name"])
    if kind == "in-place":
        return (folder / "plain").read_text()
    with ExitStack() as stack:
        return FILE_ENGINES[kind](folder, None, stack).read().values[A].text


def main(kind: str, folder: Path) -> int:
    """Have a child write once, between the marks; return how it ended."""
    read(kind, folder)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with ExitStack() as stack:
        write = opened(kind, folder, stack)
        read(kind, folder)
        os.path.exists(MARK)
        refusal = write(NEW)
        os.path.exists(MARK)
        os.write(1, (refusal or WRITTEN).encode())
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
