"""What runs is seen: by commands, as events, in numbers; and one server can be had alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.doors.doors import Raw
from tests.e2e.hub import environment, toolyard
from tests.e2e.talk import Talk, talking, text_of
from tests.instances.yard import AGENT, AgentDoor, Company, company, count, pid_of, stub


async def run(home: Path, *words: str) -> str:
    """What a command prints."""
    process = await asyncio.create_subprocess_exec(
        *toolyard(*words), stdout=asyncio.subprocess.PIPE, env=environment(home)
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def test_the_command_line_shows_for_whom_what_runs(home: Path) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}) as yard,
        yard.client(name="editor") as talk,
    ):
        pid = await pid_of(talk)
        shown = await run(home, "status", "--instances")
        row = next(line for line in shown.splitlines() if "editor" in line)
        assert f"pid {pid}" in row and f"({AGENT})" in row and "MB" in row
        assert "editor" in await run(home, "status")
        said = json.loads(await run(home, "status", "--instances", "--json"))
        assert [each["pid"] for each in said["instances"] if each["client"]] == [pid]


async def next_instances(raw: Raw) -> list[dict[str, Any]]:
    """The next event about what runs."""
    async with asyncio.timeout(60):
        async for chunk in raw.chunks():
            if chunk.startswith(b"event: instances"):
                found: list[dict[str, Any]] = json.loads(chunk.split(b"data:", 1)[1])
                return found
    raise AssertionError("the stream ended")


async def test_events_and_numbers_tell_of_what_runs(home: Path) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}) as yard,
        yard.client(name="editor") as talk,
        yard.doors.connected() as raw,
    ):
        await raw.send(yard.doors.request("GET", "/api/v1/events"))
        assert (await raw.head())[0] == 200
        await count(talk)
        rows = await next_instances(raw)
        while not rows or rows[0]["status"] != "ready":
            rows = await next_instances(raw)
        assert (rows[0]["client"], rows[0]["mode"]) == ("editor", "per_session")
        metrics = (await yard.doors.ask("GET", "/metrics")).body.decode()
        assert 'toolyard_instances{mode="per_session",status="ready"} 1' in metrics


class Alone(AgentDoor):
    """The door of one server of the yard."""

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp/s/own"


async def tools(talk: Talk) -> set[str]:
    return {tool["name"] for tool in (await talk.result("tools/list"))["tools"]}


def door(yard: Company) -> Alone:
    url = f"http://127.0.0.1:{yard.doors.port}"
    return Alone(url, yard.doors.home, None)  # type: ignore[arg-type]


async def test_one_server_is_offered_alone_and_shared_at_either_door(home: Path) -> None:
    plain = {k: v for k, v in stub(home, "own", "--only", "counter,echo").items() if k != "mode"}
    other = {k: v for k, v in stub(home, "more", "--only", "echo").items() if k != "mode"}
    async with company(home, {}, servers={"own": plain, "more": other}) as yard:
        async with (
            talking(door(yard), "legacy", "http") as web,
            talking(door(yard), "modern", "http") as later,
            talking(door(yard), server="own") as line,
        ):
            for talk in (web, later, line):
                assert await tools(talk) == {"counter", "echo"}
            counts = [text_of(await talk.call("counter")) for talk in (web, later, line)]
            assert counts == ["1", "2", "3"]
        answer = await yard.doors.ask("POST", "/mcp/s/nobody", b"{}")
        assert answer.status == 404
