from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from toolyard.announce import Announcements
from toolyard.core.model import Command, Report, ServerId, Url
from toolyard.sources.announced import UNREADABLE, WAITS, Announced

ROOT = Path(__file__).resolve().parents[2]
SERVING = ROOT / "tests" / "announce" / "serving.py"
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


class Reports:
    """What a source posted, to be waited for."""

    def __init__(self) -> None:
        self.all: list[Report] = []
        self._wake = asyncio.Event()

    def post(self, report: Report) -> None:
        self.all.append(report)
        self._wake.set()

    async def until(self, holds: Callable[[Report], bool], within: float = 5.0) -> Report:
        async with asyncio.timeout(within):
            while not (self.all and holds(self.all[-1])):
                self._wake.clear()
                await self._wake.wait()
        return self.all[-1]

    async def names(self, *names: str, within: float = 5.0) -> Report:
        return await self.until(lambda r: [s.id.name for s in r.servers] == [*names], within)


@asynccontextmanager
async def running(*folders: Path, user: Path | None = None) -> AsyncIterator[Reports]:
    reports = Reports()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Announced(lambda: folders, user).run(reports.post))
        try:
            yield reports
        finally:
            task.cancel()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def file(folder: Path) -> Announcements:
    return Announcements(folder / ".nisaba" / "mcp_servers.json")


@contextmanager
def serving(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(SERVING), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    with process:
        try:
            yield process
        finally:
            process.kill()


def entry(url: str = "http://127.0.0.1:9/mcp", **more: object) -> dict:
    http = {"enabled": True, "url": url}
    return {"name": "nabu", "pid": os.getpid(), "http": http, **more}


async def test_the_first_report_comes_at_once_even_without_any_file(project: Path) -> None:
    async with running(project) as reports:
        assert await reports.until(lambda _: True, 1.0) == Report("announced")


async def test_a_real_server_comes_and_goes_within_a_second(project: Path) -> None:
    path = file(project).path
    async with running(project) as reports:
        await reports.names()
        for end in ("kill", "terminate"):
            with serving(path) as process:
                assert process.stdout is not None
                assert await asyncio.to_thread(process.stdout.readline) == "True\n"
                report = await reports.names("nabu", within=1.0)
                [server] = report.servers
                assert server.id == ServerId("nabu", "announced")
                assert isinstance(server.endpoint, Url)
                assert server.endpoint.url.startswith("http://127.0.0.1:")
                assert server.folder == str(project)
                getattr(process, end)()
                await reports.names(within=1.0)


async def test_an_entry_of_the_first_implementation_is_offered_at_the_usual_path(
    project: Path,
) -> None:
    file(project).register_server("nabu_1", entry("http://localhost:1338", cwd="/x"))
    async with running(project) as reports:
        report = await reports.names("nabu", within=1.0)
        assert report.servers[0].endpoint == Url("http://localhost:1338/mcp")
        assert report.problems == ()


async def test_the_files_of_the_parents_and_of_the_user_are_read_too(
    project: Path, tmp_path: Path
) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    user = Announcements(tmp_path / "user" / "mcp_servers.json")
    file(project).register_server("root_1", entry(name="root"))
    file(inner).register_server("inner_1", entry("http://127.0.0.1:10/", name="inner"))
    file(tmp_path).register_server("outside_1", entry("http://127.0.0.1:11/", name="outside"))
    async with running(inner, user=user.path) as reports:
        await reports.names("inner", "root")
        user.register_server("user_1", entry("http://127.0.0.1:12/", name="user"))
        await reports.names("inner", "root", "user", within=1.0)


async def test_a_heartbeat_posts_nothing(project: Path) -> None:
    file(project).register_server("a", entry(heartbeat="1"))
    async with running(project) as reports:
        await reports.names("nabu")
        file(project).register_server("a", entry(heartbeat="2"))
        file(project).register_server("b", entry("http://127.0.0.1:10/", name="z"))
        await reports.names("nabu", "z", within=1.0)
        assert len(reports.all) == 2


async def test_equal_names_are_told_apart_by_their_start_and_keep_their_names(
    project: Path,
) -> None:
    urls = [f"http://127.0.0.1:{port}/mcp" for port in (11, 12, 13)]
    for number, started in enumerate(["2025-03", "2025-01", "2025-02"]):
        file(project).register_server(f"n_{number}", entry(urls[number], started_at=started))
    async with running(project) as reports:
        report = await reports.names("nabu", "nabu-2", "nabu-3")
        assert [s.endpoint for s in report.servers] == [Url(urls[n]) for n in (1, 2, 0)]
        file(project).unregister_server("n_1")
        report = await reports.names("nabu-2", "nabu-3", within=1.0)
        assert [s.endpoint for s in report.servers] == [Url(urls[n]) for n in (2, 0)]


async def test_a_server_in_two_files_is_offered_once(project: Path, tmp_path: Path) -> None:
    user = Announcements(tmp_path / "user.json")
    user.register_server("nabu_1", entry())
    file(project).register_server("nabu_1", entry())
    async with running(project, user=user.path) as reports:
        await reports.names("nabu")


UNTRUSTED = {
    "not on the loopback": entry("http://192.0.2.7:80/mcp"),
    "not on the loopback: 'localhost.example'": entry("http://localhost.example/"),
    "another-host": entry(host="another-host"),
    "another user": entry(user=4_000_000),
    "not a plain one": entry("http://127.0.0.1:9/?x=${HOME}"),
    "is not a plain": entry("http://me:secret@127.0.0.1:9/"),
    "cannot be read": entry("http://127.0.0.1:99999/"),
    "a command to start": {
        "name": "nabu",
        "pid": os.getpid(),
        "transports": [{"type": "stdio", "command": ["rm", "-rf", "x"]}],
    },
    "'unix', which is not spoken": {
        "name": "nabu",
        "pid": os.getpid(),
        "transports": [{"type": "unix", "path": "/x"}],
    },
}


@pytest.mark.parametrize("why", UNTRUSTED)
async def test_what_is_not_to_be_trusted_is_shown_and_waits(project: Path, why: str) -> None:
    file(project).register_server("nabu_1", UNTRUSTED[why])
    async with running(project) as reports:
        report = await reports.until(lambda r: bool(r.problems))
    assert report.servers == ()
    [problem] = report.problems
    assert problem.code == WAITS
    assert why in problem.text
    assert "toolyard adopt nabu" in problem.hint
    assert problem.subject == "nabu@announced"
    assert "secret" not in problem.text


async def test_a_command_in_the_file_of_the_user_is_offered(tmp_path: Path) -> None:
    user = Announcements(tmp_path / "user.json")
    transport = {"type": "stdio", "command": ["server", "--stdio"]}
    user.register_server("a", {"name": "a", "pid": os.getpid(), "transports": [transport]})
    async with running(user=user.path) as reports:
        report = await reports.names("a")
        assert report.servers[0].endpoint == Command(("server", "--stdio"))


async def test_a_second_way_is_taken_if_the_first_is_not_to_be_trusted(project: Path) -> None:
    ways = [{"type": "http", "url": "http://192.0.2.7/"}, {"type": "sse", "url": "http://[::1]:9/"}]
    file(project).register_server("a", {"name": "a", "pid": os.getpid(), "transports": ways})
    async with running(project) as reports:
        report = await reports.names("a")
        assert report.servers[0].endpoint == Url("http://[::1]:9/", "sse")


STRANGER = """
import os, socket, sys
os.setuid(65534)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def stranger() -> Iterator[tuple[int, int]]:
    """The pid and port of a listening process of another user."""
    process = subprocess.Popen(
        [sys.executable, "-c", STRANGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process:
        yield process.pid, int(process.stdout.readline())
        process.kill()


@pytest.mark.skipif(not is_root, reason="only root can start a process of another user")
async def test_what_another_user_really_runs_waits_whatever_the_file_says(
    project: Path, stranger: tuple[int, int]
) -> None:
    pid, port = stranger
    url = f"http://127.0.0.1:{port}/mcp"
    file(project).register_server("a", entry(url, name="port"))
    file(project).register_server("b", entry(url, name="process", pid=pid))
    async with running(project) as reports:
        report = await reports.until(lambda r: len(r.problems) == 2)
        assert report.servers == ()
        assert "another user listens" in report.problems[0].text
        assert "belongs to another user" in report.problems[1].text


async def test_a_broken_file_is_a_problem_and_the_last_servers_stand(project: Path) -> None:
    file(project).register_server("a", entry())
    async with running(project) as reports:
        await reports.names("nabu")
        file(project).path.write_text("{")
        report = await reports.until(lambda r: bool(r.problems), 1.0)
        assert [problem.code for problem in report.problems] == [UNREADABLE]
        assert [server.id.name for server in report.servers] == ["nabu"]
        file(project).register_server("b", entry("http://127.0.0.1:10/", name="b"))
        await reports.until(lambda r: not r.problems, 1.0)


async def test_names_of_a_hostile_file_are_made_fit_and_its_length_is_bounded(
    project: Path,
) -> None:
    many = {f"n{n}": entry(f"http://127.0.0.1:{n + 1}/", name=f"n{n}") for n in range(5000)}
    odd = {"odd": entry("http://127.0.0.1:9999/", name="\x1b[2J--rm -rf/" + "x" * 5000)}
    strange = {"s1": 7, "s2": {"pid": os.getpid(), "http": [], "transports": "x"}, "s3": []}
    path = file(project).path
    path.parent.mkdir()
    path.write_text(json.dumps({"version": "1.0", "servers": {**odd, **strange, **many}}))
    async with running(project) as reports:
        report = await reports.until(lambda r: bool(r.servers))
    assert 100 < len(report.servers) <= 200
    assert all(len(s.id.name) < 60 and s.id.name.isprintable() for s in report.servers)
    assert any(s.id.name.startswith("_2J--rm_-rf_xxx") for s in report.servers)


async def test_a_project_may_be_added_while_it_runs(project: Path) -> None:
    folders: list[Path] = []
    reports = Reports()
    file(project).register_server("a", entry())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Announced(lambda: folders).run(reports.post))
        await reports.names()
        folders.append(project)
        began = time.monotonic()
        await reports.names("nabu")
        assert time.monotonic() - began < 5.0
        task.cancel()


def pidfds() -> int:
    """How many processes we hold a descriptor of."""
    links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return sum("pidfd" in os.readlink(link) for link in links if os.path.lexists(link))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
async def test_no_descriptor_of_a_process_is_left_behind(project: Path) -> None:
    file(project).register_server("a", entry())
    before = pidfds()
    for _ in range(2):
        async with running(project) as reports:
            await reports.names("nabu")
            assert pidfds() == before + 1
        assert pidfds() == before


def test_a_host_of_another_name_is_what_the_tests_take_it_for() -> None:
    assert socket.gethostname() != "another-host"
