from __future__ import annotations

import asyncio

import pytest

from toolyard.executors.waits import heeding, through


async def test_whoever_is_cancelled_as_the_work_is_done_undoes_it_and_is_cancelled() -> None:
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    undone: list[str] = []

    async def library() -> str:
        try:
            return await asyncio.wait_for(done, 60)
        except asyncio.CancelledError:  # as `wait_for` of Python 3.11 does by itself
            return done.result()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(heeding(library(), undone.append))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done.set_result("made")
        task.cancel()

    assert task.cancelled()
    assert undone == ["made"]


async def test_what_is_not_cancelled_is_given() -> None:
    async def work() -> int:
        return 7

    assert await heeding(work(), lambda _: None) == 7


async def test_work_is_finished_before_who_waits_is_cancelled() -> None:
    begun, goes_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await goes_on.wait()
        ended.set()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(through(work()))
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        goes_on.set()

    assert task.cancelled()
    assert ended.is_set()
    with pytest.raises(asyncio.CancelledError):
        task.result()
