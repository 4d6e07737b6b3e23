from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.fixtures.following import following
from tests.fixtures.reports import Reports
from toolyard.announce import Announcements
from toolyard.core.model import Command, Report, ServerId, Url
from toolyard.core.problems import ProblemCode
from toolyard.features.scan.announced import Announced
from toolyard.links.projects import ProjectFolders

ROOT = Path(__file__).resolve().parents[3]
SERVING = ROOT / "tests" / "announce" / "serving.py"
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


@asynccontextmanager
async def running(*folders: Path, user: Path | None = None) -> AsyncIterator[Reports]:
    reports = Reports()
    projects = ProjectFolders()
    for folder in folders:
        projects.enter(str(folder))
    async with following() as follower, asyncio.TaskGroup() as group:
        task = group.create_task(Announced(projects, follower, user).run(reports.post))
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


BOOT = Path("/proc/sys/kernel/random/boot_id")


def entry(url: str, **more: object) -> dict:
    """The entry of a server in this process."""
    proof = {"boot_id": BOOT.read_text().strip()} if BOOT.exists() else {}
    http = {"enabled": True, "url": url}
    return {"name": "nabu", "pid": os.getpid(), "http": http, **proof, **more}


Listen = Callable[[], int]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Opens one more port of this process, and gives its number."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]


@pytest.fixture
def url(listen: Listen) -> str:
    """An address on which this process listens."""
    return f"http://127.0.0.1:{listen()}/mcp"


async def test_the_first_report_comes_at_once_even_without_any_file(project: Path) -> None:
    async with running(project) as reports:
        assert await reports.until(lambda _: True) == Report("announced")


async def test_a_real_server_comes_and_goes_within_a_second(project: Path) -> None:
    path = file(project).path
    async with running(project) as reports:
        await reports.names()
        for end in ("kill", "terminate"):
            with serving(path) as process:
                assert process.stdout is not None
                assert await asyncio.to_thread(process.stdout.readline) == "True\n"
                report = await reports.names("nabu")
                [server] = report.servers
                assert server.id == ServerId("nabu", "announced")
                assert isinstance(server.endpoint, Url)
                assert server.endpoint.url.startswith("http://127.0.0.1:")
                assert server.folder == str(project)
                getattr(process, end)()
                await reports.names()


async def test_an_entry_of_the_first_implementation_is_offered_at_the_usual_path(
    project: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    address = f"http://localhost:{listen()}"
    old = {"name": "nabu", "pid": os.getpid(), "http": {"enabled": True, "url": address}}
    file(project).register_server("nabu_1", {**old, "cwd": str(project)})
    async with running(project) as reports:
        report = await reports.names("nabu")
        assert report.servers[0].endpoint == Url(f"{address}/mcp")
        assert report.problems == ()


async def test_an_entry_that_any_file_could_hold_waits_unless_its_process_is_in_the_project(
    project: Path, url: str
) -> None:
    guess = {"name": "nabu", "pid": os.getpid(), "http": {"enabled": True, "url": url}}
    file(project).register_server("nabu_1", guess)
    async with running(project) as reports:
        report = await reports.until(lambda r: bool(r.problems))
        assert report.servers == ()
        assert "does not prove that its process wrote it" in report.problems[0].text


async def test_a_port_of_another_process_than_the_one_named_is_never_asked(
    project: Path, url: str
) -> None:
    with serving(project / "elsewhere.json") as other:
        file(project).register_server("nabu_1", entry(url, pid=other.pid))
        async with running(project) as reports:
            report = await reports.until(lambda r: bool(r.problems))
    assert report.servers == ()
    assert "belongs to another process than its own" in report.problems[0].text
    assert report.problems[0].hint == "if you trust it: toolyard scan adopt nabu"


WORKER = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
if os.fork():
    print(listener.getsockname()[1], flush=True)
    listener.close()
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who listens")
async def test_a_port_may_be_held_by_a_worker_of_the_process_named(project: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None and process.stdout is not None
    url = f"http://127.0.0.1:{int(await process.stdout.readline())}/mcp"
    file(project).register_server("nabu_1", entry(url, pid=process.pid))
    async with running(project) as reports:
        await reports.names("nabu")
    process.stdin.close()
    await process.wait()


async def test_a_server_is_offered_while_it_listens(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        file(project).register_server("nabu_1", entry(f"http://127.0.0.1:{port}/mcp"))
        async with running(project) as reports:
            await reports.names("nabu")
            sock.close()
            report = await reports.names()
    assert f"nobody listens on port {port}" in report.problems[0].text
    assert report.problems[0].hint == "it is offered as soon as it listens there"


async def test_the_files_of_the_parents_and_of_the_user_are_read_too(
    project: Path, tmp_path: Path, listen: Listen
) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    user = Announcements(tmp_path / "user" / "mcp_servers.json")
    file(project).register_server("root_1", entry(f"http://127.0.0.1:{listen()}/", name="root"))
    file(inner).register_server("inner_1", entry(f"http://127.0.0.1:{listen()}/", name="inner"))
    file(tmp_path).register_server(
        "outside_1", entry(f"http://127.0.0.1:{listen()}/", name="outside")
    )
    async with running(inner, user=user.path) as reports:
        await reports.names("inner", "root")
        user.register_server("user_1", entry(f"http://127.0.0.1:{listen()}/", name="user"))
        await reports.names("inner", "root", "user")


async def test_a_heartbeat_posts_nothing(project: Path, url: str, listen: Listen) -> None:
    file(project).register_server("a", entry(url, heartbeat="1"))
    async with running(project) as reports:
        await reports.names("nabu")
        file(project).register_server("a", entry(url, heartbeat="2"))
        file(project).register_server("b", entry(f"http://127.0.0.1:{listen()}/", name="z"))
        await reports.names("nabu", "z")
        assert len(reports.all) == 2


async def test_equal_names_are_told_apart_by_their_start_and_keep_their_names(
    project: Path, listen: Listen
) -> None:
    urls = [f"http://127.0.0.1:{listen()}/mcp" for _ in range(3)]
    for number, started in enumerate(["2025-03", "2025-01", "2025-02"]):
        file(project).register_server(f"n_{number}", entry(urls[number], started_at=started))
    async with running(project) as reports:
        report = await reports.names("nabu", "nabu-2", "nabu-3")
        assert [s.endpoint for s in report.servers] == [Url(urls[n]) for n in (1, 2, 0)]
        file(project).unregister_server("n_1")
        report = await reports.names("nabu-2", "nabu-3")
        assert [s.endpoint for s in report.servers] == [Url(urls[n]) for n in (2, 0)]


async def test_a_server_in_two_files_is_offered_once(
    project: Path, tmp_path: Path, url: str
) -> None:
    user = Announcements(tmp_path / "user.json")
    user.register_server("nabu_1", entry(url))
    file(project).register_server("nabu_1", entry(url))
    async with running(project, user=user.path) as reports:
        await reports.names("nabu")


HERE = "http://127.0.0.1:9/mcp"
UNTRUSTED = {
    "not on the loopback": entry("http://192.0.2.7:80/mcp"),
    "not on the loopback: 'localhost.example'": entry("http://localhost.example/"),
    "another-host": entry(HERE, host="another-host"),
    "another user": entry(HERE, user=4_000_000),
    "not a plain one": entry("http://127.0.0.1:9/?x=${HOME}"),
    "is not a plain": entry("http://me:secret@127.0.0.1:9/"),
    "cannot be read": entry("http://127.0.0.1:99999/"),
    "a command to start": {
        **entry(HERE),
        "http": None,
        "transports": [{"type": "stdio", "command": ["rm", "-rf", "x"]}],
    },
    "'unix', which is not spoken": {
        **entry(HERE),
        "http": None,
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
    assert problem.code == ProblemCode.ANNOUNCED_WAITS
    assert why in problem.text
    assert "toolyard scan adopt nabu" in problem.hint
    assert problem.subject == "nabu@announced"
    assert "secret" not in problem.text


async def test_a_command_in_the_file_of_the_user_is_offered(tmp_path: Path) -> None:
    user = Announcements(tmp_path / "user.json")
    transport = {"type": "stdio", "command": ["server", "--stdio"]}
    user.register_server("a", {"name": "a", "pid": os.getpid(), "transports": [transport]})
    async with running(user=user.path) as reports:
        report = await reports.names("a")
        assert report.servers[0].endpoint == Command(("server", "--stdio"))


async def test_a_second_way_is_taken_if_the_first_is_not_to_be_trusted(
    project: Path, url: str
) -> None:
    ways = [{"type": "http", "url": "http://192.0.2.7/"}, {"type": "sse", "url": url}]
    file(project).register_server("a", {**entry(url, name="a", transports=ways), "http": None})
    async with running(project) as reports:
        report = await reports.names("a")
        assert report.servers[0].endpoint == Url(url, "sse")


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


async def test_a_broken_file_is_a_problem_and_the_last_servers_stand(
    project: Path, url: str, listen: Listen
) -> None:
    file(project).register_server("a", entry(url))
    async with running(project) as reports:
        await reports.names("nabu")
        file(project).path.write_text("{")
        report = await reports.until(lambda r: bool(r.problems))
        assert [problem.code for problem in report.problems] == [ProblemCode.ANNOUNCED_UNREADABLE]
        assert [server.id.name for server in report.servers] == ["nabu"]
        file(project).register_server("b", entry(f"http://127.0.0.1:{listen()}/", name="b"))
        await reports.until(lambda r: not r.problems)


async def test_names_of_a_hostile_file_are_made_fit_and_its_length_is_bounded(
    project: Path, url: str
) -> None:
    many = {f"n{n}": entry(f"{url}/{n}", name=f"n{n}") for n in range(5000)}
    odd = {"odd": entry(f"{url}/odd", name="\x1b[2J--rm -rf/" + "x" * 5000)}
    strange = {"s1": 7, "s2": {"pid": os.getpid(), "http": [], "transports": "x"}, "s3": []}
    path = file(project).path
    path.parent.mkdir()
    path.write_text(json.dumps({"version": "1.0", "servers": {**odd, **strange, **many}}))
    async with running(project) as reports:
        report = await reports.until(lambda r: bool(r.servers))
    assert 100 < len(report.servers) <= 200
    assert all(len(s.id.name) < 60 and s.id.name.isprintable() for s in report.servers)
    assert any(s.id.name.startswith("_2J--rm_-rf_xxx") for s in report.servers)


async def test_a_project_may_be_added_while_it_runs(project: Path, url: str) -> None:
    projects = ProjectFolders()
    reports = Reports()
    file(project).register_server("a", entry(url))
    async with following() as follower, asyncio.TaskGroup() as group:
        task = group.create_task(Announced(projects, follower).run(reports.post))
        await reports.names()
        projects.enter(str(project))
        await reports.names("nabu")
        projects.leave(str(project))
        await reports.names()
        task.cancel()


def pidfds() -> int:
    """How many processes we hold a descriptor of."""
    links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return sum("pidfd" in os.readlink(link) for link in links if os.path.lexists(link))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
async def test_no_descriptor_of_a_process_is_left_behind(project: Path, url: str) -> None:
    file(project).register_server("a", entry(url))
    before = pidfds()
    for _ in range(2):
        async with running(project) as reports:
            await reports.names("nabu")
            assert pidfds() == before + 1
        assert pidfds() == before


def test_a_host_of_another_name_is_what_the_tests_take_it_for() -> None:
    assert socket.gethostname() != "another-host"
