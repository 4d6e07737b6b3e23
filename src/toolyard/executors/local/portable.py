"""Starts a process the way asyncio does it everywhere; used on Windows."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from toolyard.executors.child import STDERR, STDIN, STDOUT, Child
from toolyard.executors.local.program import Program

# Its own group, so that a Ctrl-C in our console does not reach it.
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


class Process:
    """One child process; what it started is out of reach here."""

    def __init__(self, transport: asyncio.SubprocessTransport) -> None:
        self._transport = transport
        self.pid = transport.get_pid()

    async def attach(self) -> None:
        """Do nothing: asyncio has connected the pipes already."""

    def signal(self, number: int) -> None:
        """End the process, politely if that is what the number means here."""
        with suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                self._transport.terminate()
            else:
                self._transport.kill()

    def reap(self) -> None:
        """Free what asyncio holds."""
        self._transport.close()


async def start(program: Program, env: Mapping[str, str], child: Child) -> Process:
    """Start the program.

    Raises:
        OSError: The system would not start it.
    """
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Ends(child),
        program.path,
        *program.argv[1:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.cwd,
        env=dict(env),
        creationflags=_NEW_GROUP,
    )
    return Process(transport)


class _Ends(asyncio.SubprocessProtocol):
    """Our ends of the pipes, and the news of the end."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        for number in (STDIN, STDOUT, STDERR):
            pipe = self._transport.get_pipe_transport(number)
            if pipe is not None:
                self._child.attach(number, pipe)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._child.arrived(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._child.lost(fd)

    def process_exited(self) -> None:
        code = self._transport.get_returncode() if self._transport else None
        self._child.exited(f"exited with code {code}")
