"""Starts a hub in the background, and waits until it can be reached.

The stdio entry uses it too, so only what a start itself needs is imported, and only then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import TypeVar

from toolyard.cli.exits import Exit
from toolyard.core.errors import StartError
from toolyard.stores.places import make_private

LOG = "hub.log"
LOG_LARGEST = 5 * 1024 * 1024
"""Bytes; a log beyond that is put aside at the next start, in the place of an older one."""
PATIENCE = 20.0
PAUSE = 0.02
FAREWELL = 5.0
RETRY = 1.0
"""Seconds until the next start, if a hub that was just leaving stood in the way of this one."""

Found = TypeVar("Found")


class HubEndedError(StartError):
    """The hub ended while it was waited for; `code` is what it ended with."""

    def __init__(self, text: str, hint: str, code: int) -> None:
        super().__init__(text, hint)
        self.code = code


def start_until(
    run_dir: str, flags: Sequence[str], look: Callable[[], Found | None], patience: float = PATIENCE
) -> Found:
    """Start a hub and wait until `look` gives something; of several started at once, one stays.

    Raises:
        HubEndedError: It ended at once.
        StartError: It could not be started, or not be reached in time.
        StoreError: The run directory cannot be used.
    """
    make_private(run_dir)
    log = os.path.join(run_dir, LOG)
    pause = threading.Event()
    deadline = time.monotonic() + patience
    process, begin = _start(log, flags)
    again = 0.0
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            _dismiss(process, run_dir, deadline)
            return found
        code = None if process is None else process.poll()
        if code == Exit.RUNNING:
            process, again = None, time.monotonic() + RETRY
        elif code is not None:
            raise _ended(log, begin, code)
        elif process is None and time.monotonic() >= again:
            process, begin = _start(log, flags)
        pause.wait(PAUSE)
    raise StartError(f"the hub did not answer within {patience:g} s", f"look into its log: {log}")


def _dismiss(process: Popen[bytes] | None, run_dir: str, deadline: float) -> None:
    """End the hub we started if another was quicker.

    It would end by itself; but should the other be stopped just before it looks, it would take
    its place, and whoever stopped the one would find another.
    """
    from toolyard.stores.runfile import RunDir

    place, pause = RunDir(Path(run_dir)), threading.Event()
    while process is not None and process.poll() is None and time.monotonic() < deadline:
        owner = place.read()  # written a moment after the socket opens
        if owner is None:
            pause.wait(PAUSE)
            continue
        if owner.pid != process.pid:
            process.terminate()
            with suppress(TimeoutExpired):
                process.wait(FAREWELL)
        return


def _start(log: str, flags: Sequence[str]) -> tuple[Popen[bytes] | None, int]:
    """Start one hub in a session of its own; give it and where its words in the log begin."""
    with suppress(OSError):
        if os.stat(log).st_size > LOG_LARGEST:
            os.replace(log, f"{log}.1")
    mode = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(log, mode, 0o600), "ab") as sink:
            begin = sink.tell()
            # -P: a file in the current directory must not pass for one of our modules.
            process = Popen(
                [sys.executable, "-P", "-m", "toolyard", "up", *flags],
                stdin=DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=_somewhere(),
                start_new_session=True,
            )
            return process, begin
    except OSError as error:
        raise StartError(f"no hub could be started: {error.strerror}", "") from error


def _somewhere() -> str:
    """A directory that stays, and belongs to no project."""
    home = os.path.expanduser("~")
    return home if os.path.isdir(home) else os.path.abspath(os.sep)


def _ended(log: str, begin: int, code: int) -> HubEndedError:
    try:
        with open(log, "rb") as file:
            file.seek(begin)
            said = file.read(64 * 1024).decode("utf-8", "replace").split("\n")
    except OSError:
        said = []
    lines = [line.strip() for line in said if line.strip()]
    error = next((line for line in lines if line.startswith("toolyard: ")), "")
    hint = next((line for line in lines if line.startswith("hint: ")), "")
    text = error.removeprefix("toolyard: ") or (lines[-1] if lines else "it said nothing")
    advice = hint.removeprefix("hint: ") or f"look into {log}"
    return HubEndedError(f"the hub ended at once: {text}", advice, code)
