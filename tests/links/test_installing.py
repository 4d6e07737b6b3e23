"""A launcher gets the time to install, says so, and is helped over half a package once."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixtures.stub_run import stub_command
from tests.links.company import LIMIT, PATIENCE, declared
from toolyard.core.errors import LinkError
from toolyard.core.model import Command, Problem
from toolyard.core.sites import Placement
from toolyard.executors.local import Local, LocalPatience
from toolyard.links.installing import AllowInstalling
from toolyard.links.link import Link
from toolyard.links.opening import Connect, Opener

HASH = "0123456789abcdef"
BROKEN = """
echo start >> {log}
if [ -e {folder}/half ]; then
    echo "Error: Cannot find package 'zod' imported from {folder}/node_modules/x.js" >&2
    exit 1
fi
mkdir -p {folder}
[ -e {log}.lacks ] && touch {folder}/half
exec {server}
"""
SLOW = "sleep 0.5; exec {server}"


class Bench:
    """A launcher that is a real process, and what was said of its installing."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder / "cache" / "_npx" / HASH
        self.log = folder / "log"
        (folder / "cache" / "_cacache").mkdir(parents=True)
        launcher = folder / "npx"
        server = shlex.join(stub_command())
        text = script.format(folder=self.folder, log=self.log, server=server)
        launcher.write_text(f"#!/bin/sh\n{text}\n")
        launcher.chmod(0o755)
        self.command = Command((str(launcher), "-y", "hello"))
        self.told: list[Problem | None] = []
        self.step = AllowInstalling(30.0, sign=0.1, quiet=0.0)

    @property
    def starts(self) -> int:
        return self.log.read_text().count("start") if self.log.exists() else 0

    def break_folder(self) -> None:
        """Leave half a package behind."""
        self.folder.mkdir(parents=True)
        (self.folder / "half").touch()

    @asynccontextmanager
    async def open(self, open_seconds: float = 10.0, executor: str = "") -> AsyncIterator[Link]:
        local = Local(patience=LocalPatience(eof=0.5, term=0.5, fetch=5.0))
        connect = Connect(lambda _: local, replace(PATIENCE, open=open_seconds), LIMIT)
        server = declared("acme", self.command, placement=Placement(executor=executor))
        try:
            async with Opener([self.step], connect)(server, "legacy", self.told.append) as link:
                yield link
        finally:
            await local.close()


async def test_a_launcher_that_installs_has_longer_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SLOW)

    async with bench.open(open_seconds=0.2) as link:
        assert link.peer.name

    assert bench.told == [None]


async def test_a_launcher_elsewhere_is_none_of_ours(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SLOW)

    with pytest.raises(LinkError, match=r"within 0\.2 s"):
        async with bench.open(open_seconds=0.2, executor="box"):
            pass

    assert bench.told == []


async def test_half_a_package_is_removed_and_the_launcher_started_once_more(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, BROKEN)
    bench.break_folder()

    async with bench.open() as link:
        assert link.peer.name

    assert bench.starts == 2
    problems = [problem for problem in bench.told if problem is not None]
    assert [problem.code for problem in problems] == ["npx-broken"]
    assert str(bench.folder) in problems[0].text


async def test_a_package_that_lacks_something_itself_is_installed_again_once(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, BROKEN)
    bench.break_folder()
    (tmp_path / "log.lacks").touch()
    async with bench.open():
        pass

    for _ in range(2):
        with pytest.raises(LinkError, match="Cannot find package 'zod'"):
            async with bench.open():
                pass

    assert bench.starts == 4
    assert bench.folder.exists()


async def test_a_folder_in_which_somebody_installs_is_left_alone_until_that_is_over(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, BROKEN)
    bench.break_folder()
    bench.step = AllowInstalling(30.0, sign=0.1, quiet=1.0)
    loop = asyncio.get_running_loop()
    began = loop.time()

    async with bench.open():
        assert loop.time() - began > 0.5

    assert bench.starts == 2
