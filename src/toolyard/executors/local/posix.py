"""Starts a process with three pipes and a session of its own, on Linux and macOS.

Not `loop.subprocess_exec`: under uvloop it hands descriptors of the hub to the
child, does not notice a closed stdin, and reaps the child at once. Here a child
is reaped last, so that its pid and group cannot pass to a stranger meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import IO

from toolyard.executors.child import STDERR, STDIN, STDOUT, Child, PipeProtocol
from toolyard.executors.local.program import Program
from toolyard.wire.pipes import for_loop

_PIPE_BYTES = 256 * 1024  # big results arrive in fewer wake-ups than with the usual 64 KiB
_REAP_WAIT = 0.5  # only a process the kernel cannot end takes any time


class Process:
    """One child process and the group it leads."""

    def __init__(self, popen: subprocess.Popen[bytes], child: Child) -> None:
        self._popen = popen
        self._child = child
        self._handle: int | None = None
        # A pipe belongs to us until the loop has it; closed twice, it could be a stranger's.
        self._loose = [p for p in (popen.stdin, popen.stdout, popen.stderr) if p is not None]

    @property
    def pid(self) -> int:
        """Its pid, which is also the number of its group and session."""
        return self._popen.pid

    async def attach(self) -> None:
        """Connect the pipes and the notice of the end to the child."""
        self._watch_exit()
        loop = asyncio.get_running_loop()
        _widen(self._loose[STDOUT])
        stdin = for_loop(self._loose.pop(0))
        await loop.connect_write_pipe(partial(PipeProtocol, self._child, STDIN), stdin)
        for number in (STDOUT, STDERR):
            pipe = for_loop(self._loose.pop(0))
            await loop.connect_read_pipe(partial(PipeProtocol, self._child, number), pipe)

    def signal(self, number: int) -> None:
        """Signal the whole group."""
        with suppress(OSError):
            os.killpg(self.pid, number)

    def reap(self) -> None:
        """Free the pid; the process has ended or been killed."""
        self._unwatch()
        with suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(timeout=_REAP_WAIT)
            if not self._child.gone.is_set():
                self._child.exited(status(code))

    def leave(self) -> None:
        """Let it run on, without waiting for its end."""
        self._unwatch()
        self._popen.returncode = 0  # or the interpreter would complain that we do not

    def _unwatch(self) -> None:
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None
        for pipe in self._loose:
            pipe.close()

    def _watch_exit(self) -> None:
        loop = asyncio.get_running_loop()
        if sys.platform == "linux":
            with suppress(OSError):
                self._handle = os.pidfd_open(self.pid)
                loop.add_reader(self._handle, self._exited)
                return
        # There is no descriptor for the end of a process here: a thread waits for it.
        threading.Thread(target=self._await_exit, args=(loop,), daemon=True).start()

    def _exited(self) -> None:
        assert self._handle is not None
        asyncio.get_running_loop().remove_reader(self._handle)
        # Read without reaping it: see above.
        end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if end is not None:
            by_itself = end.si_code == os.CLD_EXITED
            self._child.exited(status(end.si_status if by_itself else -end.si_status))

    def _await_exit(self, loop: asyncio.AbstractEventLoop) -> None:
        code = self._popen.wait()
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(self._child.exited, status(code))


def start(program: Program, env: Mapping[str, str], child: Child) -> Process:
    """Start the program; it inherits its three pipes and nothing else.

    Raises:
        OSError: The system would not start it.
    """
    return Process(_popen(program, env, subprocess.PIPE, subprocess.PIPE, ()), child)


def start_to_stay(
    program: Program, env: Mapping[str, str], child: Child, descriptors: tuple[int, ...]
) -> Process:
    """Start a program that may outlive the hub; it inherits these descriptors, too.

    Its output then goes nowhere, but does not fail: it holds the other ends of its own pipes.

    Raises:
        OSError: The system would not start it.
    """
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    try:
        popen = _popen(program, env, out_end, err_end, (*descriptors, out, err))
    except BaseException:
        os.close(out)
        os.close(err)
        raise
    finally:
        os.close(out_end)
        os.close(err_end)
    popen.stdout, popen.stderr = os.fdopen(out, "rb", 0), os.fdopen(err, "rb", 0)
    return Process(popen, child)


def _popen(
    program: Program, env: Mapping[str, str], out: int, err: int, descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        program.argv,
        executable=program.path,
        bufsize=0,
        cwd=program.cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=err,
        pass_fds=descriptors,
        start_new_session=True,
    )


def status(code: int) -> str:
    """Describe the end of a process; a negative code is a signal."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _widen(pipe: IO[bytes]) -> None:
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # the user's share of pipe memory may be used up
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
