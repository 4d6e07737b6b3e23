"""Tasks born in callbacks have an owner, who ends them."""

from __future__ import annotations

import asyncio
import logging

import pytest

from toolyard.tasks import Tasks


async def test_closing_cancels_what_runs_and_waits_for_its_end() -> None:
    tasks, ended = Tasks(), []
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    task = tasks.start(work())
    await started.wait()
    await tasks.close()

    assert ended == ["ended"]
    assert task is not None and task.cancelled()


async def test_nothing_starts_after_the_close() -> None:
    tasks, ran = Tasks(), []

    async def work() -> None:
        ran.append("ran")

    await tasks.close()

    assert tasks.start(work()) is None
    await asyncio.sleep(0)
    assert ran == []


async def test_a_task_that_fails_is_logged_and_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tasks = Tasks()

    async def fail() -> None:
        raise ValueError("on purpose")

    async def succeed() -> int:
        return 7

    failing, other = tasks.start(fail()), tasks.start(succeed())
    assert failing is not None and other is not None
    with caplog.at_level(logging.ERROR, "toolyard.tasks"):
        await asyncio.wait([failing, other])
        await asyncio.sleep(0)

    assert other.result() == 7
    assert "on purpose" in caplog.text
    await tasks.close()


async def test_a_task_may_close_its_own_owner() -> None:
    tasks = Tasks()

    async def work() -> str:
        await tasks.close()
        return "done"

    task = tasks.start(work())
    assert task is not None
    async with asyncio.timeout(60):
        assert await task == "done"


async def test_a_wait_without_a_task_ends_with_its_owner() -> None:
    tasks, ended = Tasks(), []
    wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    wait.add_done_callback(lambda wait: ended.append(wait.cancelled()))
    tasks.waits.add(wait)
    await tasks.close()

    assert ended == [True], "whoever waits has heard of it when the owner is closed"
    assert tasks.is_closed


async def test_work_under_way_is_waited_for_with_and_without_a_task() -> None:
    tasks, ended = Tasks(), []
    wait: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    wait.add_done_callback(lambda wait: ended.append(wait.result()))
    tasks.waits.add(wait)

    async def answer() -> None:
        wait.set_result("answered")

    tasks.start(answer())
    await tasks.settle(60)

    assert ended == ["answered"]
    await tasks.close()


async def test_a_wait_that_was_taken_out_is_not_cancelled() -> None:
    tasks = Tasks()
    wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tasks.waits.add(wait)
    tasks.waits.discard(wait)
    await tasks.close()

    assert not wait.done()
