"""A real systemd for one user, started for a test and ended with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE = 60.0
BOOTED = Path("/run/systemd/system")
"""There only if systemd started the machine; else a user's systemd refuses to run."""
PRETEND = "mount -t tmpfs none /run/systemd && mkdir /run/systemd/system && exec {} --user"
PLACES = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")


@contextmanager
def user_systemd(home: Path) -> Iterator[None]:
    """A systemd of its own for this home; skips where none can run."""
    program = next((place for place in PLACES if os.access(place, os.X_OK)), None)
    if program is None or shutil.which("systemctl") is None:
        pytest.skip("there is no systemd on this machine")
    log = home / "systemd.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            _command(program), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
    try:
        _wait(process, log)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _command(program: str) -> list[str]:
    """The words that start it; what it wants to see of the machine, it alone sees."""
    if BOOTED.exists() or os.geteuid() != 0:
        return [program, "--user"]
    return ["unshare", "--mount", "sh", "-c", PRETEND.format(program)]


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if process.poll() is not None:
            lines = log.read_text("utf-8", "replace").strip().splitlines() or ["no reason given"]
            pytest.skip(f"systemd --user does not run here: {lines[-1]}")
        asked = subprocess.run(["systemctl", "--user", "show"], capture_output=True, check=False)
        if asked.returncode == 0:
            return
        pause.wait(0.05)
    process.terminate()
    process.wait(PATIENCE)
    pytest.fail(f"systemd --user cannot be asked: {log.read_text('utf-8', 'replace')}")
