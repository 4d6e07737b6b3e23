"""Many processes change one announce file while others are killed: nothing may be lost or torn.

    python tests/stress/announce_storm.py                the full storm, on tmpfs where there is one
    python tests/stress/announce_storm.py --small        a short one
    python tests/stress/announce_storm.py --without-lock the control: it must lose entries
    python tests/stress/announce_storm.py --list         only what it costs to list 1,000 entries

Every writer owns one entry and notes in shared memory what it began and what was acknowledged.
After each acknowledged change, and each kill, the file must hold what was acknowledged (or,
after a kill, what was begun). Readers take no lock and must never see anything but a whole file.

Each change is checked, and checked at once, for a later change of the same entry would hide that
it was lost. Its bytes are looked for, and the file is not read as JSON: that is the stricter check,
since nobody else changes the entry, and it leaves the time to those who write.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import mmap
import os
import random
import shutil
import signal
import statistics
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from toolyard import announce

PAUSE = threading.Event()
"""Never set: a storm is watched from time to time, and not told anything."""
CELL = struct.Struct("10q")
BEGUN, ACKED, CHANGES, LOST, UNREADABLE, REFUSED, WORST, READS, STOP, HOLDS = range(10)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a storm came to."""

    changes: int
    """Entries added, replaced or removed; each was looked for afterwards."""
    kills: int
    amid: int
    """Kills of the one process that held the lock, somewhere between reading and renaming."""
    lost: int
    unreadable: int
    refused: int
    reads: int
    left: int
    worst_wait: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.changes} changes, {self.kills} kills ({self.amid} amid a change), "
            f"{self.lost} lost, "
            f"{self.unreadable} unreadable of {self.reads} reads, {self.refused} refused, "
            f"{self.left} temporary files left, worst wait {self.worst_wait * 1000:.0f} ms, "
            f"{self.seconds:.1f} s"
        )


class Ledger:
    """What each process began and finished, in memory that survives it."""

    def __init__(self, slots: int) -> None:
        self._memory = mmap.mmap(-1, slots * CELL.size)
        self._slots = slots

    def get(self, slot: int, field: int) -> int:
        return int(struct.unpack_from("q", self._memory, slot * CELL.size + field * 8)[0])

    def put(self, slot: int, field: int, value: int) -> None:
        struct.pack_into("q", self._memory, slot * CELL.size + field * 8, value)

    def add(self, slot: int, field: int) -> None:
        self.put(slot, field, self.get(slot, field) + 1)

    def all(self, field: int) -> tuple[int, ...]:
        return struct.unpack(f"{self._slots * 10}q", self._memory[:])[field::10]

    def total(self, field: int) -> int:
        return sum(self.all(field))


def held(path: Path, slot: int) -> int | None:
    """The number of the change that the entry of a slot shows; None if there is no entry."""
    entry = announce.Announcements(path).read().servers.get(f"slot_{slot}")  # without a lock
    return None if entry is None else int(entry["change"])


def expected(change: int) -> int | None:
    """What a change leaves behind: every second removes the entry."""
    return None if change % 2 == 0 else change


def shows(path: Path, slot: int, entry: dict[str, Any] | None) -> bool:
    """Tell whether the file has the entry of a slot to the byte, or none; takes no lock."""
    fd = os.open(path, os.O_RDONLY)
    content = os.read(fd, 100_000)
    os.close(fd)
    key = b'\n    "slot_%d": ' % slot
    if entry is None:
        return key not in content
    return key + json.dumps(entry, indent=2).replace("\n", "\n    ").encode() in content


def is_lost(path: Path, ledger: Ledger, slot: int) -> bool:
    """Tell whether the entry of a dead writer shows neither what was acknowledged nor what began.

    What it shows is what holds from now on: the next writer of the slot may be killed before its
    first change, and must not answer for one that its predecessor made and could not acknowledge.
    """
    shown = held(path, slot)
    for field in (BEGUN, ACKED):
        if shown == expected(ledger.get(slot, field)):
            ledger.put(slot, ACKED, ledger.get(slot, field))
            return False
    return True


def note_lock(ledger: Ledger, slot: int) -> None:
    """Have this process note when it holds the lock, so that it can be killed just then."""
    alone = announce._alone

    def noted(path: Path, seconds: float, work: Callable[[], Any]) -> Any:
        def noting() -> Any:
            ledger.put(slot, HOLDS, 1)
            try:
                return work()
            finally:
                ledger.put(slot, HOLDS, 0)

        return alone(path, seconds, noting)

    announce._alone = noted


def goes_on(ledger: Ledger, keeper: int) -> bool:
    return not ledger.get(0, STOP) and os.getppid() == keeper


def write(path: Path, ledger: Ledger, slot: int, keeper: int) -> None:
    """Change the entry of a slot until all have done enough; never returns."""
    file = announce.Announcements(path)
    note_lock(ledger, slot)
    if slot % 10 == 0:  # one that must be cleaned up after a kill
        file.register_server(f"own_{os.getpid()}", {"name": "own", "pid": os.getpid()})
    while goes_on(ledger, keeper):
        change = ledger.get(slot, BEGUN) + 1
        ledger.put(slot, BEGUN, change)
        began, entry = time.monotonic_ns(), None
        if expected(change) is None:
            problem = file.unregister_server(f"slot_{slot}")
        else:
            entry = {"name": "slot", "pid": keeper, "change": change}
            problem = file.register_server(f"slot_{slot}", entry)
        ledger.put(slot, WORST, max(ledger.get(slot, WORST), time.monotonic_ns() - began))
        if problem:
            ledger.add(slot, REFUSED)
            continue
        ledger.put(slot, ACKED, change)
        ledger.add(slot, CHANGES)
        if not shows(path, slot, entry):
            ledger.add(slot, LOST)
    file.unregister_server(f"own_{os.getpid()}")
    os._exit(0)


def read(path: Path, ledger: Ledger, slot: int, keeper: int) -> None:
    """Read the file without a lock, and count what cannot be read; never returns."""
    while goes_on(ledger, keeper):
        with contextlib.suppress(FileNotFoundError):
            try:
                json.loads(path.read_bytes())["servers"].items()
            except ValueError:
                ledger.add(slot, UNREADABLE)
        ledger.add(slot, READS)
        PAUSE.wait(0.02)
    os._exit(0)


def fork(job: Any, *args: Any) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        job(*args)
    finally:
        os._exit(70)


def victim(ledger: Ledger, slots: int, number: int) -> int:
    """Choose whom to kill: every second time whoever holds the lock, if anybody can be caught."""
    for _ in range(200 if number % 2 else 0):
        if holders := [slot for slot, holds in enumerate(ledger.all(HOLDS)) if holds]:
            return random.choice(holders)
    return random.randrange(slots)


def storm(
    folder: Path,
    *,
    processes: int = 50,
    changes: int = 100_000,
    kills: int = 500,
    limit: float = 300.0,
) -> Outcome:
    """Let it storm over a file in a folder, for at most `limit` seconds."""
    path, ledger = folder / "mcp_servers.json", Ledger(processes + 2)
    keeper, began = os.getpid(), time.monotonic()
    gc.freeze()  # or each child copies what it inherits as soon as it looks for garbage
    writers = [fork(write, path, ledger, slot, keeper) for slot in range(processes)]
    readers = [fork(read, path, ledger, processes + n, keeper) for n in range(2)]
    killed = lost = amid = 0
    try:
        while time.monotonic() - began < limit:
            if (done := ledger.total(CHANGES)) >= changes and killed >= kills:
                break
            # Spread over the whole storm, and a few more than asked for.
            if killed * changes >= done * kills * 1.1:
                PAUSE.wait(0.01)
                continue
            slot = victim(ledger, processes, killed)
            os.kill(writers[slot], signal.SIGKILL)
            os.waitpid(writers[slot], 0)
            killed += 1
            amid += ledger.get(slot, HOLDS)
            ledger.put(slot, HOLDS, 0)
            lost += is_lost(path, ledger, slot)
            writers[slot] = fork(write, path, ledger, slot, keeper)
        ledger.put(0, STOP, 1)
        for pid in [*writers, *readers]:
            os.waitpid(pid, 0)
    except BaseException:
        for pid in [*writers, *readers]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        raise
    seconds = time.monotonic() - began
    lost += sum(is_lost(path, ledger, slot) for slot in range(processes))
    announce.Announcements(path).register_server("last", {"name": "last", "pid": keeper})
    return Outcome(
        changes=ledger.total(CHANGES),
        kills=killed,
        amid=amid,
        lost=lost + ledger.total(LOST),
        unreadable=ledger.total(UNREADABLE),
        refused=ledger.total(REFUSED),
        reads=ledger.total(READS),
        left=len(list(folder.glob(".*.tmp"))),
        worst_wait=max(ledger.all(WORST)) / 1e9,
        seconds=seconds,
    )


@contextlib.contextmanager
def without_lock() -> Iterator[None]:
    """Take the lock away, to show that a storm notices."""

    kept = announce._alone
    announce._alone = lambda path, seconds, work: work()
    try:
        yield
    finally:
        announce._alone = kept


@contextlib.contextmanager
def memory() -> Iterator[Path]:
    """Give an empty folder, in memory where the system has a place for that."""
    shared = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="storm-", dir=shared if shared.is_dir() else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def listing(folder: Path, entries: int = 1000) -> str:
    """Time `list_servers`: entries of one process; of as many processes, first and again."""
    path = folder / "list.json"
    sleepers = [fork(signal.pause) for _ in range(entries)]
    try:
        template = announce.announce("listed", "http://127.0.0.1:9/mcp", tools=["a", "b"])._beat()
        alike = {f"a_{n}": template for n in range(entries)}
        own = {
            f"a_{pid}": {
                **template,
                "pid": pid,
                "start_time": (announce._look(pid) or (0, None))[1],
            }
            for pid in sleepers
        }
        times = []
        for servers in (alike, own):
            path.write_text(json.dumps({"version": "1.0", "servers": servers}, indent=2))
            file = announce.Announcements(path)
            for _ in range(8):
                began = time.perf_counter()
                assert len(file.list_servers()) == entries
                times.append((time.perf_counter() - began) * 1000)
    finally:
        for pid in sleepers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    one, first, again = statistics.median(times[:8]), times[8], statistics.median(times[9:])
    return (
        f"list_servers with {entries} entries: {one:.1f} ms of one process, "
        f"{first:.1f} ms of {entries} processes, then {again:.1f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--without-lock", action="store_true")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    size = {"processes": 16, "changes": 4000, "kills": 60} if chosen.small else {}
    with memory() as folder:
        if chosen.without_lock:
            with without_lock():
                outcome = storm(folder, processes=16, changes=2000, kills=0)
            print(f"without the lock: {outcome}")
            return 0 if outcome.lost else 1
        if chosen.list:
            print(listing(folder))
            return 0
        outcome = storm(folder, **size)
        print(outcome)
        print(listing(folder))
    return 1 if outcome.lost or outcome.unreadable or outcome.refused or outcome.left else 0


if __name__ == "__main__":
    sys.exit(main())
