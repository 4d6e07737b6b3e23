"""A hub with limits, in front of servers that record every call they run."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from tests.control.company import Agent, entry, send
from tests.doors.doors import Answer, Doors, Json, mirrored, modern
from tests.fixtures.stub_run import recorded

LIMITS = "/api/v1/limits"
AT_ONCE = 8


def recording(home: Path, name: str = "one", *flags: str) -> Json:
    """The entry of a stub that records every message."""
    tools = ("--only", "echo,env,payload,sleep,ask")
    record = ("--record", str(home / f"{name}.jsonl"), "--record-all")
    return entry(name, *tools, *record, *flags)


def ran(home: Path, name: str = "one") -> int:
    """The calls that a server has run."""
    events = recorded(home / f"{name}.jsonl", "message")
    return sum(event["message"].get("method") == "tools/call" for event in events)


async def put_limit(doors: Doors, name: str, **said: Any) -> None:
    """Set a limit, and see it noticed."""
    answer = await send(doors, "POST", LIMITS, {"name": name, **said})
    assert answer.status == 200 and answer.json()["noticed"], answer


async def post_call(agent: Agent, tool: str = "one__echo", /, **arguments: Any) -> Answer:
    """Call a tool as a modern client; the answer of HTTP."""
    message = modern("tools/call", {"name": tool, "arguments": arguments})
    return await agent.post(message, {**mirrored(message), "Accept": "application/json"})


async def rush(agents: list[Agent], calls: int, tool: str = "one__echo") -> list[Answer]:
    """Make that many calls, several at a time, by each of these in turn."""
    answers: list[Answer] = []
    orders = iter([agents[number % len(agents)] for number in range(calls)])

    async def work() -> None:
        answers.extend([await post_call(agent, tool, text="x") for agent in orders])

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return answers


def outcomes(answers: list[Answer]) -> dict[int, int]:
    """The number of answers with each status; those with 200 are results."""
    assert all(("result" in answer.json()) is (answer.status == 200) for answer in answers)
    return dict(Counter(answer.status for answer in answers))


async def uses(doors: Doors) -> list[Json]:
    """How much of each limit is used."""
    rows: list[Json] = (await doors.get(LIMITS))["uses"]
    return rows
