from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import toolyard
from toolyard.core.errors import StoreError
from toolyard.records.files import locked, read_bounded, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_and_so_are_the_directories_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    assert [mode(path), mode(path.parent), mode(tmp_path / "a")] == [0o600, 0o700, 0o700]


def test_an_existing_file_keeps_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o664)
    before = os.umask(0o077)
    try:
        write_atomic(path, b"new")
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode(path)) == (b"new", 0o664)


def test_a_symbolic_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_bytes(b"mine")
    link.symlink_to(victim)
    with pytest.raises(StoreError, match="symbolic link"):
        write_atomic(link, b"yours")
    assert link.is_symlink()
    assert victim.read_bytes() == b"mine"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = (
        "import resource, signal, sys, pathlib\n"
        "from toolyard.records.files import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "write_atomic(pathlib.Path(sys.argv[1]), b'x' * 1000)\n"
    )
    source = str(Path(toolyard.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
        timeout=60,
    )
    assert "StoreError: cannot write" in done.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_told_apart_from_one_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "none")
    with pytest.raises(StoreError, match="not a regular file"):
        read_bounded(tmp_path)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a regular file"):
        read_bounded(tmp_path / "pipe")


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(StoreError, match="larger than 4 bytes"):
        read_bounded(path, 4)


def test_changes_under_the_lock_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "count"
    write_atomic(path, b"0")

    def add(_: int) -> None:
        with locked(path):
            write_atomic(path, str(int(read_bounded(path)) + 1).encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(64)))
    assert read_bounded(path) == b"64"
    assert (tmp_path / "count.lock").exists()


def test_a_lock_that_is_held_is_given_up_on_with_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            held.set()
            release.wait(60)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        assert held.wait(60)
        with pytest.raises(StoreError, match="locked by another process"), locked(path, 0.1):
            pytest.fail("two hold the lock")
        release.set()
    with locked(path, 0.1):
        pass


def test_a_planted_link_at_the_locks_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match="cannot open the lock"), locked(tmp_path / "file"):
        pytest.fail("a link was taken for a lock")
    assert not (tmp_path / "victim").exists()
