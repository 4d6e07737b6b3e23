"""Starts a hub in the background, and waits until it can be reached.

The stdio entry uses it too, so only what a start itself needs is imported, and only then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import TypeVar

from toolyard.console.exits import Exit
from toolyard.core.errors import StartError, StoreError
from toolyard.records.directories import make_private
from toolyard.records.files import locked

LOG = "hub.log"
LOG_LARGEST = 5 * 1024 * 1024
"""Bytes; a log beyond that is put aside at the next start, in the place of an older one."""
PATIENCE = 60.0
"""Seconds; a hub that ends is noticed at once, so this is for a busy machine."""
PAUSE = 0.02
FAREWELL = 5.0
REMOVED = "Toolyard was removed: install it again, and connect your clients again"
RETRY = 1.0
"""Seconds until the next start, if a hub that was just stopping was in the way of this one."""

Found = TypeVar("Found")


class HubEndedError(StartError):
    """The hub ended while it was waited for; `code` is its exit code."""

    def __init__(self, text: str, hint: str, code: int) -> None:
        super().__init__(text, hint)
        self.code = code


def start_until(
    run_dir: str, flags: Sequence[str], look: Callable[[], Found | None], patience: float = PATIENCE
) -> Found:
    """Start a hub and wait until `look` returns something; of several started at once, one stays.

    Raises:
        HubEndedError: It ended at once.
        StartError: It could not be started, or not be reached in time.
        StoreError: The run directory cannot be used.
    """
    make_private(run_dir)
    pause, deadline = threading.Event(), time.monotonic() + patience
    with _Start(run_dir, flags) as start:
        while time.monotonic() < deadline:
            if (result := look()) is not None:
                _dismiss(start.process, run_dir, deadline)
                return result
            start.go_on()
            pause.wait(PAUSE)
    text = f"the hub did not answer within {patience:g} s"
    raise StartError(text, f"read its log: {start.log}")


class _Start:
    """One attempt to have a hub: of several at once, one starts it and the others wait for it."""

    def __init__(self, run_dir: str, flags: Sequence[str]) -> None:
        self.log = os.path.join(run_dir, LOG)
        self.process: Popen[bytes] | None = None
        self._flags = flags
        self._lock = Path(run_dir, "start")
        self._stack = ExitStack()
        self._is_alone = False
        self._begin = 0
        self._not_before = 0.0

    def __enter__(self) -> _Start:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def go_on(self) -> None:
        """Start a hub if it is our turn, and check that it lives.

        Raises:
            HubEndedError: It has ended.
            StartError: It could not be started.
        """
        now = time.monotonic()
        code = None if self.process is None else self.process.poll()
        if code == Exit.RUNNING:
            self.process, self._not_before = None, now + RETRY
        elif code is not None:
            raise _ended(self.log, self._begin, code)
        elif self.process is None and now >= self._not_before and self._is_our_turn():
            self.process, self._begin = _start(self.log, self._flags)

    def _is_our_turn(self) -> bool:
        if not self._is_alone:
            try:
                self._stack.enter_context(locked(self._lock, 0.0))
            except StoreError as error:
                # Another process holds it; any other failure means that there can be no lock here.
                if error.__cause__ is None:
                    return False
            self._is_alone = True
        return True


def _dismiss(process: Popen[bytes] | None, run_dir: str, deadline: float) -> None:
    """Stop the hub we started if another was quicker.

    It would end by itself; but if the other were stopped just before it looks, it would take its
    place, and whoever stopped the one would find another.
    """
    from toolyard.records.runfile import RunDir

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


def _start(log: str, flags: Sequence[str]) -> tuple[Popen[bytes], int]:
    """Start one hub in a session of its own; return it, and where its output begins in the log."""
    with suppress(OSError):
        if os.stat(log).st_size > LOG_LARGEST:
            os.replace(log, f"{log}.1")
    mode = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
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
        hint = "" if os.path.exists(sys.executable) else REMOVED
        raise StartError(f"cannot start a hub: {error.strerror}", hint) from error


def _somewhere() -> str:
    """A directory that stays, and belongs to no project."""
    home = os.path.expanduser("~")
    return home if os.path.isdir(home) else os.path.abspath(os.sep)


def _ended(log: str, begin: int, code: int) -> HubEndedError:
    try:
        with open(log, "rb") as file:
            file.seek(begin)
            output = file.read(64 * 1024).decode("utf-8", "replace").split("\n")
    except OSError:
        output = []
    lines = [line.strip() for line in output if line.strip()]
    error = next((line for line in lines if line.startswith("toolyard: ")), "")
    hint = next((line for line in lines if line.startswith("hint: ")), "")
    text = error.removeprefix("toolyard: ") or (lines[-1] if lines else "it printed nothing")
    advice = hint.removeprefix("hint: ") or f"read its log: {log}"
    return HubEndedError(f"the hub ended at once: {text}", advice, code)
