"""Launchers that may be installing: left alone, one at a time, and not for ever."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.executors.children import Ear, eventually, leaves
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.packages import may_fetch
from toolyard.core.placement import Run
from toolyard.executors.local import Local, LocalPatience

SPEAKS = "echo spoken; cat > /dev/null"
HANGS = "trap '' TERM; while :; do sleep 0.1; done"
HUB = """
import asyncio, sys
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.executors.local import Local, LocalPatience

async def main():
    local = Local(patience=LocalPatience(fetch=float(sys.argv[2])))
    async with local.start(Run("it", Command((sys.argv[1], "hello")))) as child:
        print(child.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def launcher(folder: Path, script: str) -> Command:
    path = folder / "npx"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Command((str(path), "hello"))


@asynccontextmanager
async def here(folder: Path, fetch: float = 30.0, hold: float = 30.0) -> AsyncIterator[Local]:
    patience = LocalPatience(eof=0.2, term=0.3, fetch=fetch, hold=hold)
    local = Local(fetches=folder / "locks", patience=patience)
    try:
        yield local
    finally:
        await local.close()


@pytest.mark.parametrize(
    "words",
    ["npx -y a", "/usr/bin/npx a", "npm exec a", "uvx a", "uv tool run a", "pnpm dlx a", "bunx a"],
)
def test_what_may_install_before_it_runs_is_known(words: str) -> None:
    assert may_fetch(tuple(words.split()))


@pytest.mark.parametrize("words", ["", "node a.js", "npm install a", "uv", "python -m npx"])
def test_what_installs_nothing_is_no_launcher(words: str) -> None:
    assert not may_fetch(tuple(words.split()))


async def test_a_launcher_whose_server_has_spoken_is_ended_like_any_other(tmp_path: Path) -> None:
    command = launcher(tmp_path, SPEAKS + f"; {HANGS}")
    async with here(tmp_path) as local:
        async with local.start(Run("it", command)) as child:
            assert await Ear(child).line() == b"spoken"
        assert await leaves(child.pid, within=0)


async def test_a_launcher_that_never_finishes_is_ended_when_its_time_is_over(
    tmp_path: Path,
) -> None:
    async with here(tmp_path, fetch=0.5) as local:
        async with local.start(Run("it", launcher(tmp_path, HANGS))) as child:
            pass
        assert await leaves(child.pid, within=60)


async def test_a_server_that_speaks_after_it_was_given_up_is_ended(tmp_path: Path) -> None:
    script = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; echo spoken; {HANGS}"
    async with here(tmp_path) as local:
        async with local.start(Run("it", launcher(tmp_path, script))) as child:
            pass
        assert not await leaves(child.pid, within=0)
        (tmp_path / "go").touch()
        assert await leaves(child.pid, within=60)


async def test_the_next_start_waits_for_the_one_before(tmp_path: Path) -> None:
    script = f"echo begun >> {tmp_path}/log; while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    command = launcher(tmp_path, f"{script}; {SPEAKS}")
    began = tmp_path / "log"
    async with here(tmp_path) as local:
        async with local.start(Run("it", command)):
            await eventually(began.exists)

        async def again() -> None:
            async with local.start(Run("it", command)) as child:
                assert await Ear(child).line() == b"spoken"

        async with asyncio.TaskGroup() as group:
            started = group.create_task(again())
            assert not (await asyncio.wait([started], timeout=0.5))[0]
            assert began.read_text().split() == ["begun"]
            (tmp_path / "go").touch()
        assert began.read_text().split() == ["begun", "begun"]


async def test_a_start_that_waits_too_long_says_what_for(tmp_path: Path) -> None:
    command = launcher(tmp_path, HANGS)
    async with here(tmp_path, fetch=0.5, hold=0.2) as local:
        async with local.start(Run("it", command)):
            with pytest.raises(StartError, match="an earlier start of it has not ended") as error:
                async with local.start(Run("it", command)):
                    pass
        assert "installing" in error.value.hint


async def kill_hub(command: Command, fetch: float) -> int:
    """Kill a hub while a launcher of it is at work; the launcher's pid."""
    hub = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HUB,
        command.argv[0],
        str(fetch),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert hub.stdout is not None
    pid = int(await hub.stdout.readline())
    hub.kill()
    await hub.wait()
    return pid


async def test_a_launcher_of_a_killed_hub_finishes(tmp_path: Path) -> None:
    wait = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    words = f"echo a warning >&2; echo finished > {tmp_path}/end"
    pid = await kill_hub(launcher(tmp_path, f"{wait}; {words}"), fetch=60)

    (tmp_path / "go").touch()

    assert await leaves(pid, within=60)
    assert (tmp_path / "end").read_text() == "finished\n"


async def test_a_launcher_of_a_killed_hub_that_never_finishes_is_ended(tmp_path: Path) -> None:
    pid = await kill_hub(launcher(tmp_path, HANGS), fetch=0.5)

    assert await leaves(pid, within=60)
