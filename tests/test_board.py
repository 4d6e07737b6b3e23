"""The board holds one picture and wakes those who wait for the next."""

from __future__ import annotations

import asyncio

from toolyard.board import Board
from toolyard.core.model import Command, Report, Server, ServerId, Snapshot


def report(*names: str) -> Report:
    return Report("t", tuple(Server(ServerId(name, "t"), Command((name,))) for name in names))


async def test_a_new_board_is_empty() -> None:
    assert Board().snapshot == Snapshot()


async def test_who_waits_is_woken_by_a_change_and_gets_the_latest_picture() -> None:
    board = Board()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        waiting = [group.create_task(board.wait_after(0)) for _ in range(3)]
        await asyncio.sleep(0)
        board.post(report("a"))
        board.post(report("a", "b"))

    assert [task.result() for task in waiting] == [board.snapshot] * 3
    assert board.snapshot.revision == 2


async def test_who_is_behind_does_not_wait() -> None:
    board = Board()
    board.post(report("a"))
    async with asyncio.timeout(20):
        assert await board.wait_after(-1) is board.snapshot
        assert await board.wait_after(0) is board.snapshot


async def test_what_changes_nothing_wakes_nobody() -> None:
    board = Board()
    board.post(report("a"))
    before = board.snapshot
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(board.wait_after(before.revision))
        await asyncio.sleep(0)
        board.post(report("a"))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()

    assert not done
    assert board.snapshot is before


async def test_a_change_between_two_waits_is_not_missed() -> None:
    board = Board()
    seen: list[int] = []

    async def follow() -> None:
        revision = 0
        while revision < 20:
            revision = (await board.wait_after(revision)).revision
            seen.append(revision)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for number in range(20):
            board.post(report(f"s{number}"))
            if number % 3 == 0:
                await asyncio.sleep(0)

    assert seen[-1] == 20
    assert seen == sorted(set(seen))
