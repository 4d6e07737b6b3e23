"""A server on a remote host, seen through one channel of a shared ssh connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress

import asyncssh

from toolyard.executors.child import STDERR, STDIN, STDOUT, Child
from toolyard.executors.ssh.shell import SIGN
from toolyard.executors.tail import LogFile, neutral

_NOISE_BYTES = 64 * 1024  # of what a profile there may print before the shell is ours
_LAST_LINES = 3
_SPACES = re.compile(r"\s+")

Channel = asyncssh.SSHClientChannel[bytes]


class RemoteChild(Child):
    """The pipes of one server on a remote host."""

    def __init__(self, host: str, log: LogFile | None = None, *, mute: bool = False) -> None:
        super().__init__(log)
        self._host = host
        self._mute = mute
        self.remote_pid = 0
        """The pid on the remote host."""

    @property
    def where(self) -> str:
        """The place it runs at, for people."""
        return f"pid {self.remote_pid} on {self._host}"

    def arrived(self, pipe: int, data: bytes) -> None:
        """Process output; all output of a server that speaks HTTP belongs in its log."""
        super().arrived(STDERR if self._mute else pipe, data)

    def exited(self, status: str) -> None:
        """Note the end of the process; the first reason stands."""
        super().exited(self.status or status)


class ShellSession(asyncssh.SSHClientSession[bytes]):
    """One channel: first replies of the shell that starts the server, then output of the server."""

    def __init__(self, remote: RemoteChild, lost: Callable[[], str]) -> None:
        self._remote = remote
        self._lost = lost
        self._status = ""
        self._head: bytearray | None = bytearray()
        self._replies: asyncio.Queue[str] = asyncio.Queue()
        self._noise = bytearray()

    def connection_made(self, chan: Channel) -> None:
        """Connect the channel to the pipes."""
        flow = _Flow(chan)
        for pipe in (STDIN, STDOUT, STDERR):
            self._remote.attach(pipe, _PipeTransport(chan, flow, pipe))

    def write(self, text: bytes) -> None:
        """Send text to the shell."""
        self._remote.write(text)

    async def reply(self) -> str:
        """Return the next reply of the shell; empty if it has ended."""
        return await self._replies.get()

    @property
    def noise(self) -> str:
        """The last output that was no reply, on one line."""
        text = neutral(bytes(self._noise)).decode(errors="replace")
        lines = [line for line in text.split("\n") if line.strip()]
        lines = [*lines, *self._remote.stderr][-_LAST_LINES:]
        return _SPACES.sub(" ", "; ".join(lines))

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Process data of the channel."""
        if datatype is not None:
            self._remote.arrived(STDERR, data)
        elif self._head is None:
            self._remote.arrived(STDOUT, data)
        else:
            self._head += data
            self._read_head()

    def eof_received(self) -> bool:
        """Keep our half open: a server may read on after it closed its stdout."""
        self._drained()
        return True

    def exit_status_received(self, status: int) -> None:
        """Note the exit code; reported once all output has arrived."""
        self._ended(f"exited with code {status}")

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """Note the signal that ended it."""
        self._ended(f"was killed by signal SIG{signal}")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the channel, or of the whole connection."""
        self._drained()
        self._ended(self._status or self._lost() or "its channel was closed")

    def _ended(self, status: str) -> None:
        if not self._status:
            self._status = status
            self._replies.put_nowait("")
            self._remote.exited(status)

    def _drained(self) -> None:
        for pipe in (STDOUT, STDERR):
            self._remote.lost(pipe)

    def _read_head(self) -> None:
        """Read the lines of the shell; everything after its `ok` is output of the server."""
        while self._head is not None and b"\n" in self._head:
            line, _, rest = bytes(self._head).partition(b"\n")
            self._head[:] = rest
            before, sign, reply = line.rpartition(SIGN)
            self._noise += (before if sign else line) + b"\n"
            del self._noise[:-_NOISE_BYTES]
            if sign:
                self._replies.put_nowait(reply.decode(errors="replace"))
            if sign and reply == b"ok":
                self._head = None
                if rest:
                    self._remote.arrived(STDOUT, rest)


class _Flow:
    """Pauses a channel while either of its outputs is paused; ssh cannot pause one alone."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._pausing: set[int] = set()

    def pause(self, pipe: int) -> None:
        self._pausing.add(pipe)
        self._channel.pause_reading()

    def resume(self, pipe: int) -> None:
        self._pausing.discard(pipe)
        if not self._pausing:
            self._channel.resume_reading()


class _PipeTransport(asyncio.Transport):
    """One of the three pipes of a channel, as a transport."""

    def __init__(self, channel: Channel, flow: _Flow, pipe: int) -> None:
        super().__init__()
        self._channel = channel
        self._flow = flow
        self._pipe = pipe

    def write(self, data: bytes | bytearray | memoryview) -> None:
        with suppress(OSError):  # it closed this moment
            self._channel.write(bytes(data))

    def get_write_buffer_size(self) -> int:
        return self._channel.get_write_buffer_size()

    def is_closing(self) -> bool:
        # Reading goes on after the end of our input, until the channel is done.
        return self._pipe == STDIN and self._channel.is_closing()

    def close(self) -> None:
        if self._pipe == STDIN:
            with suppress(OSError):
                self._channel.write_eof()
        else:
            self._channel.abort()

    def abort(self) -> None:
        self._channel.abort()

    def pause_reading(self) -> None:
        self._flow.pause(self._pipe)

    def resume_reading(self) -> None:
        self._flow.resume(self._pipe)
