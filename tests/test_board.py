"""The board holds one picture and wakes those who wait for the next."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from toolyard.board import Board
from toolyard.core.model import Command, Event, Report, Server, ServerId, Snapshot


def report(*names: str) -> Report:
    return Report("t", tuple(Server(ServerId(name, "t"), Command((name,))) for name in names))


async def test_a_new_board_is_empty() -> None:
    assert Board().snapshot == Snapshot()


async def test_who_waits_is_woken_by_a_change_and_gets_the_latest_picture() -> None:
    board = Board()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = [group.create_task(board.wait_after(0)) for _ in range(3)]
        await asyncio.sleep(0)
        board.post(report("a"))
        board.post(report("a", "b"))

    assert [task.result() for task in waiting] == [board.snapshot] * 3
    assert board.snapshot.revision == 2


async def test_who_is_behind_does_not_wait() -> None:
    board = Board()
    board.post(report("a"))
    async with asyncio.timeout(60):
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

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for number in range(20):
            board.post(report(f"s{number}"))
            if number % 3 == 0:
                await asyncio.sleep(0)

    assert seen[-1] == 20
    assert seen == sorted(set(seen))


async def test_every_event_passes_the_stages_in_their_order_and_then_the_fold() -> None:
    passed: list[tuple[str, int]] = []

    def only_first(picture: Snapshot, event: Event) -> Event:
        assert isinstance(event, Report)
        passed.append(("only first", picture.revision))
        return Report(event.source, event.servers[:1])

    def switch_off(picture: Snapshot, event: Event) -> Event:
        assert isinstance(event, Report)
        passed.append(("switch off", len(event.servers)))
        return Report(event.source, tuple(replace(s, enabled=False) for s in event.servers))

    board = Board(stages=[only_first, switch_off])
    board.post(report("a", "b"))

    assert passed == [("only first", 0), ("switch off", 1)]
    (entry,) = board.snapshot.entries.values()
    assert entry.server.id.name == "a" and not entry.server.enabled


async def test_waiting_for_what_holds_already_does_not_wait() -> None:
    board = Board()
    board.post(report("a"))
    assert await board.wait_until(lambda picture: picture.revision == 1, seconds=0)


async def test_waiting_ends_with_the_picture_that_shows_it() -> None:
    board = Board()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(board.wait_until(lambda p: len(p.entries) == 2, seconds=20))
        for names in (("a",), ("a", "b")):
            await asyncio.sleep(0)
            assert not waiting.done()
            board.post(report(*names))

    assert waiting.result() is True


async def test_waiting_says_when_its_time_is_up() -> None:
    assert await Board().wait_until(lambda picture: bool(picture.entries), seconds=0.01) is False
