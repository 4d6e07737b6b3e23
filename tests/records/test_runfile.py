from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import toolyard
from toolyard.core.errors import StoreError
from toolyard.records import directories as places
from toolyard.records.directories import SOCKET_LONGEST, make_private, socket_path
from toolyard.records.runfile import AlreadyRunningError, HubState, RunDir, process_start

SOURCE = str(Path(toolyard.__file__).parents[1])
URL = "http://127.0.0.1:7420"


@pytest.fixture
def run_dir(home: Path) -> RunDir:
    return RunDir(home / "runtime" / "toolyard")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def another_process(script: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


HOLDER = """
import sys, pathlib
from toolyard.records.runfile import HubState, RunDir
place = RunDir(pathlib.Path(sys.argv[1]))
with place.hold():
    place.write(HubState.of_this_process("http://127.0.0.1:7420", 7420))
    print("holding", flush=True)
    sys.stdin.read()
"""


def test_what_is_written_is_read_and_private(run_dir: RunDir) -> None:
    state = HubState.of_this_process(URL, 7420, config="/etc/servers.json")

    run_dir.write(state)

    assert run_dir.read() == state
    assert mode(run_dir.path) == 0o700
    assert mode(run_dir.path / "hub.json") == 0o600


def test_there_is_no_hub_before_one_is_written_and_after_it_is_cleared(run_dir: RunDir) -> None:
    assert run_dir.read() is None
    run_dir.write(HubState.of_this_process(URL, 7420))
    run_dir.clear()
    run_dir.clear()
    assert run_dir.read() is None


def test_a_pid_that_passed_to_another_process_is_no_hub(run_dir: RunDir) -> None:
    state = HubState.of_this_process(URL, 7420)

    run_dir.write(replace(state, start_time=state.start_time - 1))

    assert run_dir.read() is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"pid": "1", "url": "x"}', '{"pid": 1}', "\xff", "null", '"text"'],
)
def test_a_damaged_run_file_is_no_hub(text: str, run_dir: RunDir) -> None:
    run_dir.write(HubState.of_this_process(URL, 7420))
    (run_dir.path / "hub.json").write_text(text, "latin-1")

    assert run_dir.read() is None


def test_keys_of_a_newer_version_do_no_harm(run_dir: RunDir) -> None:
    state = HubState.of_this_process(URL, 7420)
    run_dir.write(state)
    file = run_dir.path / "hub.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "mood": "fine"}))

    assert run_dir.read() == state


def test_a_second_hub_is_told_where_the_first_one_is(run_dir: RunDir) -> None:
    with another_process(HOLDER, str(run_dir.path)) as first:
        assert first.stdout and first.stdout.readline() == "holding\n"

        with pytest.raises(AlreadyRunningError) as caught, run_dir.hold():
            pass

        first.communicate("")
    assert (caught.value.pid, caught.value.url) == (first.pid, URL)
    assert URL in str(caught.value)


def test_a_hub_that_was_killed_leaves_the_place_free(run_dir: RunDir) -> None:
    with another_process(HOLDER, str(run_dir.path)) as first:
        assert first.stdout and first.stdout.readline() == "holding\n"
        first.kill()
    assert (run_dir.path / "hub.json").exists()

    assert run_dir.read() is None
    with run_dir.hold():
        pass


def test_a_hub_can_wait_for_one_that_is_leaving(run_dir: RunDir) -> None:
    held, leave = threading.Event(), threading.Event()

    def first() -> None:
        with run_dir.hold():
            held.set()
            leave.wait(60)

    with ThreadPoolExecutor() as pool:
        job = pool.submit(first)
        assert held.wait(60)
        with pytest.raises(AlreadyRunningError, match="starting or stopping"), run_dir.hold():
            pass
        leave.set()
        with run_dir.hold(deadline=10):
            pass
        job.result(60)


def test_the_lock_file_stays(run_dir: RunDir) -> None:
    with run_dir.hold():
        before = (run_dir.path / "hub.lock").stat().st_ino

    assert (run_dir.path / "hub.lock").stat().st_ino == before


def test_an_error_inside_the_lock_is_not_mistaken_for_a_holder(run_dir: RunDir) -> None:
    with pytest.raises(StoreError, match="mine"), run_dir.hold():
        raise StoreError("mine")


def test_a_lock_that_cannot_be_opened_is_not_mistaken_for_a_holder(run_dir: RunDir) -> None:
    make_private(str(run_dir.path))
    (run_dir.path / "hub.lock").symlink_to("elsewhere")

    with pytest.raises(StoreError, match="cannot open the lock"), run_dir.hold():
        pass


def test_the_token_is_long_private_and_the_same_at_the_next_start(run_dir: RunDir) -> None:
    token = run_dir.token()

    assert len(token) >= 43
    assert RunDir(run_dir.path).token() == token
    assert mode(run_dir.path / "token") == 0o600


def test_all_who_ask_for_the_token_at_once_get_the_same(run_dir: RunDir) -> None:
    gate = threading.Barrier(8)

    def ask(_: int) -> str:
        gate.wait(60)
        return RunDir(run_dir.path).token()

    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(ask, range(8)))

    assert len(tokens) == 1


@pytest.mark.parametrize("trouble", ["short", "open"])
def test_a_token_file_that_cannot_be_trusted_is_refused(trouble: str, run_dir: RunDir) -> None:
    token = run_dir.token()
    file = run_dir.path / "token"
    if trouble == "short":
        file.write_text("abc")
    else:
        file.chmod(0o644)

    with pytest.raises(StoreError) as caught:
        run_dir.token()

    assert "delete it" in caught.value.hint
    assert token not in str(caught.value)


def test_the_socket_is_in_the_run_directory_where_that_fits(run_dir: RunDir) -> None:
    assert run_dir.socket == run_dir.path / "hub.sock"


def test_a_path_too_long_for_a_socket_gets_a_short_private_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SHARED", str(home))
    long = RunDir(home / ("ü" * 60))

    path = long.socket

    assert len(os.fsencode(path)) <= SOCKET_LONGEST
    assert mode(path.parent) == 0o700
    assert path == long.socket
    assert path != RunDir(home / ("ö" * 60)).socket


def test_a_short_directory_made_by_somebody_else_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SHARED", str(home))
    long = str(home / ("x" * 120))
    short = Path(socket_path(long)).parent
    short.rmdir()
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    short.symlink_to(elsewhere)

    with pytest.raises(StoreError, match="not a directory of yours"):
        socket_path(long)


def test_a_directory_open_to_others_is_closed(home: Path) -> None:
    place = home / "open"
    place.mkdir()
    place.chmod(0o755)

    make_private(str(place))

    assert mode(place) == 0o700


def test_the_parents_that_are_made_are_private_too(home: Path) -> None:
    make_private(str(home / "a" / "b"))

    assert [mode(home / "a"), mode(home / "a" / "b")] == [0o700, 0o700]


def test_a_place_that_cannot_be_made_is_an_error_with_a_hint(home: Path) -> None:
    (home / "file").touch()

    with pytest.raises(StoreError, match="cannot use the directory") as caught:
        make_private(str(home / "file" / "sub"))

    assert "TOOLYARD_HOME" in caught.value.hint


def test_a_process_that_ended_but_was_not_waited_for_is_gone() -> None:
    with another_process("input(); print('bye')") as child:
        assert process_start(child.pid) is not None
        assert child.stdin and child.stdout
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.read() == "bye\n"
        # It is a zombie from the moment the kernel says so, without being waited for.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process_start(child.pid) is None
