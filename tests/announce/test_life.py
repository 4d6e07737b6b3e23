from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolyard.announce import Announcements, MCPServerRegistry, announce

PROGRAM = Path(__file__).with_name("serving.py")
SRC = Path(__file__).resolve().parents[2] / "src"


@contextmanager
def serving(path: Path, end: str = "stay") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(path), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "True\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".nisaba" / "mcp_servers.json"


def servers(path: Path) -> dict:
    return json.loads(path.read_bytes())["servers"]


def test_the_walk_through_start_look_list_stop_list(path: Path) -> None:
    assert MCPServerRegistry(path).list_servers() == {}
    with serving(path) as process:
        key = f"nabu_{process.pid}"
        document = json.loads(path.read_bytes())
        assert document["version"] == "1.0"
        assert list(document["servers"]) == [key]

        listed = MCPServerRegistry(path).list_servers()
        assert listed == document["servers"]
        assert listed[key]["name"] == "nabu"
        assert listed[key]["http"]["url"].startswith("http://127.0.0.1:")

        process.communicate("", timeout=60)
        assert process.returncode == 0
    assert MCPServerRegistry(path).list_servers() == {}
    assert servers(path) == {}


@pytest.mark.parametrize(("end", "code"), [("raise", 1), ("exit", 3)])
def test_an_entry_leaves_with_an_exception_and_with_exit(path: Path, end: str, code: int) -> None:
    with serving(path, end) as process:
        assert process.wait(60) == code
    assert servers(path) == {}


def test_an_entry_leaves_with_sigterm_which_still_ends_the_process(path: Path) -> None:
    with serving(path) as process:
        assert servers(path)
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    assert servers(path) == {}


def test_the_handler_that_was_there_before_is_called_after_the_entry_left(path: Path) -> None:
    with serving(path, "graceful") as process:
        process.terminate()
        assert process.stdout is not None
        assert process.stdout.readline() == "ended\n"
        assert process.wait(60) == 7
    assert servers(path) == {}


def test_an_entry_leaves_before_a_handler_is_called_that_was_set_later(path: Path) -> None:
    with serving(path, "late") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "covered\n"
        process.terminate()
        assert process.stdout.readline() == "[]\n"
        assert process.wait(60) == 7


def test_several_announcements_share_the_signals_and_give_them_back(path: Path) -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGURG)
    before = [signal.getsignal(number) for number in numbers]
    caught: list[int] = []

    def server(number: int, _: object) -> None:
        caught.append(number)

    with announce("one", path=path, heartbeat=0.01) as one:
        signal.signal(signal.SIGTERM, server)
        with announce("two", path=path, heartbeat=0.01) as two:
            assert one.wait(60) and two.wait(60)
            handler = signal.getsignal(signal.SIGTERM)
            two._stop.wait(0.1)
            assert signal.getsignal(signal.SIGTERM) is handler, "they must not cover each other"
            signal.raise_signal(signal.SIGTERM)
            assert servers(path) == {}
            assert caught == [signal.SIGTERM]
    assert signal.signal(signal.SIGTERM, before[0]) is server
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_forked_child_that_exits_leaves_the_entry_of_its_parent(path: Path) -> None:
    with serving(path, "fork") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        assert list(servers(path)) == [f"nabu_{process.pid}"]


def test_a_killed_server_is_not_listed_and_its_entry_goes_with_the_next_write(path: Path) -> None:
    with serving(path) as process:
        process.kill()
        process.wait(60)
        assert Announcements(path).list_servers() == {}
        assert len(servers(path)) == 1, "reading must not write"
    Announcements(path).register_server("me", {"name": "me", "pid": os.getpid()})
    assert list(servers(path)) == ["me"]


def test_a_server_enters_the_file_only_when_its_port_accepts_connections(path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        with announce("late", url=url, path=path) as late:
            assert not late.wait(0.2)
            assert not path.exists()
            listener.listen()
            assert late.wait(60)
            assert list(servers(path)) == [f"late_{os.getpid()}"]
    assert servers(path) == {}


def test_a_server_that_never_listens_is_not_announced_and_that_is_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with announce("mute", url=url, path=path, patience=0.1) as mute:
            assert not mute.wait(5)
            assert mute.problem is not None and "accepted no connection" in mute.problem
            assert mute.problem in caplog.text
    assert not path.exists()


@pytest.mark.parametrize("url", ["nonsense", "http://[::1", "http://127.0.0.1:99999/", ""])
def test_a_wrong_address_never_stops_the_server(path: Path, url: str) -> None:
    with announce("odd", url=url, path=path, patience=0.1) as odd:
        odd.wait(60)
    assert not path.exists() or servers(path) == {}


def test_a_place_that_cannot_be_written_never_stops_the_server(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with announce("homeless", path=tmp_path / "file" / "x.json") as homeless:
        assert not homeless.wait(5)
        assert homeless.problem is not None and "cannot change" in homeless.problem


async def test_async_with_announces_and_withdraws_without_blocking_the_loop(path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    server = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, announce("aio", url=f"http://127.0.0.1:{port}/mcp", path=path) as aio:
        assert await asyncio.to_thread(aio.wait, 60)
        assert signal.getsignal(signal.SIGTERM) != before
        assert list(servers(path)) == [f"aio_{os.getpid()}"]
    assert servers(path) == {}
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_entry_that_was_lost_comes_back_with_the_next_heartbeat(path: Path) -> None:
    file = Announcements(path)
    with announce("heart", path=path, heartbeat=0.05) as heart:
        assert heart.wait(60)
        file.unregister_server(heart.id)
        for _ in range(200):
            if heart.id in file.list_servers():
                break
            heart._stop.wait(0.02)
        assert "heartbeat" in file.list_servers()[heart.id]
    assert file.list_servers() == {}
