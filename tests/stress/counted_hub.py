"""Runs a command with a door at which its own insides are counted.

    python tests/stress/counted_hub.py SOCKET [--trace] [--leak] PYTHON -m toolyard up ...

Whoever connects to SOCKET is told, in JSON, how many tasks, threads and memory blocks there are;
the word `where` is answered with the lines that allocated most since the first such word. `--leak`
is the control: memory, descriptors and tasks then grow, and whoever measures must see it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import socket
import sys
import threading
import tracemalloc

LEAK_BYTES = 4096
LEAK_SECONDS = 0.5
LINES = 25


def the_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs in this process."""
    loops = (thing for thing in gc.get_objects() if isinstance(thing, asyncio.AbstractEventLoop))
    return next((loop for loop in loops if loop.is_running()), None)


class Counter:
    """Answers what is asked at the socket."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.first: tracemalloc.Snapshot | None = None

    def counts(self) -> dict[str, int]:
        """Count what can be counted without a stop."""
        self.loop = self.loop or the_loop()
        tasks = len(asyncio.all_tasks(self.loop)) if self.loop else 0
        blocks = sys.getallocatedblocks()
        return {"tasks": tasks, "threads": threading.active_count(), "blocks": blocks}

    def where(self) -> list[str]:
        """Return the lines that hold more memory than at first."""
        gc.collect()
        now = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__)]
        )
        if self.first is None:
            self.first = now
            return []
        grown = now.compare_to(self.first, "traceback")
        return [
            f"{row.size_diff:+} B {row.count_diff:+} {' < '.join(row.traceback.format())}"
            for row in grown[:LINES]
        ]

    def serve(self, path: str) -> None:
        """Answer until the process ends."""
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(path)
            door.listen()
            while True:
                caller, _ = door.accept()
                with caller:
                    answer = self.where() if caller.recv(100) == b"where" else self.counts()
                    caller.sendall(json.dumps(answer).encode())


def leak(counter: Counter) -> None:
    """Lose a little of everything, twice a second."""
    lost: list[object] = []
    pause = threading.Event()
    while not pause.wait(LEAK_SECONDS):
        lost += [[os.urandom(64)] for _ in range(LEAK_BYTES // 64)]
        lost.append(os.open(os.devnull, os.O_RDONLY))
        if counter.loop is not None:
            lost.append(asyncio.run_coroutine_threadsafe(asyncio.sleep(86400), counter.loop))


def main(words: list[str]) -> None:
    """Run the module that the words name."""
    path, *rest = words
    counter = Counter()
    if rest[0] == "--trace":
        rest.pop(0)
        tracemalloc.start(6)
    threading.Thread(target=counter.serve, args=[path], daemon=True).start()
    if rest[0] == "--leak":
        rest.pop(0)
        threading.Thread(target=leak, args=[counter], daemon=True).start()
    _, _, module, *sys.argv[1:] = rest
    sys.path.pop(0)  # the folder of this file, which has modules of its own
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
