"""Small programs to run as servers, and ways to hear and to outlive them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from toolyard.core.model import Command
from toolyard.core.ports import Pipes

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""

# Starts a grandchild that forks twice, leads a session of its own, ignores TERM and
# reports its pid; then serves.
ESCAPING = f"""
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"%d\\n" % os.getpid())
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            time.sleep(60)
    os._exit(0)
os.wait()
{ECHO}
"""


# What it leaves behind has a session of its own, no parent and an empty environment.
DAEMON = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        for fd in (0, 1, 2):
            os.close(fd)
        os.execve("/bin/sleep", ["sleep", "86400"], {{}})
    os._exit(0)
os.wait()
{ECHO}
"""


def python(code: str, *args: str, **env: str) -> Command:
    """A command that runs this code."""
    return Command((sys.executable, "-I", "-c", code, *args), tuple(env.items()))


class Ear:
    """Hears what a server writes and how it ends."""

    def __init__(self, pipes: Pipes) -> None:
        self.heard = bytearray()
        self.ends: list[str] = []
        self._news = asyncio.Event()
        pipes.connect(self._feed, self._ended)

    def _feed(self, chunk: bytes) -> None:
        assert not self.ends, "heard something after the end"
        self.heard += chunk
        self._news.set()

    def _ended(self, why: str) -> None:
        self.ends.append(why)
        self._news.set()

    async def line(self, within: float = 60.0) -> bytes:
        """The next line, without its end."""
        await self._until(lambda: b"\n" in self.heard, within)
        line, _, rest = bytes(self.heard).partition(b"\n")
        self.heard[:] = rest
        return line

    async def end(self, within: float = 60.0) -> str:
        """How it ended."""
        await self._until(lambda: bool(self.ends), within)
        return self.ends[0]

    async def _until(self, condition: Callable[[], bool], within: float) -> None:
        async with asyncio.timeout(within):
            while not condition():
                self._news.clear()
                await self._news.wait()


async def eventually(condition: Callable[[], object], within: float = 60.0) -> None:
    """Wait for what nothing tells of."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


async def leaves(pid: int, within: float) -> bool:
    """Whether the process is gone within so many seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, gone.set)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await gone.wait()
        return gone.is_set()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def marked(owner: str) -> list[int]:
    """The living processes that carry this hub's mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # of a zombie the environment is empty
            if f"TOOLYARD_OWNER={owner}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
