"""Finds and ends processes that a hub started, also after the hub itself is gone.

Run as a script it is the reaper: a small process beside the hub that holds a pipe
from it. When the pipe closes, however the hub ended, the reaper ends what is
left and exits. It must start fast and stay small, so this file imports nothing
but the lightest parts of the standard library, and nothing of ours.

A process is ours when it carries our mark in its environment, when it belongs
to the session of a child we know (pid and start time), when it inherited the
limit that one of these was marked with, or when such a process is its ancestor.
Nothing else is ever signalled. A child that is spared, for it may be installing
a package, gets its time to end by itself.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False  # checkers know this name; to import it would cost what is saved here
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the same without its enumerations: a megabyte less

OWNER = "TOOLYARD_OWNER"
"""The variable that names the hub a process belongs to."""
INSTANCE = "TOOLYARD_INSTANCE"
"""The variable that names the one run of a server a process belongs to."""

IGNORED = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
"""Signals meant for the hub: the reaper exits after the hub, not before."""

_TERM_WAIT = 1.5  # with the hub dead nobody is left to wait longer for
_KILL_WAIT = 1.0
_LOOK = 0.5  # between looks whether a child that is spared has ended
_KILL_ROUNDS = 5  # a process that forks while it is being killed needs more than one


class ProcessEntry:
    """One process as the kernel describes it; pid and start time together identify it."""

    __slots__ = ("alive", "parent", "pid", "session", "start")

    def __init__(self, pid: int, alive: bool, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.alive = alive
        self.parent = parent
        self.session = session
        self.start = start


def read_process(pid: int) -> ProcessEntry | None:
    """Return the process with this pid, or None where it or /proc is missing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, parentheses included.
    fields = stat[stat.rindex(b")") + 2 :].split()
    alive = fields[0] not in b"ZX"
    return ProcessEntry(pid, alive, int(fields[1]), int(fields[3]), int(fields[19]))


def _is_same(pid: int, start: int) -> bool:
    process = read_process(pid)
    return process is not None and process.start == start


class ProcessFamily:
    """The marks by which the processes of some children are recognised."""

    __slots__ = ("mark", "limits", "sessions", "spared")

    def __init__(self, mark: str, sessions: dict[int, int], limits: dict[int, int]) -> None:
        self.mark = mark
        """The variable in the environment of all of them, unless they dropped it."""
        self.sessions = sessions
        """The children themselves: pid to start time."""
        self.limits = limits
        """For every child, the real-time limit that no other process has.

        Limits are inherited, whatever a process does to its session and its environment.
        """
        self.spared: set[int] = set()
        """Children that must not be ended, nor the processes in their sessions."""


def find_processes(family: ProcessFamily, since: int) -> list[ProcessEntry]:
    """Return the living processes that are ours and were started at `since` or later."""
    sessions, limits = family.sessions, set(family.limits.values())
    leaders = {pid for pid, start in sessions.items() if _is_same(pid, start)}
    mark = family.mark.encode()
    rest = [p for p in _own_processes() if p.start >= since and p.session not in family.spared]
    ours = {
        p.pid: p
        for p in rest
        if p.session in leaders or _carries(p.pid, mark) or _is_limited(p.pid, limits)
    }
    # Those that dropped the mark are still children of one that has it.
    while more := [p for p in rest if p.parent in ours and p.pid not in ours]:
        ours.update((p.pid, p) for p in more)
    return list(ours.values())


def end_processes(family: ProcessFamily, since: int, patience: float) -> None:
    """End the family: TERM, up to `patience` seconds, then KILL until none is left."""
    steps = [(signal.SIGTERM, patience)] if patience > 0 else []
    steps += [(signal.SIGKILL, _KILL_WAIT)] * _KILL_ROUNDS
    for number, wait in steps:
        processes = find_processes(family, since)
        if not processes:
            return
        _signal_all(processes, number, wait)


def _own_processes() -> list[ProcessEntry]:
    """Return the living processes of this user, without this one."""
    user, me = os.geteuid(), os.getpid()
    processes = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if not name.isdigit() or int(name) == me:
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid != user:
                continue
        except OSError:
            continue
        process = read_process(int(name))
        if process is not None and process.alive:
            processes.append(process)
    return processes


def _carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def _is_limited(pid: int, limits: set[int]) -> bool:
    return bool(limits) and _read_limit(pid) in limits


def _read_limit(pid: int) -> int:
    """Return the real-time limit of a process; 0 if it has none."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            for line in file:
                if line.startswith(b"Max realtime timeout"):
                    limit = line.split()[3]
                    return int(limit) if limit.isdigit() else 0
    except OSError:
        pass
    return 0


def _signal_all(processes: list[ProcessEntry], number: int, wait: float) -> None:
    """Signal every process and wait until all are gone, `wait` seconds at most."""
    waiting = select.poll()
    handles = []
    for process in processes:
        handle = _signal(process, number)
        if handle is not None:
            handles.append(handle)
            waiting.register(handle, select.POLLIN)
    deadline = time.monotonic() + wait
    left = len(handles)
    while left and (rest := deadline - time.monotonic()) > 0:
        for handle, _ in waiting.poll(rest * 1000):
            waiting.unregister(handle)
            left -= 1
    for handle in handles:
        os.close(handle)


def _signal(process: ProcessEntry, number: int) -> int | None:
    """Signal exactly this process; return a descriptor that becomes readable at its end."""
    if sys.platform != "linux":
        return None
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    # Checked while the handle is open: before that, the pid may have passed to a stranger.
    if not _is_same(process.pid, process.start):
        os.close(handle)
        return None
    try:
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return handle  # gone this moment, or not ours to signal
    return handle


def _end_groups(groups: dict[int, int], patience: float) -> None:
    """End whole process groups, on systems without /proc."""
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 0.0)):
        left = False
        for group in groups:
            try:
                os.killpg(group, number)
                left = True
            except OSError:
                continue
        if left:
            time.sleep(wait)  # noqa: TID251 - not their parent, there is nothing to wait on


class LeftProcesses:
    """The children of the hub, and those that must have ended at some time, whatever it does."""

    __slots__ = ("family", "instances", "deadlines", "overdue", "_since")

    def __init__(self, mark: str, since: int) -> None:
        self.family = ProcessFamily(mark, {}, {})
        self.instances: dict[str, int] = {}
        """The child of each instance."""
        self.deadlines: dict[str, float] = {}
        """The times of those that have one, by the monotonic clock."""
        self.overdue: set[str] = set()
        """Instances whose time was over: one that starts late is ended at once."""
        self._since = since

    def take(self, line: bytes) -> None:
        """Take a line of the hub.

        `+PID START LIMIT INSTANCE` adds a child, `~PID` spares it, `!PID` spares it no more, `-PID`
        removes it. `@INSTANCE TIME` gives an instance a time to end, `.INSTANCE` takes it away.
        """
        order, words = line[:1], line[1:].split()
        if order == b"+" and len(words) == 4:
            self._add(int(words[0]), int(words[1]), int(words[2]), words[3].decode())
        elif order == b"@" and len(words) == 2:
            instance = words[0].decode()
            self.deadlines[instance] = float(words[1])
            self.overdue.discard(instance)
        elif order == b".":
            self.deadlines.pop(words[0].decode(), None)
            self.overdue.discard(words[0].decode())
        elif words:
            self._change(order, int(words[0]))

    def _add(self, pid: int, start: int, limit: int, instance: str) -> None:
        self.family.sessions[pid] = start
        self.instances[instance] = pid
        if limit:
            self.family.limits[pid] = limit
        if instance in self.overdue:
            self._end(instance)

    def _change(self, order: bytes, pid: int) -> None:
        family = self.family
        if order == b"~":
            family.spared.add(pid)
            return
        family.spared.discard(pid)
        if order == b"-":
            family.sessions.pop(pid, None)
            family.limits.pop(pid, None)
            self.instances = {name: own for name, own in self.instances.items() if own != pid}

    @property
    def seconds(self) -> float | None:
        """The time until the next instance must have ended; None if none must."""
        return min(self.deadlines.values()) - time.monotonic() if self.deadlines else None

    def end_overdue(self) -> None:
        """End what must have ended by now; it is killed, for its time is over."""
        now = time.monotonic()
        for instance in [name for name, at in self.deadlines.items() if at <= now]:
            del self.deadlines[instance]
            self.overdue.add(instance)
            self._end(instance)

    def _end(self, instance: str) -> None:
        pid = self.instances.get(instance, 0)
        sessions = {pid: self.family.sessions[pid]} if pid else {}
        limits = {pid: self.family.limits[pid]} if pid in self.family.limits else {}
        if os.path.isdir("/proc/self"):
            end_processes(ProcessFamily(f"{INSTANCE}={instance}", sessions, limits), self._since, 0)
        elif pid:
            _end_groups(sessions, 0.0)


def _listen(left: LeftProcesses) -> None:
    """Read lines about children until the hub is gone, and end those whose time is over."""
    lines = select.poll()
    lines.register(0, select.POLLIN)
    rest = b""
    while True:
        seconds = left.seconds
        if lines.poll(None if seconds is None else max(0.0, seconds * 1000)):
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                left.take(line)
        left.end_overdue()


def _await_spared(left: ProcessFamily, seconds: float) -> None:
    """Wait until the spared children have ended, `seconds` at most; then spare none."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(_is_there(left, pid) for pid in left.spared):
        time.sleep(_LOOK)  # noqa: TID251 - not their parent, there is nothing to wait on
    left.spared.clear()


def _is_there(left: ProcessFamily, pid: int) -> bool:
    if os.path.isdir("/proc/self"):
        process = read_process(pid)
        return process is not None and process.alive and process.start == left.sessions.get(pid)
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def main(owner: str, since: int, fetch: float) -> None:
    """Wait for the end of the hub with the id `owner`, then end what it left."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    children = LeftProcesses(f"{OWNER}={owner}", since)
    _listen(children)
    left, seconds = children.family, children.seconds
    # Those that have a time to end may not install first, and have no longer than that.
    left.spared -= {children.instances.get(instance, 0) for instance in children.deadlines}
    patience = _TERM_WAIT if seconds is None else max(0.0, min(_TERM_WAIT, seconds))
    _end_left(left, since, patience)
    if left.spared:
        _await_spared(left, fetch)
        _end_left(left, since, _TERM_WAIT)


def _end_left(left: ProcessFamily, since: int, patience: float) -> None:
    if os.path.isdir("/proc/self"):
        end_processes(left, since, patience)
    else:
        groups = {pid: at for pid, at in left.sessions.items() if pid not in left.spared}
        _end_groups(groups, patience)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
