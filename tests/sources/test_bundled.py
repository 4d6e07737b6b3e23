from __future__ import annotations

import asyncio
import sys

from toolyard.core.model import Command, Report
from toolyard.sources.bundled import Bundled


async def test_the_example_is_offered_exactly_while_nobody_else_has_a_server() -> None:
    answers: asyncio.Queue[bool] = asyncio.Queue()
    posted: asyncio.Queue[Report] = asyncio.Queue()
    source = Bundled(answers.get)
    assert source.name == "bundled"
    async with asyncio.TaskGroup() as group, asyncio.timeout(20):
        task = group.create_task(source.run(posted.put_nowait))
        sizes = []
        for others in (False, False, True, True, False):
            answers.put_nowait(others)
        for _ in range(3):
            report = await posted.get()
            sizes.append(len(report.servers))
        assert sizes == [1, 0, 1]
        assert posted.empty()
        (server,) = report.servers
        assert str(server.id) == "example@bundled"
        assert server.endpoint == Command((sys.executable, "-m", "toolyard.example"))
        task.cancel()
