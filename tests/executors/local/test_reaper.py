from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.executors.children import DAEMON, ECHO, ESCAPING, STUBBORN, Ear, leaves, marked, python
from toolyard.core.errors import StartError
from toolyard.core.leases import Deadline
from toolyard.core.placement import Run
from toolyard.executors.local import Local, reaper
from toolyard.executors.local.marking import marking

PATIENCE = 60.0
HUB = f"""
import asyncio, sys
from contextlib import AsyncExitStack
from tests.executors.children import Ear, python
from toolyard.core.placement import Run
from toolyard.executors.local import Local

async def main():
    local = Local()
    open_ = lambda name, code: local.start(Run(name, python(code)))
    async with AsyncExitStack() as stack:
        stubborn = await stack.enter_async_context(open_("stubborn", {STUBBORN!r}))
        await Ear(stubborn).line()
        escaping = await stack.enter_async_context(open_("escaping", {ESCAPING!r}))
        escaped = int(await Ear(escaping).line())
        daemon = await stack.enter_async_context(open_("daemon", {DAEMON!r}))
        unmarked = int(await Ear(daemon).line())
        print(local.owner, escaped, unmarked, local.reaper, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process is about to do."""
    async with asyncio.timeout(60):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


async def test_a_killed_hub_leaves_nothing_behind() -> None:
    hub = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HUB,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert hub.stdout is not None
    owner, escaped, unmarked, watcher = (await hub.stdout.readline()).decode().split()
    await until(lambda: int(unmarked) not in marked(owner))
    pids = marked(owner)
    assert len(pids) == 4 and int(escaped) in pids and int(unmarked) not in pids

    hub.kill()
    deadline = time.monotonic() + PATIENCE
    await hub.wait()
    for pid in (*pids, int(unmarked), int(watcher)):
        assert await leaves(pid, within=deadline - time.monotonic())

    assert marked(owner) == []


async def test_the_reaper_is_one_small_and_deaf_to_the_terminal(local: Local) -> None:
    assert local.reaper is None
    async with local.start(Run("one", python(ECHO))), local.start(Run("two", python(ECHO))):
        pid = local.reaper
        assert pid is not None
        assert os.getsid(pid) == pid
        status = Path(f"/proc/{pid}/status").read_text()
        assert int(status.partition("VmRSS:")[2].split()[0]) < 20 * 1024
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
        assert not await leaves(pid, within=0.2)
    await local.close()

    assert await leaves(pid, within=0)


async def test_a_lost_reaper_is_replaced_with_the_next_server(local: Local) -> None:
    async with local.start(Run("one", python(ECHO))):
        first = local.reaper
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert await leaves(first, within=PATIENCE)
        async with local.start(Run("two", python(ECHO))) as pipes:
            assert local.reaper not in (None, first)
            ear = Ear(pipes)
            pipes.write(b"served\n")
            assert await ear.line() == b"served"


async def test_a_daemon_with_an_empty_environment_ends_with_its_server(local: Local) -> None:
    async with local.start(Run("one", python(DAEMON))) as one:
        async with local.start(Run("two", python(DAEMON))) as two:
            first, second = int(await Ear(one).line()), int(await Ear(two).line())
        assert await leaves(second, within=PATIENCE)
        assert not await leaves(first, within=0)
    assert await leaves(first, within=PATIENCE)


def test_what_is_started_has_its_mark_before_it_can_fork() -> None:
    usual = resource.getrlimit(resource.RLIMIT_RTTIME)
    script = "import resource; print(resource.getrlimit(resource.RLIMIT_RTTIME)[0])"

    with marking() as limit:
        child = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert int(child.stdout) == limit > 1 << 61
    assert resource.getrlimit(resource.RLIMIT_RTTIME) == usual


async def test_the_mark_of_a_server_is_beyond_what_any_other_process_has(local: Local) -> None:
    async with local.start(Run("one", python(ECHO))) as one:
        limit, _ = resource.prlimit(one.pid, resource.RLIMIT_RTTIME)

    # Of so many, two hubs of one user never draw the same; nobody sets such a time on purpose.
    assert 2**62 <= limit < 2**63


def none(sessions: dict[int, int]) -> reaper.ProcessFamily:
    """Processes by their sessions alone."""
    return reaper.ProcessFamily("TOOLYARD_INSTANCE=none", sessions, {})


def test_a_stranger_with_a_known_pid_is_not_signalled() -> None:
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        seen = reaper.read_process(stranger.pid)
        assert seen is not None
        # The same pid, but another start: the child we knew is gone, the number passed on.
        reaper.end_processes(none({stranger.pid: seen.start - 1}), 0, patience=0)
        assert stranger.poll() is None

        reaper.end_processes(none({stranger.pid: seen.start}), 0, patience=0)
        assert stranger.wait(60) == -signal.SIGKILL
    finally:
        stranger.kill()
        stranger.wait()


def test_a_mark_counts_only_whole() -> None:
    stranger = subprocess.Popen(["sleep", "60"], env={"TOOLYARD_OWNER": "abcdef", "X": "a\nb"})
    try:
        assert reaper.find_processes(reaper.ProcessFamily("TOOLYARD_OWNER=abc", {}, {}), 0) == []
        kin = reaper.ProcessFamily("TOOLYARD_OWNER=abcdef", {}, {})
        assert [p.pid for p in reaper.find_processes(kin, 0)] == [stranger.pid]
    finally:
        stranger.kill()
        stranger.wait()


FROZEN = f"""
import asyncio, os, signal, time
from tests.executors.children import Ear, python
from toolyard.core.leases import Deadline
from toolyard.core.placement import Run
from toolyard.executors.local import Local

async def main():
    local, deadline = Local(), Deadline(time.monotonic() + 600)
    run = Run("exclusive", python({ESCAPING!r}), deadline=deadline)
    async with local.start(run) as child, local.start(Run("other", python({STUBBORN!r}))) as other:
        escaped = int(await Ear(child).line())
        await Ear(other).line()
        print(child.pid, escaped, other.pid, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, input)
        deadline.move(time.monotonic() + 1)
        os.kill(os.getpid(), signal.SIGSTOP)
        print("back", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_what_must_have_ended_is_ended_while_its_hub_is_frozen() -> None:
    """All of it, and nothing of another server."""
    hub = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        FROZEN,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert hub.stdout is not None
    assert hub.stdin is not None
    child, escaped, other = map(int, (await hub.stdout.readline()).split())
    hub.stdin.write(b"\n")
    try:
        for pid in (child, escaped):
            assert await leaves(pid, within=PATIENCE)
        assert reaper.read_process(other) is not None
    finally:
        os.kill(hub.pid, signal.SIGCONT)
    assert await hub.stdout.readline() == b"back\n"
    hub.kill()
    await hub.wait()
    assert await leaves(other, within=PATIENCE)


async def test_what_is_exclusive_does_not_start_after_its_time(local: Local) -> None:
    run = Run("late", python(ECHO), deadline=Deadline(time.monotonic()))
    with pytest.raises(StartError, match="exclusive"):
        async with local.start(run):
            pass


async def test_a_time_that_is_moved_on_does_not_end_a_process(local: Local) -> None:
    deadline = Deadline(time.monotonic() + 0.5)
    async with local.start(Run("moved", python(ECHO), deadline=deadline)) as child:
        ear = Ear(child)
        deadline.move(time.monotonic() + 600)
        deadline_passed = time.monotonic() + 0.6
        await until(lambda: time.monotonic() > deadline_passed)
        child.write(b"still here\n")
        assert b"still here" in await ear.line()
