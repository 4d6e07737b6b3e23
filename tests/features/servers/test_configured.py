from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fixtures.following import following
from tests.fixtures.reports import Reports
from toolyard.core.model import Report
from toolyard.features.servers.configured import Configured
from toolyard.features.servers.store import ServersFile

ONE = '{"mcpServers": {"a": {"command": "1"}}}'
TWO = '{"mcpServers": {"a": {"command": "1"}, "b": {"command": "2"}}}'


@asynccontextmanager
async def running(path: Path, env: dict[str, str] | None = None) -> AsyncIterator[Reports]:
    reports = Reports()
    async with following() as follower, asyncio.TaskGroup() as group:
        source = Configured(ServersFile(path, env or {}, follower))
        task = group.create_task(source.run(reports.post))
        try:
            yield reports
        finally:
            task.cancel()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def replace(path: Path, text: str) -> None:
    temp = path.with_suffix(".new")
    temp.write_text(text)
    os.replace(temp, path)


async def test_the_first_report_comes_at_once_even_without_a_file(path: Path) -> None:
    async with running(path) as reports:
        assert await reports.until(lambda _: True) == Report("configured")


async def test_a_change_is_reported_soon_and_the_others_stay_equal(path: Path) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        before = await reports.names("a")
        for text, names in [(TWO, ("a", "b")), (ONE, ("a",)), (TWO, ("a", "b"))]:
            path.write_text(text)
            report = await reports.names(*names)
            assert report.servers[0] == before.servers[0]


@pytest.mark.parametrize("write", [replace, lambda path, text: path.write_text(text)])
async def test_a_file_may_be_replaced_or_rewritten(
    path: Path, write: Callable[[Path, str], object]
) -> None:
    write(path, ONE)
    async with running(path) as reports:
        await reports.names("a")
        write(path, TWO)
        await reports.names("a", "b", within=60.0)
        write(path, ONE)
        await reports.names("a", within=60.0)


async def test_our_own_edits_are_noticed(path: Path) -> None:
    async with running(path) as reports:
        await reports.names()
        await asyncio.to_thread(ServersFile(path).put, "a", {"command": "c"})
        await reports.names("a", within=60.0)
        await asyncio.to_thread(ServersFile(path).set_enabled, "a", False)
        await reports.until(lambda r: not r.servers[0].enabled)


async def test_a_deleted_file_has_no_servers_and_comes_back(path: Path) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        await reports.names("a")
        path.unlink()
        await reports.names(within=60.0)
        path.write_text(TWO)
        await reports.names("a", "b", within=60.0)


async def test_a_folder_may_come_go_and_come_again(tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "servers.json"
    async with running(path) as reports:
        await reports.names()
        for _ in range(2):
            path.parent.mkdir(parents=True)
            path.write_text(ONE)
            await reports.names("a", within=60.0)
            shutil.rmtree(tmp_path / "x")
            await reports.names(within=60.0)


async def test_a_change_behind_a_link_is_noticed(tmp_path: Path, path: Path) -> None:
    real = tmp_path / "dotfiles" / "real.json"
    real.parent.mkdir()
    real.write_text(ONE)
    path.symlink_to(real)
    async with running(path) as reports:
        await reports.names("a")
        replace(real, TWO)
        await reports.names("a", "b", within=60.0)


async def test_what_somebody_else_could_have_written_changes_nothing(path: Path) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        await reports.names("a")
        path.chmod(0o666)
        path.write_text(TWO)
        report = await reports.until(lambda r: bool(r.problems))
        assert [server.id.name for server in report.servers] == ["a"]
        assert [problem.code for problem in report.problems] == ["config-shared"]
        path.chmod(0o600)
        await reports.names("a", "b")


async def test_a_file_that_became_unreadable_keeps_the_servers_and_adds_the_problem(
    path: Path,
) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        good = await reports.names("a")
        path.write_text('{"mcpServers": {')
        broken = await reports.until(lambda r: bool(r.problems))
        assert broken.servers == good.servers
        assert [each.code for each in broken.problems] == ["config-syntax"]
        path.write_text("")
        await reports.until(lambda r: "holds no object" in r.problems[0].text)
        path.write_text(TWO)
        assert (await reports.names("a", "b", within=60.0)).problems == ()


async def test_what_says_the_same_is_not_reported_again(path: Path) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        await reports.names("a")
        replace(path, "// only a comment\n" + ONE)
        replace(path.with_name("neighbour.json"), TWO)
        replace(path, "// another\n" + TWO)
        await reports.names("a", "b")
        assert len(reports.all) == 2


async def test_every_report_of_a_busy_file_is_whole(path: Path) -> None:
    path.write_text(ONE)
    async with running(path) as reports:
        await reports.names("a")
        for index in range(40):
            replace(path, (ONE, TWO)[index % 2])
            await asyncio.sleep(0)
        await reports.names("a", "b", within=60.0)
        assert all(each.servers and not each.problems for each in reports.all)
