from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
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


@examples(60)
@given(json_values)
def test_the_text_is_that_of_the_json_module(value: object) -> None:
    assert announce._text(value, "") == json.dumps(value, indent=2)


nested: list[object] = [{}, [], {"a": {"b": [{}, "}"]}}]
entries = st.dictionaries(
    st.text(), st.integers() | st.text() | st.sampled_from(nested), min_size=1, max_size=3
)


@examples(100)
@given(st.dictionaries(st.text(), entries, min_size=2, max_size=5), st.data())
def test_a_change_of_one_entry_gives_the_text_of_the_whole(
    before: dict, data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from([*before]) | st.text())
    entry = data.draw(st.none() | entries)
    if entry is None and key not in before:
        return
    after = {**before, key: entry} if entry else {k: v for k, v in before.items() if k != key}
    text, changed = (
        json.dumps({"version": "1.0", "servers": each}, indent=2) for each in (before, after)
    )
    assert announce._splice(text, before, key, entry) == changed


@pytest.mark.parametrize(
    "layout",
    [
        {"indent": 4},
        {"indent": 1},
        {"indent": "\t"},
        {"separators": (",", ":")},
        {"indent": 2, "ensure_ascii": False},
        {"indent": 2, "separators": (",", ":")},
    ],
    ids=str,
)
def test_a_file_laid_out_by_others_is_changed_all_the_same(path: Path, layout: dict) -> None:
    before = {"a": mine(), "\u00e9": mine(x={"b": {"c": "\u00e9"}, "a": {}}), "b": mine()}
    for key in [*before, "new"]:
        path.write_text(json.dumps({"version": "1.0", "servers": before}, **layout), "utf-8")
        file = Announcements(path)
        assert file.register_server(key, mine(new=True)) is None
        assert servers(path) == {**before, key: mine(new=True)}
        assert file.unregister_server(key) is None
        assert servers(path) == {k: v for k, v in before.items() if k != key}


def test_unknown_keys_are_kept_at_every_level(path: Path) -> None:
    known = {"a": mine(extra={"deep": [True, 1.5]}, http={"tls": "x"})}
    document = {"version": "1.7", "later": [1, {"a": None}], "servers": known}
    path.write_text(json.dumps(document))
    Announcements(path).register_server("b", mine())
    after = json.loads(path.read_bytes())
    assert after.pop("servers") == {**known, "b": mine()}
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


HOLDER = """
import sys
from pathlib import Path
from toolyard import announce
def work():
    print("held", flush=True)
    sys.stdin.readline()
announce._alone(Path(sys.argv[1]), 1, work)
print("free", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold the lock until it is sent a line."""
    command, pipe = [sys.executable, "-c", HOLDER, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


def release(holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None and holder.stdout is not None
    holder.stdin.write("\n")
    assert holder.stdout.readline() == "free\n"


def test_a_held_lock_is_waited_for_only_so_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announce, "LOCK_WAIT", 0.1)
    with held(path):
        problem = Announcements(path).register_server("a", mine())
        assert problem is not None and "held the lock" in problem
    monkeypatch.setattr(announce, "LOCK_WAIT", 5.0)
    assert Announcements(path).register_server("a", mine()) is None, "a dead holder holds nothing"


def test_a_change_that_came_too_late_is_not_made_and_holds_nobody_up(path: Path) -> None:
    with held(path) as holder:
        problem = Announcements(path)._change("late", mine(), 0.05)
        assert problem is not None and "held the lock" in problem
        release(holder)
        assert Announcements(path).register_server("next", mine()) is None
        assert list(servers(path)) == ["next"]


def test_a_change_that_waits_for_its_turn_is_made(path: Path) -> None:
    problems: list[str | None] = []
    with held(path) as holder:
        waiting = threading.Thread(
            target=lambda: problems.append(Announcements(path).register_server("a", mine()))
        )
        waiting.start()
        release(holder)
        waiting.join(60)
    assert problems == [None]
    assert list(servers(path)) == ["a"]


def test_what_goes_wrong_in_its_turn_is_told_to_who_waits(path: Path) -> None:
    def fail() -> None:
        raise ValueError("it is wrong")

    for _ in range(2):  # the lock is free again after the first
        with pytest.raises(ValueError, match="it is wrong"):
            announce._in_turn(announce._open_lock(path), 5, fail)


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
    def work() -> int:
        pid = os.fork()
        if pid == 0:  # the other threads of the parent, and what they held, are not here
            os._exit(Announcements(path)._change("c", mine(), 0.1) is None)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert announce._alone(path, 1, work) == 0, "the parent held it all the time"
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


@pytest.mark.parametrize("folder", ["home", "root"])
def test_a_server_in_no_project_is_announced_in_the_file_of_the_user(
    folder: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.chdir(home if folder == "home" else "/")
    assert announce.default_path() == announce.user_path()


def test_any_other_folder_is_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "repo" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert announce.default_path() == inner / ".nisaba" / "mcp_servers.json"
    assert announce.project_paths(inner) == [inner / ".nisaba" / "mcp_servers.json"]
    (tmp_path / "repo" / ".git").mkdir()
    assert announce.project_paths(inner) == [
        inner / ".nisaba" / "mcp_servers.json",
        tmp_path / "repo" / ".nisaba" / "mcp_servers.json",
    ]


def test_the_module_works_alone(tmp_path: Path) -> None:
    (tmp_path / "copied.py").write_bytes(Path(announce.__file__).read_bytes())
    script = (
        "import sys, copied\n"
        "with copied.announce('x', path='f.json') as x: assert x.wait(60)\n"
        "assert not [m for m in sys.modules if m.startswith('toolyard')]"
    )
    subprocess.run([sys.executable, "-S", "-c", script], cwd=tmp_path, check=True)


def test_a_process_that_may_open_no_file_reads_a_problem(path: Path) -> None:
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from toolyard.announce import Announcements\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n"
        "servers, problem = Announcements(Path(sys.argv[1])).read()\n"
        "print(servers, problem)\n"
    )
    path.write_bytes(b"\xef\xbb\xbf{}")
    told = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("{} cannot read")
    assert "Too many open files" in told.stdout
