"""A hub's threads take memory from one heap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, sys, threading
from toolyard.app.allocator import share_one_heap

if sys.argv[1] == "shared":
    assert share_one_heap()
kept = []
thread = threading.Thread(target=lambda: kept.extend(bytes(2000) for _ in range(500)))
thread.start()
thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
assert libc.malloc_info(0, file) == 0
libc.fclose(file)
"""

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only glibc is told how to give out memory"
)


def heaps(tmp_path: Path, mode: str) -> int:
    """The heaps of a process whose second thread has taken memory."""
    report = tmp_path / mode
    argv = [sys.executable, "-c", PROGRAM, mode, str(report)]
    subprocess.run(argv, check=True, timeout=60)
    return report.read_text().count("<heap nr=")


def test_a_thread_has_no_heap_of_its_own(tmp_path: Path) -> None:
    assert heaps(tmp_path, "each its own") == 2
    assert heaps(tmp_path, "shared") == 1
