"""kill -9 at every system call of a change: the file is always the old one or the new one."""

from __future__ import annotations

import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.stress.announce_storm import memory
from toolyard import announce

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")

MARK = "/the-change-begins-here"
PROGRAM = f"""
import os, sys
sys.path.insert(0, sys.argv[1])
import announce
import fcntl, json.decoder  # nothing is left to be loaded later
file = announce.Announcements(sys.argv[2])
entry = {{"name": "new", "pid": int(sys.argv[4])}}
os.path.exists({MARK!r})
file.register_server("new", entry) if sys.argv[3] == "add" else file.unregister_server("old")
os.path.exists({MARK!r})
os._exit(0)
"""
CALL = re.compile(r"^(?:\d+ +)?(\w+)\(")
HARMLESS = frozenset("brk mmap munmap mprotect madvise futex rt_sigaction exit_group".split())
"""How often these are called differs from run to run, and none of them touches a file."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory() as folder:
        # Compiled beforehand, so that loading it takes the same system calls every time.
        py_compile.compile(str(shutil.copy(announce.__file__, folder)), doraise=True)
        yield folder


def command(folder: Path, how: str) -> list[str]:
    path = str(folder / "mcp_servers.json")
    python = [sys.executable, "-I", "-S", "-B", "-c", PROGRAM]
    return [*python, str(folder.parent), path, how, str(os.getpid())]


def traced(folder: Path, how: str, *options: str) -> tuple[int, str]:
    assert STRACE is not None
    log = folder / "trace"
    arguments = [STRACE, "-f", "-qq", "-o", str(log), *options, *command(folder, how)]
    code = subprocess.run(arguments, env={"PYTHONHASHSEED": "0"}, timeout=60).returncode
    return code, log.read_text()


def prepare(folder: Path, old: dict | None) -> None:
    folder.mkdir()
    if old is not None:
        (folder / "mcp_servers.json").write_text(json.dumps(old, indent=2))


def points(trace: str) -> list[tuple[str, int]]:
    """Every system call between the marks, as its name and the number of its occurrence."""
    seen: Counter[str] = Counter()
    found, inside = [], False
    for line in trace.splitlines():
        if match := CALL.match(line):
            name = match[1]
            seen[name] += 1
            if MARK in line:
                inside = not inside
            elif inside and name not in HARMLESS:
                found.append((name, seen[name]))
    return found


def state(folder: Path) -> dict | None:
    path = folder / "mcp_servers.json"
    return json.loads(path.read_bytes()) if path.exists() else None


@pytest.mark.parametrize("how", ["first", "add", "remove"])
def test_a_kill_at_any_system_call_leaves_the_old_or_the_new_file(
    folder: Path, how: str, record_property: Callable[[str, object], None]
) -> None:
    entry = {"name": "old", "pid": os.getpid()}
    old = None if how == "first" else {"version": "1.0", "servers": {"old": entry}}
    verb = "remove" if how == "remove" else "add"
    whole = folder / "whole"
    prepare(whole, old)
    code, trace = traced(whole, verb)
    if code != 0:
        pytest.skip("strace may not trace here")
    new, sweep = state(whole), points(trace)
    assert new != old
    assert {"flock", "fsync", "write"} <= {name for name, _ in sweep}

    def kill_at(number: int) -> tuple[int, dict | None]:
        name, occurrence = sweep[number]
        place = folder / str(number)
        prepare(place, old)
        inject = f"inject={name}:signal=KILL:when={occurrence}"
        code, _ = traced(place, verb, "-e", f"trace={name}", "-e", inject)
        return code, state(place)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(kill_at, range(len(sweep))))

    later = sum(after == new for _, after in outcomes)
    record_property("figure", f"announce file, {how}: {len(sweep)} kills, {later} with the new")
    assert all(code == -9 for code, _ in outcomes), [*zip(sweep, outcomes, strict=True)]
    assert all(after in (old, new) for _, after in outcomes), [*zip(sweep, outcomes, strict=True)]
    assert {json.dumps(after) for _, after in outcomes} == {json.dumps(old), json.dumps(new)}
    for number in range(len(sweep)):  # and whoever comes next is not held up
        file = announce.Announcements(folder / str(number) / "mcp_servers.json")
        assert file.register_server("next", {"name": "next", "pid": os.getpid()}) is None
        assert not list(file.path.parent.glob(".*.tmp"))
