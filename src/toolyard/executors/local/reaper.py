"""Finds and ends processes that a hub started, also after the hub itself is gone.

Run as a file it is the warden: a small process beside the hub that holds a pipe
from it. When the pipe closes, however the hub ended, the warden ends what is
left and goes. It must start fast and stay small, so this file imports nothing
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
"""Signals meant for the hub: the warden goes when the hub has gone, not before."""

_TERM_WAIT = 1.5  # with the hub dead nobody is left to wait longer for
_KILL_WAIT = 1.0
_LOOK = 0.5  # between looks whether a child that is spared has ended
_KILL_ROUNDS = 5  # a process that forks while it is being killed needs more than one


class Seen:
    """One process as the kernel describes it; a pid and a start time name it for good."""

    __slots__ = ("alive", "parent", "pid", "session", "start")

    def __init__(self, pid: int, alive: bool, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.alive = alive
        self.parent = parent
        self.session = session
        self.start = start


def look(pid: int) -> Seen | None:
    """Give the process with this pid, or None where it or /proc is missing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, parentheses included.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Seen(pid, fields[0] not in b"ZX", int(fields[1]), int(fields[3]), int(fields[19]))


class Kin:
    """What tells the processes of some children from all others."""

    __slots__ = ("mark", "limits", "sessions", "spared")

    def __init__(self, mark: str, sessions: dict[int, int], limits: dict[int, int]) -> None:
        self.mark = mark
        """What all of them have in their environment, unless they dropped it."""
        self.sessions = sessions
        """The children themselves: pid to start time."""
        self.limits = limits
        """For each child, the time without a pause it was limited to: one of its own.

        Limits are inherited, whatever a process does to its session and its environment.
        """
        self.spared: set[int] = set()
        """Children that are not to be ended, with all in their sessions."""


def find(kin: Kin, since: int) -> list[Seen]:
    """Give the living processes that are ours and were started at `since` or later."""
    sessions, limits = kin.sessions, set(kin.limits.values())
    known = {pid for pid, start in sessions.items() if (p := look(pid)) and p.start == start}
    wanted = kin.mark.encode()
    rest = [p for p in _all_of_ours() if p.start >= since and p.session not in kin.spared]
    ours = {
        p.pid: p
        for p in rest
        if p.session in known or _carries(p.pid, wanted) or (limits and _limit_of(p.pid) in limits)
    }
    # Those that dropped the mark are still children of one that has it.
    while more := [p for p in rest if p.parent in ours and p.pid not in ours]:
        ours.update((p.pid, p) for p in more)
    return list(ours.values())


def end(kin: Kin, since: int, patience: float) -> None:
    """End all that `find` finds: TERM, up to `patience` seconds, then KILL until none is left."""
    steps = [(signal.SIGTERM, patience)] if patience > 0 else []
    steps += [(signal.SIGKILL, _KILL_WAIT)] * _KILL_ROUNDS
    for number, wait in steps:
        found = find(kin, since)
        if not found:
            return
        _strike(found, number, wait)


def _all_of_ours() -> list[Seen]:
    """Give the living processes of this user, without this one."""
    user, me = os.geteuid(), os.getpid()
    found = []
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
        seen = look(int(name))
        if seen is not None and seen.alive:
            found.append(seen)
    return found


def _carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def _limit_of(pid: int) -> int:
    """Give how long a process may run without a pause; 0 where that is not told."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            for line in file:
                if line.startswith(b"Max realtime timeout"):
                    limit = line.split()[3]
                    return int(limit) if limit.isdigit() else 0
    except OSError:
        pass
    return 0


def _strike(found: list[Seen], number: int, wait: float) -> None:
    """Signal each process and wait until all are gone, `wait` seconds at most."""
    waiting = select.poll()
    handles = []
    for seen in found:
        handle = _signal(seen, number)
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


def _signal(seen: Seen, number: int) -> int | None:
    """Signal exactly this process; give a descriptor that becomes readable at its end."""
    if sys.platform != "linux":
        return None
    try:
        handle = os.pidfd_open(seen.pid)
    except OSError:
        return None
    # Looked at while the handle is held: the pid may have passed to a stranger before that.
    now = look(seen.pid)
    if now is None or now.start != seen.start:
        os.close(handle)
        return None
    try:
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return handle  # gone this moment, or not ours to signal
    return handle


def _end_groups(groups: dict[int, int]) -> None:
    """End whole groups without /proc to look at: all that other systems offer."""
    for number, wait in ((signal.SIGTERM, _TERM_WAIT), (signal.SIGKILL, 0.0)):
        left = False
        for group in groups:
            try:
                os.killpg(group, number)
                left = True
            except OSError:
                continue
        if left:
            time.sleep(wait)  # noqa: TID251 - not their parent, there is nothing to wait on


def _listen(mark: str) -> Kin:
    """Hear of children until the hub is gone; give those it left.

    `+PID START LIMIT` is a new one, `~PID` one to spare, `!PID` one to spare no more, and `-PID` is
    gone.
    """
    left = Kin(mark, {}, {})
    for line in sys.stdin.buffer:
        words = line[1:].split()
        if line.startswith(b"+") and len(words) == 3:
            pid = int(words[0])
            left.sessions[pid] = int(words[1])
            if words[2] != b"0":
                left.limits[pid] = int(words[2])
        elif words:
            _change(left, line[:1], int(words[0]))
    return left


def _change(left: Kin, what: bytes, pid: int) -> None:
    if what == b"~":
        left.spared.add(pid)
        return
    left.spared.discard(pid)
    if what == b"-":
        left.sessions.pop(pid, None)
        left.limits.pop(pid, None)


def _await_spared(left: Kin, seconds: float) -> None:
    """Wait until the children that are spared have ended, so long at most; then none is."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(_is_there(left, pid) for pid in left.spared):
        time.sleep(_LOOK)  # noqa: TID251 - not their parent, and elsewhere nothing tells
    left.spared.clear()


def _is_there(left: Kin, pid: int) -> bool:
    if os.path.isdir("/proc/self"):
        seen = look(pid)
        return seen is not None and seen.alive and seen.start == left.sessions.get(pid)
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def main(owner: str, since: int, fetch: float) -> None:
    """Wait for the end of the hub called `owner`, then end what it left."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    left = _listen(f"{OWNER}={owner}")
    _end_left(left, since)
    if left.spared:
        _await_spared(left, fetch)
        _end_left(left, since)


def _end_left(left: Kin, since: int) -> None:
    if os.path.isdir("/proc/self"):
        end(left, since, _TERM_WAIT)
    else:
        _end_groups({pid: at for pid, at in left.sessions.items() if pid not in left.spared})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
