"""A process for each session: begun by its first call, heard by it alone, ended with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import environment, toolyard
from tests.e2e.talk import listening, text_of
from tests.fixtures.stub_run import recorded, running_http_stub
from tests.instances.yard import AGENT, company, count, is_alive, pid_of, stub
from toolyard.links import instances

NOTE = "note://own/counter"
KINDS = [(era, door) for era in ("legacy", "modern") for door in ("line", "http")]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grace that a test can wait for."""
    monkeypatch.setattr(instances, "GRACE_SECONDS", 0.5)


@pytest.mark.parametrize(("era", "door"), KINDS)
async def test_each_session_has_a_process_of_its_own_and_keeps_it(
    home: Path, era: str, door: str
) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own", "--era", era)}}) as yard,
        yard.client(era, door, name="one") as one,
        yard.client(era, door, name="two") as two,
    ):
        assert [await count(one), await count(one), await count(two)] == [1, 2, 1]
        assert await pid_of(one) == await pid_of(one) != await pid_of(two)
        rows = await yard.rows("own")
        assert {row["client"] for row in rows} == {"one", "two"}
        assert {row["pid"] for row in rows} == {await pid_of(one), await pid_of(two)}


async def test_a_process_of_a_session_is_greeted_in_the_era_that_is_known_of_its_server(
    home: Path,
) -> None:
    listed = {"own": stub(home, "own", "--era", "legacy", "--record-all")}
    async with company(home, {AGENT: listed}) as yard, yard.client(capabilities={}) as one:
        before = len(recorded(home / "own.jsonl", "message"))
        await count(one)
        messages = recorded(home / "own.jsonl", "message")[before:]
    methods = [line["message"]["method"] for line in messages]
    assert methods == ["initialize", "notifications/initialized", "tools/call"]


async def test_a_shared_server_of_agents_is_one_process_for_all(home: Path) -> None:
    listed = {"own": stub(home, "own", mode="shared")}
    async with (
        company(home, {AGENT: listed, "cursor": listed}) as yard,
        yard.client() as one,
        yard.client("modern", "http", agent="cursor") as two,
    ):
        assert [await count(one), await count(two)] == [1, 2]
        assert await yard.rows() == []


async def test_a_policy_that_sets_variables_gives_its_agents_one_process_with_them(
    home: Path,
) -> None:
    listed = {"own": stub(home, "own", mode="shared")}
    policies = {"docker": {"env_injection": {"LEVEL": "far"}}}
    async with (
        company(home, {AGENT: listed}, policies=policies) as yard,
        yard.client() as near,
        yard.client(executor="docker") as far,
        yard.client(executor="docker") as farther,
    ):
        asked = {"name": "LEVEL"}
        assert text_of(await near.call("own__env", asked)) == ""
        assert text_of(await far.call("own__env", asked)) == "far"
        assert await pid_of(far) == await pid_of(farther) != await pid_of(near)


async def test_a_network_server_sees_a_session_for_each_session(home: Path) -> None:
    record = home / "web.jsonl"
    flags = ("--name", "web", "--era", "legacy", "--record", str(record), "--record-all")
    with running_http_stub(*flags) as url:
        listed = {"own": {"url": url, "mode": "per_session"}}
        async with (
            company(home, {AGENT: listed}) as yard,
            yard.client() as one,
            yard.client() as two,
        ):
            said = [text_of(await talk.call("own__headers")) for talk in (one, two, one)]
            ids = [json.loads(each)["mcp-session-id"] for each in said]
            assert ids[0] == ids[2] != ids[1]


# The end.


async def test_a_process_ends_when_its_session_has_been_gone_for_the_grace(
    home: Path, brief: None
) -> None:
    async with company(home, {AGENT: {"own": stub(home, "own")}}) as yard:
        async with yard.client() as one, yard.client("legacy", "http") as two:
            pids = [await pid_of(one), await pid_of(two)]
        assert all(is_alive(pid) for pid in pids), "there is a grace"
        assert all(row["leaving"] for row in await yard.rows())
        await yard.gone(*pids)
        assert await yard.rows() == []


async def test_after_its_clients_nothing_of_an_agents_own_server_runs(
    home: Path, brief: None
) -> None:
    async with company(home, {AGENT: {"own": stub(home, "own")}}) as yard:
        async with yard.client() as one:
            await count(one)

        async def nothing() -> bool:
            return (await yard.doors.get("/api/v1/instances"))["instances"] == []

        await yard.doors.until(nothing)
        started = recorded(home / "own.jsonl", "start")
        assert started and not any(is_alive(each["pid"]) for each in started)


async def test_a_client_that_is_killed_takes_its_process_along(home: Path, brief: None) -> None:
    async with company(home, {AGENT: {"own": stub(home, "own")}}) as yard:
        command = toolyard("mcp", "--agent", AGENT)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(home)
        )
        assert process.stdin is not None and process.stdout is not None
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "k"}}
        for number, (method, params) in enumerate(
            (("initialize", hello), ("tools/call", {"name": "own__where", "arguments": {}})), 1
        ):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            answer = json.loads(await process.stdout.readline())
        pid = json.loads(text_of(answer["result"]))["pid"]
        assert is_alive(pid)
        process.kill()
        await process.wait()
        await yard.gone(pid)


async def test_a_session_that_comes_back_in_time_finds_its_process_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "GRACE_SECONDS", 2.0)
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}) as yard,
        yard.client("legacy", "http") as talk,
    ):
        assert await count(talk) == 1
        head = {**talk.session, "Accept": "text/event-stream"}  # type: ignore[attr-defined]
        async with yard.doors.connected() as raw:
            await raw.send(yard.doors.request("GET", f"/mcp/a/{AGENT}", headers=head))
            assert (await raw.head())[0] == 200

        async def leaves() -> Any:
            return [row for row in await yard.rows() if row["leaving"]]

        await yard.doors.until(leaves)
        assert await count(talk) == 2
        assert not await leaves()


async def test_a_process_that_nobody_used_for_long_ends_and_the_next_call_gets_another(
    home: Path,
) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}, session_idle=0.5) as yard,
        yard.client("modern", "http") as talk,
    ):
        pid = await pid_of(talk)
        await yard.gone(pid)
        assert await count(talk) == 1


async def test_a_server_that_is_taken_off_the_list_ends_for_everybody(home: Path) -> None:
    servers = {"own": {k: v for k, v in stub(home, "own").items() if k != "mode"}}
    listed = {"own": {"server": "own", "mode": "per_session"}}
    async with (
        company(home, {AGENT: listed}, servers=servers) as yard,
        yard.client() as talk,
    ):
        pid = await pid_of(talk)
        (home / "servers.json").write_text('{"mcpServers":{"x":{"command":"x","disabled":true}}}')
        await yard.gone(pid)
        assert "error" in await talk.request("tools/call", {"name": "own__where", "arguments": {}})


async def test_a_process_that_dies_is_started_again_by_the_next_call_and_that_is_shown(
    home: Path,
) -> None:
    async with (
        company(home, {AGENT: {"own": stub(home, "own")}}) as yard,
        yard.client() as talk,
    ):
        pid = await pid_of(talk)
        os.kill(pid, signal.SIGKILL)

        async def failed() -> Any:
            return [row for row in await yard.rows() if row["status"] == "failing"]

        (row,) = await yard.doors.until(failed)
        assert row["restarts"] == 1 and "own" in row["error"]["text"]
        assert await pid_of(talk) != pid
        (row,) = await yard.rows()
        assert (row["status"], row["restarts"]) == ("ready", 1) and row["error"] is not None
        assert row["where"] == f"pid {row['pid']}" and row["since"] > 0 and row["memory"] > 0


# Who hears what.


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_resource_is_followed_at_the_process_of_its_own_session(
    home: Path, era: str
) -> None:
    updated = "notifications/resources/updated"
    listed = {"own": stub(home, "own", "--era", era)}
    async with (
        company(home, {AGENT: listed}) as yard,
        yard.client() as one,
        yard.client() as two,
        yard.client("modern") as three,
        listening(three, resourceSubscriptions=[NOTE]),
    ):
        for talk in (one, two):
            await talk.result("resources/subscribe", {"uri": NOTE})
        await one.call("own__touch")
        assert (await one.wait_heard(updated))[0]["uri"] == NOTE
        await three.call("own__touch")
        assert (await three.wait_heard(updated))[0]["uri"] == NOTE
        assert not [m for m in two.heard if m["method"] == updated]
        read = await one.result("resources/read", {"uri": NOTE})
        other = await two.result("resources/read", {"uri": NOTE})
        assert read["contents"][0]["text"] != other["contents"][0]["text"]


async def test_prompts_completion_and_tasks_go_to_the_session_s_own_process(home: Path) -> None:
    listed = {"own": stub(home, "own", "--era", "legacy", "--tasks", "--record-all")}
    async with (
        company(home, {AGENT: listed}) as yard,
        yard.client() as one,
        yard.client() as two,
    ):
        prompts = (await one.result("prompts/list"))["prompts"]
        name = prompts[0]["name"]
        asked = {a["name"]: "x" for a in prompts[0].get("arguments", [])}
        await one.result("prompts/get", {"name": name, "arguments": asked})
        ref = {"type": "ref/prompt", "name": name}
        argument = {"name": next(iter(asked), "x"), "value": ""}
        await one.result("completion/complete", {"ref": ref, "argument": argument})
        call = {"name": "own__sleep", "arguments": {"ms": 1}, "task": {"ttl": 60_000}}
        first = (await one.result("tools/call", call))["task"]["taskId"]
        second = (await two.result("tools/call", call))["task"]["taskId"]
        for talk, id_ in ((one, first), (two, second)):
            assert (await talk.result("tasks/get", {"taskId": id_}))["taskId"] == id_
            assert [t["taskId"] for t in (await talk.result("tasks/list"))["tasks"]] == [id_]
            await talk.result("tasks/result", {"taskId": id_})


async def test_a_process_is_told_what_its_own_client_can_do_and_asks_it_alone(home: Path) -> None:
    listed = {"own": stub(home, "own", "--era", "legacy", "--record-all")}
    able: dict[str, Any] = {"elicitation": {"form": {}}}
    async with (
        company(home, {AGENT: listed}) as yard,
        yard.client(capabilities=able) as one,
        yard.client(capabilities={}) as two,
    ):
        said = text_of(await one.call("own__ask"))
        assert "Ada" in said
        await two.call("own__counter")
        assert not two.asked
        told = [each["capabilities"] for each in recorded(home / "own.jsonl", "initialize")]
        assert able in told and {} in told
