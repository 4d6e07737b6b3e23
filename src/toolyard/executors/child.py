"""The pipes of a running server, whichever executor started it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from toolyard.executors.tail import LogFile, Tail, neutral
from toolyard.records.secrets.mask import MASK, Veil

_EARLY_BYTES = 1024 * 1024  # what may wait for `connect` before reading is paused
_GRACE = 1.0  # end of output and end of process come as two events; the second is waited for
_FLOOD_BYTES = 2 * 1024 * 1024  # per tick: 40 MiB/s of stderr, so that a flood starves nobody
_FLOOD_TICK = 0.05

STDIN, STDOUT, STDERR = 0, 1, 2


class Child:
    """The pipes of one server, and the notice of its end.

    The code that started the process calls `attach`, then `arrived`, `lost` and `exited`.
    """

    def __init__(self, log: LogFile | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._tail = Tail()
        self._veil = Veil(MASK)
        self._log = log
        self._feed: Callable[[bytes], None] | None = None
        self._ended: Callable[[str], None] | None = None
        self._early: list[bytes] = []
        self._early_bytes = 0
        self._lost: set[int] = set()
        self._closing = False
        self._closed = False
        self._deaf = False  # it closed its stdin, not we
        self._status = ""
        self._timer: asyncio.TimerHandle | None = None
        self._flood = 0
        self._input: asyncio.WriteTransport | None = None
        self._outputs: dict[int, asyncio.ReadTransport] = {}
        self.pid = 0
        """The process, once it is started."""
        self.on_spoken: Callable[[], None] | None = None
        """Called once, with the first output on its stdout."""
        self.gone = asyncio.Event()
        """Set when the process has ended."""
        self.drained = asyncio.Event()
        """Set when all its output has been read."""

    def connect(self, feed: Callable[[bytes], None], ended: Callable[[str], None]) -> None:
        """Deliver stdout to `feed` chunk by chunk; call `ended(why)` once at its end."""
        self._feed, self._ended = feed, ended
        early, self._early = self._early, []
        for chunk in early:
            feed(chunk)
        if self._early_bytes > _EARLY_BYTES:
            self._resume(STDOUT)
        self._early_bytes = 0
        self._loop.call_soon(self._check)

    def write(self, data: bytes) -> None:
        """Queue bytes for the server's stdin; dropped once it has ended."""
        pipe = self._input
        if pipe is not None and STDIN not in self._lost and not pipe.is_closing():
            pipe.write(data)

    @property
    def where(self) -> str:
        """The place it runs at, for people."""
        return f"pid {self.pid}"

    @property
    def status(self) -> str:
        """The way it ended, e.g. `exited with code 1`; empty while it runs."""
        return self._status

    @property
    def unsent(self) -> int:
        """The number of queued bytes that the server has not read yet."""
        if self._input is None or STDIN in self._lost:
            return 0
        return self._input.get_write_buffer_size()

    @property
    def stderr(self) -> tuple[str, ...]:
        """The last lines of its stderr, fit to be shown."""
        return self._tail.lines

    def attach(self, pipe: int, transport: asyncio.BaseTransport) -> None:
        """Use a transport for one pipe: stdin to write, stdout or stderr to read."""
        # Cast, because the transports of uvloop inherit from none of these.
        if pipe == STDIN:
            self._input = cast(asyncio.WriteTransport, transport)
        else:
            self._outputs[pipe] = cast(asyncio.ReadTransport, transport)

    def arrived(self, pipe: int, data: bytes) -> None:
        """Process output of the server."""
        if pipe == STDERR:
            self._keep(data)
            return
        if self.on_spoken is not None:
            self.has_spoken()
        if self._feed is not None:
            self._feed(data)
        else:
            self._wait_for_connect(data)

    def has_spoken(self) -> None:
        """Note that the server itself runs, and no longer the launcher that installs it."""
        spoken, self.on_spoken = self.on_spoken, None
        if spoken is not None:
            spoken()

    def lost(self, pipe: int) -> None:
        """Note the end of one pipe."""
        self._lost.add(pipe)
        if pipe == STDERR:
            self._show(self._veil.end())
        if {STDOUT, STDERR} <= self._lost:
            self.drained.set()
        self._deaf |= pipe == STDIN and not self._closing
        self._check()

    def exited(self, status: str) -> None:
        """Note the end of the process, e.g. `exited with code 1`."""
        self._status = status
        self.gone.set()
        self._check()

    def close_input(self) -> None:
        """Close the stdin of the server."""
        self._closing = True
        if self._input is not None:
            self._input.close()

    def let_go(self) -> None:
        """Close the stdin of the server, and report its end now."""
        self.close_input()
        self._tell()

    def close(self) -> None:
        """Drop the pipes; the end is reported if it was not yet."""
        self._tell()
        self._show(self._veil.end())
        self._closed = True
        if self._input is not None and STDIN not in self._lost:
            self._input.abort()
        for transport in self._outputs.values():
            transport.close()

    def _wait_for_connect(self, data: bytes) -> None:
        self._early.append(data)
        before, self._early_bytes = self._early_bytes, self._early_bytes + len(data)
        if before <= _EARLY_BYTES < self._early_bytes:
            self._outputs[STDOUT].pause_reading()

    def _keep(self, data: bytes) -> None:
        if self._closed:
            return  # the rest of a secret whose beginning is hidden already, perhaps
        # What may be the beginning of a secret waits for the rest of it, however long that takes:
        # whoever stopped waiting would show a secret that is written in pieces.
        self._show(self._veil.add(neutral(data)))
        if self._flood == 0:
            self._loop.call_later(_FLOOD_TICK, self._ebb)
        before, self._flood = self._flood, self._flood + len(data)
        if before <= _FLOOD_BYTES < self._flood:
            self._outputs[STDERR].pause_reading()

    def _show(self, text: bytes) -> None:
        self._tail.add(text)
        if self._log is not None and text:
            self._log.add(text)

    def _ebb(self) -> None:
        paused, self._flood = self._flood > _FLOOD_BYTES, 0
        if paused:
            self._resume(STDERR)

    def _resume(self, pipe: int) -> None:
        transport = self._outputs[pipe]
        if not transport.is_closing():
            transport.resume_reading()

    def _check(self) -> None:
        """Report the end once process and output have ended, or one of them a while ago."""
        if self._ended is None:
            return
        if self._status and self.drained.is_set():
            self._tell()
        elif self._timer is None and (self._status or self._deaf or STDOUT in self._lost):
            # Something it started may hold stdout open for long; the server is gone all the same.
            self._timer = self._loop.call_later(_GRACE, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        ended, self._ended = self._ended, None
        self._feed = _ignore
        if ended is not None:
            ended(self._why())

    def _why(self) -> str:
        if self._status:
            return self._status
        return "closed its output" if STDOUT in self._lost else "closed its input"


class PipeProtocol(asyncio.Protocol):
    """Our end of one pipe of a child; attached when made, because bytes may come at once."""

    def __init__(self, child: Child, pipe: int) -> None:
        self._child = child
        self._pipe = pipe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the child use the pipe."""
        self._child.attach(self._pipe, transport)

    def data_received(self, data: bytes) -> None:
        """Pass output on."""
        self._child.arrived(self._pipe, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell that the pipe has ended."""
        self._child.lost(self._pipe)


def _ignore(_: bytes) -> None:
    """Drop output after the end."""
