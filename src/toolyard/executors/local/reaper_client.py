"""The hub's side of the reaper: starts it with the first child, and keeps it informed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress

from toolyard.executors.local import reaper

_log = logging.getLogger(__name__)

_LEAVE_WAIT = 10.0  # the reaper's own waits end well before


class ReaperClient:
    """Runs one reaper, which outlives this process just long enough to clean up after it."""

    def __init__(self, owner: str, fetch: float) -> None:
        self._owner = owner
        self._fetch = fetch
        """Seconds in which children that are spared must have ended."""
        self._process: subprocess.Popen[bytes] | None = None
        self._living: dict[int, tuple[int, int, str]] = {}
        """The start time of every child, the limit that marks it, and its instance."""
        self._deadlines: dict[str, float] = {}
        """The times at which instances must have ended, by the monotonic clock."""
        self._spared: set[int] = set()
        # No child of ours is older than this process; older ones are never considered.
        me = reaper.read_process(os.getpid())
        self.since = me.start if me else 0

    @property
    def pid(self) -> int | None:
        """The reaper's pid while there is one."""
        return self._process.pid if self._process else None

    def begin(self) -> None:
        """Make sure that a reaper runs; called before a child starts."""
        if self._listens():
            return
        self._forget()
        try:
            self._process = _start(self._owner, self.since, self._fetch)
        except OSError as error:
            _log.warning("no reaper: servers may outlive a killed hub: %s", error.strerror)
            return
        for instance, at in self._deadlines.items():
            self._tell(f"@{instance} {at}\n")
        for pid, (start, limit, instance) in self._living.items():
            self._tell(f"+{pid} {start} {limit} {instance}\n")
        for pid in self._spared:
            self._tell(f"~{pid}\n")

    def add(self, pid: int, start: int, limit: int, instance: str) -> None:
        """Have this child ended if the hub dies; a `limit` of 0 means that no limit marks it."""
        self._living[pid] = start, limit, instance
        self._tell(f"+{pid} {start} {limit} {instance}\n")

    def bind(self, instance: str, at: float) -> None:
        """Have an instance ended at that time of the monotonic clock, whatever the hub does."""
        self._deadlines[instance] = at
        self._tell(f"@{instance} {at}\n")

    def move(self, instance: str, at: float) -> None:
        """Give an instance another time, if it has one still."""
        if instance in self._deadlines:
            self.bind(instance, at)

    def unbind(self, instance: str) -> None:
        """Let an instance have no time any more: it has ended."""
        if self._deadlines.pop(instance, None) is not None:
            self._tell(f".{instance}\n")

    def spare(self, pid: int) -> None:
        """Let this child finish its work if the hub dies."""
        self._spared.add(pid)
        self._tell(f"~{pid}\n")

    def may_end(self, pid: int) -> None:
        """Have it ended like all others again if the hub dies."""
        self._spared.discard(pid)
        self._tell(f"!{pid}\n")

    def remove(self, pid: int) -> None:
        """Forget a child that is gone."""
        self._living.pop(pid, None)
        self._spared.discard(pid)
        self._tell(f"-{pid}\n")

    async def close(self) -> None:
        """Stop the reaper and wait for its end, unless it has to wait for a spared child."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        if self._spared:
            process.returncode = 0  # or the interpreter would complain that we do not wait
            self._process = None
            return
        try:
            await asyncio.to_thread(process.wait, _LEAVE_WAIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None

    def _listens(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _tell(self, line: str) -> None:
        # A line is far smaller than the pipe, and the reaper does nothing but read.
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.write(line.encode())

    def _forget(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


def _start(owner: str, since: int, fetch: float) -> subprocess.Popen[bytes]:
    # Blocked signals stay blocked in the new process, so that none finds it half started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, reaper.IGNORED)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", reaper.__file__, owner, str(since), str(fetch)],
            bufsize=0,
            cwd="/",
            env={},  # without our mark: another hub's reaper would end it
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
