"""A person at a terminal: sees what a command prints, types answers, and presses Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 120.0
PAUSE = 5.0
SOURCE = str(Path(__file__).parents[3] / "src")


class Person:
    """Watches one command in a pseudo-terminal."""

    def __init__(self, main: int, process: subprocess.Popen[bytes]) -> None:
        self._main = main
        self._process = process
        self.screen = ""

    def wait_for(self, text: str) -> None:
        """Read until the text is on the screen."""
        while text not in self.screen:
            assert self._read(), f"{text!r} never came:\n{self.screen}"

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._main, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def insist(self) -> None:
        """Press Ctrl-C until the command ends.

        Python hears of a signal that comes just before it waits for a line only after that line.
        """
        while True:
            self.interrupt()
            while select.select([self._main], [], [], PAUSE)[0]:
                if not self._read():
                    return

    def wait_end(self) -> int:
        """Read on until the command ends; return its exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        assert select.select([self._main], [], [], PATIENCE)[0], self.screen
        try:
            chunk = os.read(self._main, 65536)
        except OSError:  # the other side is closed
            return False
        self.screen += chunk.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(chunk)


@contextmanager
def at_terminal(*words: str) -> Iterator[Person]:
    """Run our command line in front of a person."""
    env = {**os.environ, "PYTHONPATH": SOURCE}
    with in_front_of_person([sys.executable, "-m", "toolyard", *words], env) as person:
        yield person


@contextmanager
def in_front_of_person(command: Sequence[str], env: Mapping[str, str]) -> Iterator[Person]:
    """Run a command in a pseudo-terminal."""
    main, other = pty.openpty()
    env = {**env, "TERM": "xterm", "COLUMNS": "200"}
    # A session of its own, so that Ctrl-C reaches it and nobody else.
    process = subprocess.Popen(
        command, stdin=other, stdout=other, stderr=other, env=env, cwd=env["HOME"],
        start_new_session=True, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(other)
    try:
        yield Person(main, process)
    finally:
        process.kill()
        process.wait()
        os.close(main)


def _take_terminal() -> None:
    """Be what a shell starts in the foreground, whoever runs the tests."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
