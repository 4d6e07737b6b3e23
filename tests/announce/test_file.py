from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolyard import announce
from toolyard.announce import Announcements

SEED = """{
  "version": "1.0",
  "servers": {
    "nabu_mcp_507853": {
      "name": "nabu_mcp",
      "pid": %d,
      "stdio_active": true,
      "http": {
        "enabled": true,
        "host": "0.0.0.0",
        "port": 1338,
        "url": "http://localhost:1338"
      },
      "started_at": "2025-10-27T15:41:59Z",
      "cwd": "/srv/nabu_nisaba"
    }
  }
}"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcp_servers.json"


@pytest.fixture
def dead() -> int:
    """The pid of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def mine(**more: object) -> dict:
    return {"name": "x", "pid": os.getpid(), **more}


def servers(path: Path) -> dict:
    return json.loads(path.read_bytes())["servers"]


def test_a_file_of_the_first_implementation_is_rewritten_byte_for_byte(path: Path) -> None:
    text = SEED % os.getpid()
    path.write_text(text)
    file = Announcements(path)
    assert file.register_server("b_1", mine()) is None
    assert file.unregister_server("b_1") is None
    assert path.read_text() == text
    assert list(file.list_servers()) == ["nabu_mcp_507853"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(json_values)
def test_the_text_is_that_of_the_json_module(value: object) -> None:
    assert announce._text(value, "") == json.dumps(value, indent=2)


def test_unknown_keys_are_kept_at_every_level(path: Path) -> None:
    entries = {"a": mine(extra={"deep": [True, 1.5]}, http={"tls": "x"})}
    document = {"version": "1.7", "later": [1, {"a": None}], "servers": entries}
    path.write_text(json.dumps(document))
    Announcements(path).register_server("b", mine())
    after = json.loads(path.read_bytes())
    assert after.pop("servers") == {**entries, "b": mine()}
    assert after == {"version": "1.7", "later": [1, {"a": None}]}


def test_a_later_format_is_neither_read_nor_changed(path: Path) -> None:
    text = json.dumps({"version": "2.0", "servers": {"a": mine()}})
    path.write_text(text)
    file = Announcements(path)
    problem = file.register_server("b", mine())
    assert problem is not None and "version '2.0'" in problem
    assert file.list_servers() == {}
    assert path.read_text() == text


def test_a_recycled_pid_and_a_reboot_are_seen(path: Path) -> None:
    start, boot = announce._look(os.getpid()), announce._boot_id()
    if start is None or boot is None:
        pytest.skip("this system tells neither start times nor a boot id")
    file = Announcements(path)
    for key, entry in {
        "right": mine(start_time=start[1], boot_id=boot),
        "recycled": mine(start_time=start[1] - 1, boot_id=boot),
        "rebooted": mine(start_time=start[1], boot_id="another"),
    }.items():
        path.write_text(json.dumps({"version": "1.0", "servers": {key: entry}}))
        assert list(file.list_servers()) == (["right"] if key == "right" else [])


def test_a_process_that_nobody_waited_for_is_dead(path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it ended, and stays a zombie
    if announce._look(process.pid) is None:
        pytest.skip("this system does not tell a zombie")
    assert announce.judge({"pid": process.pid}) == announce.DEAD
    process.communicate()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_a_process_of_another_user_lives() -> None:
    script = (
        "import os,sys;from toolyard import announce as a;os.setuid(65534);"
        f"sys.exit(a.judge({{'pid': {os.getpid()}}}) != a.LIVE)"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd="/").returncode == 0


def test_dead_entries_of_other_users_and_hosts_are_never_removed(path: Path, dead: int) -> None:
    foreign = {
        "user": {"name": "u", "pid": dead, "user": 4_000_000},
        "host": {"name": "h", "pid": dead, "host": "another-host"},
        "odd": {"name": "no pid"},
        "odder": "not an entry",
    }
    ours = {"dead": {"name": "d", "pid": dead, "host": socket.gethostname()}}
    path.write_text(json.dumps({"version": "1.0", "servers": {**foreign, **ours}}))
    file = Announcements(path)
    assert file.list_servers() == {}
    file.register_server("me", mine())
    assert servers(path) == {**foreign, "me": mine()}


@pytest.mark.parametrize("pid", [0, -1, True, "7", 2**70, None, 1.5, [1]])
def test_a_strange_pid_is_not_listed(path: Path, pid: object) -> None:
    path.write_text(json.dumps({"version": "1.0", "servers": {"a": {"pid": pid}}}))
    assert Announcements(path).list_servers() == {}


CORRUPT = [
    b"{",
    b"[]",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"servers": []}',
    b'{"version": "1.0", "servers": {"a": NaN}}',
    b'{"a":' * 100_000,
    SEED.encode()[:200],
]


@pytest.mark.parametrize("content", CORRUPT, ids=range(len(CORRUPT)))
def test_a_corrupt_file_is_set_aside_whole_and_reported(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(content)
    file = Announcements(path)
    assert file.list_servers() == {}
    assert file.read().problem is not None
    assert path.read_bytes() == content, "reading must change nothing"

    problem = file.register_server("a", mine())

    assert problem is not None and "set aside" in problem and problem in caplog.text
    [aside] = path.parent.glob("mcp_servers.json.corrupt-*")
    assert aside.name in problem
    assert aside.read_bytes() == content
    assert list(file.list_servers()) == ["a"]
    assert file.register_server("b", mine()) is None


def test_a_reader_keeps_the_last_good_entries_while_the_file_is_broken(path: Path) -> None:
    file = Announcements(path)
    file.register_server("a", mine())
    assert list(file.list_servers()) == ["a"]
    path.write_text("{")
    assert list(file.list_servers()) == ["a"]


def test_every_prefix_of_a_file_is_read_without_a_crash(path: Path) -> None:
    text = (SEED % os.getpid()).encode()
    for length in range(0, len(text), 9):
        path.write_bytes(text[:length])
        assert Announcements(path).list_servers() == {}


def test_a_fresh_project_has_no_file_and_reading_makes_none(tmp_path: Path) -> None:
    path = tmp_path / "a" / ".nisaba" / "mcp_servers.json"
    file = Announcements(path)
    assert file.list_servers() == {}
    assert file.unregister_server("x") is None
    assert not path.parent.exists()
    assert file.register_server("x", mine()) is None
    assert file.unregister_server("x") is None
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]


def test_new_files_are_private_and_an_existing_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / ".nisaba" / "mcp_servers.json"
    file = Announcements(path)
    file.register_server("a", mine())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
    path.chmod(0o644)
    file.register_server("b", mine())
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_links_in_the_way_are_not_followed(path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text('{"servers": {}}')
    file = Announcements(path)

    lock = path.with_name(f"{path.name}.lock")
    lock.symlink_to(precious)
    assert file.register_server("a", mine()) is not None
    lock.unlink()

    path.symlink_to(precious)
    assert file.register_server("a", mine()) is not None
    assert precious.read_text() == '{"servers": {}}'


def test_a_pipe_or_a_folder_in_the_way_holds_nobody_up(path: Path) -> None:
    file = Announcements(path)
    os.mkfifo(path)
    assert file.list_servers() == {}
    assert file.register_server("a", mine()) is not None
    path.unlink()
    path.mkdir()
    assert file.list_servers() == {}
    assert file.register_server("a", mine()) is not None


def test_what_a_killed_writer_left_is_removed_by_the_next(path: Path, dead: int) -> None:
    left = path.with_name(f".{path.name}.{dead}-abcd.tmp")
    other = path.with_name(f".{path.name}.{os.getpid()}-abcd.tmp")
    for each in (left, other):
        each.write_text("half")
    Announcements(path).register_server("a", mine())
    assert not left.exists()
    assert other.exists(), "its writer may still be at it"


def test_an_entry_that_is_no_json_is_refused_and_nothing_changes(path: Path) -> None:
    file = Announcements(path)
    file.register_server("a", mine())
    before = path.read_bytes()
    for wrong in (mine(x=object()), mine(x=float("nan")), mine(x={(1, 2): 3})):
        assert file.register_server("b", wrong) is not None
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.tmp"))


def test_a_held_lock_is_waited_for_only_so_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announce, "LOCK_WAIT", 0.1)
    script = (
        "import sys;from pathlib import Path;from toolyard import announce as a\n"
        "with a._locked(Path(sys.argv[1]), 1): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"held\n"
        problem = Announcements(path).register_server("a", mine())
        assert problem is not None and "held the lock" in problem
        holder.kill()
    assert Announcements(path).register_server("a", mine()) is None, "a dead holder holds nothing"


def test_threads_lose_nothing(path: Path) -> None:
    file, problems = Announcements(path), []

    def work(thread: int) -> None:
        for step in range(12):
            problems.append(file.register_server(f"{thread}_{step}", mine(step=step)))
            if step % 2:
                problems.append(Announcements(path).unregister_server(f"{thread}_{step}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(problems) == {None}
    assert set(servers(path)) == {f"{n}_{step}" for n in range(6) for step in range(0, 12, 2)}


def test_a_fork_in_the_middle_of_a_write_leaves_nobody_locked_out(path: Path) -> None:
    with announce._locked(path, 1):
        pid = os.fork()
        if pid == 0:  # the other threads of the parent, and what they held, are not here
            os._exit(Announcements(path)._change("c", mine(), 0.1) is None)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, "the parent held it all the time"
    assert Announcements(path).register_server("a", mine()) is None


def test_the_path_does_not_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    file = Announcements("mcp_servers.json")
    monkeypatch.chdir(tmp_path / "a")
    file.register_server("x", mine())
    assert (tmp_path / "mcp_servers.json").exists()


def test_the_default_is_the_project_or_else_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    inner = tmp_path / "repo" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    if sys.platform == "linux":
        assert announce.default_path() == home / "state" / "toolyard" / "mcp_servers.json"
    (tmp_path / "repo" / ".git").mkdir()
    assert announce.default_path() == inner / ".nisaba" / "mcp_servers.json"
    assert announce.project_paths(inner) == [
        inner / ".nisaba" / "mcp_servers.json",
        tmp_path / "repo" / ".nisaba" / "mcp_servers.json",
    ]


def test_the_module_works_alone(tmp_path: Path) -> None:
    (tmp_path / "copied.py").write_bytes(Path(announce.__file__).read_bytes())
    script = (
        "import sys, copied\n"
        "with copied.announce('x', path='f.json') as x: assert x.wait(5)\n"
        "assert not [m for m in sys.modules if m.startswith('toolyard')]"
    )
    subprocess.run([sys.executable, "-S", "-c", script], cwd=tmp_path, check=True)
