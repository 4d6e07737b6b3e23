"""Starts the fixture server for tests: as a command for stdio, or as an address for HTTP."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FIXTURE = Path(__file__).parent.parent / "fixtures" / "everything.py"

START_PATIENCE = 60.0
STOP_PATIENCE = 60.0


def everything_command(transport: str = "stdio", *flags: str) -> list[str]:
    """The command that starts the fixture server, e.g. with the flag `--legacy-only`."""
    return [sys.executable, str(FIXTURE), transport, *flags]


@contextmanager
def everything_url(*flags: str) -> Iterator[str]:
    """The address of a fixture server that runs for as long as the block lasts."""
    command = everything_command("http", *flags)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    # A server that never says its address is ended, and the line below comes back empty.
    watch = threading.Timer(START_PATIENCE, process.kill)
    watch.start()
    try:
        url = process.stdout.readline().strip()
        watch.cancel()
        assert url, f"the fixture server did not start: {command}"
        yield url
    finally:
        watch.cancel()
        process.terminate()
        try:
            process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
