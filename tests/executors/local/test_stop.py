from __future__ import annotations

import asyncio
import os
import time

import pytest

from tests.executors.children import ECHO, ESCAPING, STUBBORN, Ear, leaves, marked, python
from toolyard.core.placement import Run
from toolyard.executors.local import Local, LocalPatience

TIDY = """
import os, signal, sys, time
def leave(*_):
    os.write(1, b"cleaned\\n")  # the signal may have come while "ready" was printed
    sys.exit(5)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while True: time.sleep(60)
"""


async def test_a_server_that_leaves_at_end_of_input_is_stopped_at_once() -> None:
    local = Local(patience=LocalPatience(eof=200, term=200))
    async with local.start(Run("polite", python(ECHO))) as pipes:
        ear = Ear(pipes)
        pipes.write(b"up\n")
        await ear.line()
        before = time.monotonic()

    assert time.monotonic() - before < 150
    assert ear.ends == ["exited with code 0"]
    await local.close()


async def test_a_server_that_ignores_end_and_term_is_gone_after_leaving(local: Local) -> None:
    async with local.start(Run("stubborn", python(STUBBORN))) as pipes:
        ear = Ear(pipes)
        await ear.line()
        assert len(marked(local.owner)) == 1

    assert marked(local.owner) == []
    assert ear.ends == ["was killed by signal SIGKILL"]


async def test_a_server_may_clean_up_on_term() -> None:
    local = Local(patience=LocalPatience(eof=0.2, term=60))
    async with local.start(Run("tidy", python(TIDY))) as pipes:
        ear = Ear(pipes)
        await ear.line()

    assert ear.heard == b"cleaned\n"
    assert ear.ends == ["exited with code 5"]
    await local.close()


async def test_a_grandchild_in_a_session_of_its_own_is_gone_after_leaving(local: Local) -> None:
    async with local.start(Run("escaping", python(ESCAPING))) as pipes:
        escaped = int(await Ear(pipes).line())
        assert os.getsid(escaped) != os.getsid(0)

    assert await leaves(escaped, within=0)
    assert marked(local.owner) == []


async def test_a_grandchild_that_dropped_the_mark_is_gone_with_its_group(local: Local) -> None:
    code = """
import os, sys
if os.fork() == 0:
    sleeper = "import os, time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(60)"
    os.execve(sys.executable, [sys.executable, "-I", "-c", sleeper], {})
input()
"""
    async with local.start(Run("nameless", python(code))) as pipes:
        nameless = int(await Ear(pipes).line())

    assert await leaves(nameless, within=0)


async def test_one_server_stops_without_the_others(local: Local) -> None:
    async with local.start(Run("stays", python(ECHO))) as pipes:
        ear = Ear(pipes)
        async with local.start(Run("escaping", python(ESCAPING))) as other:
            await Ear(other).line()
        pipes.write(b"still here\n")

        assert await ear.line() == b"still here"


async def test_a_stop_cancelled_midway_keeps_its_manners(local: Local) -> None:
    ears: list[Ear] = []
    ready = asyncio.Event()

    async def serve() -> None:
        async with local.start(Run("tidy", python(TIDY))) as pipes:
            ears.append(Ear(pipes))
            await ears[0].line()
            ready.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(serve())
        await ready.wait()
        task.cancel()
        await asyncio.sleep(0)  # let it begin to stop
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert ears[0].ends == ["exited with code 5"]
    assert marked(local.owner) == []


async def test_a_closing_loop_ends_servers_without_patience() -> None:
    local = Local(patience=LocalPatience(eof=30, term=30))
    ready = asyncio.Event()

    async def serve() -> None:
        async with local.start(Run("escaping", python(ESCAPING + STUBBORN))) as pipes:
            await Ear(pipes).line()
            ready.set()

    task = asyncio.get_running_loop().create_task(serve())
    await ready.wait()
    await asyncio.sleep(0)  # let it begin to stop
    for each in asyncio.all_tasks() - {asyncio.current_task()}:
        each.cancel()
    async with asyncio.timeout(60):
        await asyncio.wait([task])

    assert task.cancelled()
    assert marked(local.owner) == []
    await local.close()


async def test_a_failure_inside_stops_the_server_too(local: Local) -> None:
    async def fail() -> None:
        async with local.start(Run("stubborn", python(STUBBORN))) as pipes:
            await Ear(pipes).line()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert marked(local.owner) == []


async def test_no_descriptor_is_left_open(local: Local) -> None:
    async with local.start(Run("warm", python(ECHO))):
        pass
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        async with local.start(Run("echo", python(ECHO))):
            pass
    await asyncio.sleep(0)  # transports close at the next turn

    assert len(os.listdir("/proc/self/fd")) <= len(before)
