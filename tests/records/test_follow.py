"""One follower tells of every way in which files change."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.fixtures.following import following
from toolyard.records import follow
from toolyard.records.follow import ChangeSignal, Follower


class Watched:
    """What a follower tells of some paths; it looks by itself so rarely that it is the watch."""

    def __init__(self, follower: Follower, beacon: Path, *paths: Path) -> None:
        self.follower = follower
        self._beacon = beacon
        self._lit = follower.follow(beacon)
        self.changes = follower.follow(*paths)

    async def settle(self) -> None:
        """Wait until all is told that happened so far: what comes last is told with it."""
        async with asyncio.timeout(60):
            await self.changes.wait(0)
            count = self._lit.count
            self._beacon.write_text("")
            await self._lit.wait(count)

    async def tells(self, act: Callable[[], object]) -> None:
        """Do something, and wait until it is told."""
        await self.settle()
        count = self.changes.count
        act()
        async with asyncio.timeout(60):
            await self.changes.wait(count)


@asynccontextmanager
async def watching(tmp_path: Path, *paths: Path) -> AsyncIterator[Watched]:
    async with following(Follower(look_seconds=3600)) as follower:
        yield Watched(follower, tmp_path / "beacon", *paths)


def save_over(path: Path, text: str) -> None:
    """Save as most programs do: a new file takes the place of the old."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    os.replace(fresh, path)


def save_with_backup(path: Path, text: str) -> None:
    """Save as some editors do: the old file becomes the backup, a new one is written."""
    os.replace(path, path.with_name(f"{path.name}~"))
    path.write_text(text)


async def test_every_way_to_save_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    async with watching(tmp_path, path) as watched:
        await watched.tells(lambda: path.write_text("1"))
        await watched.tells(lambda: path.write_text("2"))
        await watched.tells(lambda: save_over(path, "3"))
        await watched.tells(lambda: save_with_backup(path, "4"))
        await watched.tells(lambda: path.chmod(0o000))
        await watched.tells(path.unlink)


async def test_a_file_behind_a_link_is_told_and_so_is_another_link(tmp_path: Path) -> None:
    one, two, link = tmp_path / "x" / "1", tmp_path / "y" / "2", tmp_path / "z" / "link"
    for path in (one, two, link):
        path.parent.mkdir()
    link.symlink_to(one)
    async with watching(tmp_path, link) as watched:
        await watched.tells(lambda: one.write_text("1"))

        def relink() -> None:
            fresh = link.with_name("fresh")
            fresh.symlink_to(two)
            os.replace(fresh, link)

        await watched.tells(relink)
        await watched.tells(lambda: two.write_text("2"))


async def test_folders_may_come_go_and_come_again(tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "a.json"
    async with watching(tmp_path, path) as watched:
        for _ in range(2):
            await watched.tells(lambda: path.parent.mkdir(parents=True))
            await watched.tells(lambda: path.write_text("1"))
            await watched.tells(lambda: shutil.rmtree(tmp_path / "x"))
        await watched.tells(lambda: (tmp_path / "x").mkdir())
        await watched.tells(lambda: os.rename(tmp_path / "x", tmp_path / "z"))


async def test_all_that_happens_in_a_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    async with watching(tmp_path, folder) as watched:
        await watched.tells(folder.mkdir)
        await watched.tells(lambda: (folder / "a").write_text("1"))
        await watched.tells(lambda: save_over(folder / "a", "2"))
        await watched.tells((folder / "a").unlink)
        await watched.tells(folder.rmdir)


async def test_what_happens_elsewhere_wakes_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    async with watching(tmp_path, path) as watched:
        other = Watched(watched.follower, tmp_path / "light", tmp_path / "b.json")
        await other.settle()
        await watched.settle()
        count = watched.changes.count
        for text in "123":
            await other.tells(partial(save_over, tmp_path / "b.json", text))
        assert watched.changes.count == count


async def test_what_is_followed_may_move(tmp_path: Path) -> None:
    old, new = tmp_path / "old" / "a", tmp_path / "new" / "a"
    async with watching(tmp_path, old) as watched:
        await watched.tells(lambda: watched.follower.move(watched.changes, [new]))
        await watched.tells(new.parent.mkdir)
        await watched.tells(lambda: new.write_text("1"))


async def test_a_burst_is_told_few_times(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    async with watching(tmp_path, path) as watched:
        await watched.settle()
        count = watched.changes.count
        for number in range(500):
            save_over(path, str(number))
        await watched.settle()
        assert 1 <= watched.changes.count - count <= 2


async def test_without_a_watch_the_slow_look_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def blind(*_: object) -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(follow, "_watching", blind)
    async with following(Follower(look_seconds=0.05)) as follower:
        changes = follower.follow(tmp_path / "a")
        async with asyncio.timeout(60):
            await changes.wait(5)


@pytest.mark.slow
async def test_where_there_is_no_inotify_the_library_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_watching", follow._watching_elsewhere)
    path = tmp_path / "x" / "a.json"
    async with watching(tmp_path, path) as watched:
        await watched.tells(path.parent.mkdir)
        await watched.tells(lambda: path.write_text("1"))
        await watched.tells(lambda: save_over(path, "2"))
        await watched.tells(path.unlink)


async def test_several_wait_and_all_are_woken_from_any_thread() -> None:
    changes = ChangeSignal()
    changes.tell_soon()
    assert changes.count == 1
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waits = [group.create_task(changes.wait(1)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(changes.tell_soon)
        assert await asyncio.gather(*waits) == [2, 2, 2]


def watches() -> int:
    """How many watches of the kernel we hold."""
    links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return sum("inotify" in os.readlink(link) for link in links if os.path.lexists(link))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
async def test_no_watch_is_left_behind(tmp_path: Path) -> None:
    before = watches()
    for _ in range(3):
        async with watching(tmp_path, tmp_path / "x" / "a") as watched:
            await watched.tells((tmp_path / "x").mkdir)
            assert watches() == before + 1
        (tmp_path / "x").rmdir()
    assert watches() == before
