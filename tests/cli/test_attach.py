from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import toolyard as package
from toolyard.console.exits import Exit
from toolyard.doors.stdio import attach, attached
from toolyard.records.directories import make_private
from toolyard.settings import read_settings

SOURCE = str(Path(package.__file__).parents[1])


@pytest.fixture
def door(home: Path) -> Iterator[socket.socket]:
    """The hub's side of the socket, where clients look for it."""
    place = home / "runtime" / "toolyard"
    make_private(str(place))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "hub.sock"))
        listener.listen()
        listener.settimeout(60)
        yield listener


@contextmanager
def client(*words: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "toolyard", "mcp", *words],
        env={**os.environ, "PYTHONPATH": SOURCE},
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def accept(door: socket.socket) -> socket.socket:
    """A client that speaks: one whose hub hung up looks in a few times, and says nothing.

    It waits for the process to go, but the hub before and the next one are this process.
    """
    while True:
        connection, _ = door.accept()
        connection.settimeout(60)
        if connection.recv(1, socket.MSG_PEEK):
            return connection
        connection.close()


def read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        letter = connection.recv(1)
        assert letter, f"the client hung up after {line!r}"
        line += letter
    return line


def read_all(connection: socket.socket) -> bytes:
    """Everything up to the client's last word; the hub may close only after it."""
    data = b""
    while more := connection.recv(4096):
        data += more
    return data


def test_the_first_line_says_who_comes_and_the_rest_goes_as_it_is(
    door: socket.socket, tmp_path: Path
) -> None:
    with client("--server", "files", cwd=tmp_path) as process, accept(door) as hub:
        assert process.stdin and process.stdout
        hello = json.loads(read_line(hub))["toolyard"]
        assert hello == {"version": 2, "cwd": str(tmp_path), "server": "files"}

        process.stdin.write(b'{"id":1}\xff\x00\r\n')
        process.stdin.flush()
        assert read_line(hub) == b'{"id":1}\xff\x00\r\n'
        hub.sendall(b"answer\x00\r\n")
        assert process.stdout.read(9) == b"answer\x00\r\n"


def test_when_stdin_closes_the_last_answers_still_arrive(door: socket.socket) -> None:
    with client() as process, accept(door) as hub:
        assert process.stdin and process.stdout
        read_line(hub)
        process.stdin.write(b"question\n")
        process.stdin.close()
        assert read_all(hub) == b"question\n"
        hub.sendall(b"answer\n")
        hub.close()
        assert process.stdout.read() == b"answer\n"
        assert process.wait(60) == Exit.OK


def test_it_leaves_even_if_the_hub_does_not_let_go(door: socket.socket) -> None:
    with client() as process, accept(door) as hub:
        assert process.stdin and process.stderr
        read_line(hub)
        process.stdin.close()
        assert process.wait(attached.FAREWELL + 10) == Exit.OK
        assert process.stderr.read() == b""


def say(process: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert process.stdin
    process.stdin.write(b"".join(line + b"\n" for line in lines))
    process.stdin.flush()


HELLO = b'{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"x":1}}'
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}'
LISTS = [
    {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}
    for kind in ("tools", "prompts", "resources")
]


def test_a_new_hub_is_told_what_the_one_before_knew_and_the_client_of_the_change_alone(
    door: socket.socket,
) -> None:
    with client() as process:
        assert process.stdout
        with accept(door) as hub:
            read_line(hub)
            say(process, HELLO, READY, CALL)
            for _ in range(3):
                read_line(hub)
            hub.sendall(b'{"jsonrpc":"2.0","result":{},"id":"a"}\n')
            hub.sendall(b'{"jsonrpc":"2.0","result":{"half":"of a li')
        assert json.loads(process.stdout.readline())["id"] == "a"
        answer = json.loads(process.stdout.readline())
        assert (answer["id"], answer["error"]["code"]) == (7, -32000)
        assert [json.loads(process.stdout.readline()) for _ in LISTS] == LISTS

        with accept(door) as hub:
            hello = json.loads(read_line(hub))["toolyard"]
            assert (hello["again"], hello["asked"]) == (True, 0)
            again = json.loads(read_line(hub))
            assert (again["method"], again["params"]) == ("initialize", {"x": 1})
            assert json.loads(read_line(hub)) == json.loads(READY)
            hub.sendall(json.dumps({"jsonrpc": "2.0", "result": {}, "id": again["id"]}).encode())
            hub.sendall(b'\n{"jsonrpc":"2.0","method":"the next"}\n')
            assert process.stdout.readline() == b'{"jsonrpc":"2.0","method":"the next"}\n'


def test_requests_wait_for_a_hub_that_comes_back_and_all_else_still_reaches_it(
    door: socket.socket,
) -> None:
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
    answer = b'{"jsonrpc":"2.0","id":3,"result":{}}'
    late = CALL.replace(b"7", b"8")
    with client() as process:
        assert process.stdout
        with accept(door) as hub:
            read_line(hub)
            say(process, CALL)
            assert read_line(hub) == CALL + b"\n"
            hub.sendall(b'{"toolyard":{"leaving":"restart"}}\n')
            assert json.loads(read_line(hub))["method"] == "toolyard/holding"
            say(process, late, cancel, answer)
            assert read_line(hub) == cancel + b"\n"
            assert read_line(hub) == answer + b"\n"
        with accept(door) as hub:
            assert "again" in json.loads(read_line(hub))["toolyard"]
            assert read_line(hub) == late + b"\n"
            hub.sendall(b'{"jsonrpc":"2.0","result":{},"id":8}\n')
            assert json.loads(process.stdout.readline())["id"] == 8


def test_a_hub_that_was_stopped_is_not_started_for_a_ping(door: socket.socket, home: Path) -> None:
    with client() as process:
        assert process.stdout
        with accept(door) as hub:
            read_line(hub)
            hub.sendall(b'{"toolyard":{"leaving":"stop"}}\n')
            (home / "runtime" / "toolyard" / "hub.sock").unlink()
        say(process, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert process.poll() is None
        assert not (home / "runtime" / "toolyard" / "hub.log").exists()


def test_a_client_that_leaves_while_there_is_no_hub_ends_it(
    door: socket.socket, home: Path
) -> None:
    with client() as process:
        assert process.stdin
        with accept(door) as hub:
            read_line(hub)
            hub.sendall(b'{"toolyard":{"leaving":"stop"}}\n')
            (home / "runtime" / "toolyard" / "hub.sock").unlink()
        process.stdin.close()
        assert process.wait(60) == Exit.OK


def test_a_client_that_reads_no_more_ends_it_quietly(door: socket.socket) -> None:
    with client() as process, accept(door) as hub:
        assert process.stdout and process.stderr
        read_line(hub)
        process.stdout.close()
        hub.sendall(b"anybody there?\n")
        assert process.wait(60) == Exit.OK
        assert process.stderr.read() == b""


def test_both_ways_can_be_full_at_once(door: socket.socket) -> None:
    size = 8 * 1024 * 1024
    with client() as process, accept(door) as hub:
        assert process.stdin and process.stdout
        read_line(hub)
        stdin = process.stdin
        up, down = (letter * 1023 + b"\n" for letter in (b"u", b"d"))
        writers = [
            threading.Thread(target=stdin.write, args=(up * (size // 1024),)),
            threading.Thread(target=hub.sendall, args=(down * (size // 1024),)),
        ]
        for writer in writers:
            writer.start()
        heard = process.stdout.read(size)
        stdin_bytes = 0
        while stdin_bytes < size - 65536:  # the rest may wait in a buffer until it is flushed
            stdin_bytes += len(hub.recv(1 << 20))
        for writer in writers:
            writer.join(60)
        assert heard == down * (size // 1024)


def test_stdin_may_be_a_file(door: socket.socket, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    with (
        (tmp_path / "in").open("rb") as source,
        subprocess.Popen(
            [sys.executable, "-m", "toolyard", "mcp"],
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdin=source,
            stdout=subprocess.PIPE,
        ) as process,
        accept(door) as hub,
    ):
        read_line(hub)
        assert read_all(hub) == b"one\ntwo\n"
        hub.close()
        assert process.wait(60) == Exit.OK


def test_attaching_imports_nothing_it_does_not_need(door: socket.socket) -> None:
    script = (
        "import sys; sys.argv[1:] = ['mcp']; from toolyard.__main__ import main; code = main();"
        "print(*sys.modules, file=sys.stderr)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        accept(door).close()
        assert process.stderr
        loaded = set(process.stderr.read().split())

    assert not loaded & {"click", "asyncio", "msgspec", "dataclasses", "pathlib", "subprocess"}


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--sever", "x"], ["--server"], ["--server", "--standalone"], ["extra"]],
)
def test_what_needs_a_full_reading_is_left_to_it(words: list[str]) -> None:
    assert attach.parse(words) is None


def test_what_is_understood_at_once() -> None:
    options = attach.parse(["--server=a", "--config", "b.json", "--standalone"])

    assert options is not None
    assert (options.server, options.config, options.standalone) == ("a", "b.json", True)


def test_a_misspelt_flag_is_a_sentence_on_stderr_alone() -> None:
    with client("--sever", "x") as process:
        out, err = process.communicate(b"")

    assert (process.returncode, out) == (Exit.USAGE, b"")
    assert b"did you mean '--server'" in err


@pytest.mark.parametrize("case", ["xdg", "home", "state", "neither", "open", "slash", "told"])
def test_it_looks_where_the_settings_say(case: str, home: Path, tmp_path: Path) -> None:
    env = {
        "xdg": dict(os.environ),
        "home": {**os.environ, "TOOLYARD_HOME": "~/yard"},
        "state": {"HOME": str(home), "XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/nope"},
        "neither": {"HOME": str(home)},
        "open": {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "open")},
        "slash": {**os.environ, "XDG_RUNTIME_DIR": f"{home}/runtime/"},
        "told": {**os.environ, "TOOLYARD_RUNTIME_DIR": str(tmp_path / "told")},
    }[case]
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    assert attach.run_dir(env) == str(read_settings({}, env).runtime_dir)


def test_a_hub_that_reads_another_file_is_pointed_out(
    door: socket.socket, home: Path, tmp_path: Path
) -> None:
    state = {"pid": os.getpid(), "config": str(tmp_path / "theirs.json")}
    (home / "runtime" / "toolyard" / "hub.json").write_text(json.dumps(state))
    with client("--config", str(tmp_path / "mine.json")) as process, accept(door) as hub:
        read_line(hub)
        assert process.stdin and process.stderr
        # It is said beside what the client does, so a client that leaves at once may miss it.
        assert "theirs.json" in process.stderr.readline().decode()
        process.stdin.close()
        hub.close()


def test_a_run_directory_of_somebody_else_is_refused(home: Path, tmp_path: Path) -> None:
    (home / "runtime" / "toolyard").symlink_to(tmp_path)
    with client() as process:
        out, err = process.communicate(b"")

    assert (process.returncode, out) == (Exit.FAILED, b"")
    assert "not a directory of yours" in err.decode()
