from __future__ import annotations

import asyncio
import sys

from toolyard.board import Board
from toolyard.core.model import Command, Report, Server, ServerId, Snapshot
from toolyard.features.servers.bundled import Bundled
from toolyard.links.readiness import Readiness

OTHER = Server(ServerId("files", "configured"), Command(("true",)))


def offered(snapshot: Snapshot) -> list[str]:
    return [str(id_) for id_ in snapshot.entries]


async def test_the_example_is_offered_exactly_while_nobody_else_has_a_server() -> None:
    board = Board()
    source = Bundled(board, Readiness(board, frozenset({"configured", "catalog"})).is_complete)
    assert (source.name, source.report) == ("bundled", Report("bundled"))
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        task = group.create_task(source.run(board.post))
        board.post(Report("configured"))
        await asyncio.sleep(0)
        assert offered(board.snapshot) == []  # the catalog may have some

        board.post(Report("catalog"))
        assert await board.wait_until(lambda picture: offered(picture) == ["example@bundled"])
        (entry,) = board.snapshot.entries.values()
        assert entry.server.endpoint == Command((sys.executable, "-m", "toolyard.example"))

        board.post(Report("configured", (OTHER,)))
        assert await board.wait_until(lambda picture: offered(picture) == ["files@configured"])
        board.post(Report("configured"))
        assert await board.wait_until(lambda picture: offered(picture) == ["example@bundled"])
        task.cancel()


async def test_servers_that_agents_list_themselves_do_not_take_its_place() -> None:
    board = Board()
    board.post(Report("agents", (Server(ServerId("own", "agents"), Command(("true",))),)))

    assert Bundled(board, lambda _: True).report.servers != ()
