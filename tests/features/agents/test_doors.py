"""The endpoint of an agent: exactly what is resolved for it, listed and called alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import Agent, entry, make_token, open_yard, send
from tests.doors.doors import Doors, call


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


async def give(doors: Doors, agent: str, **servers: Any) -> None:
    body = {"enabled": True, "servers": servers}
    answer = await send(doors, "POST", f"/api/mcp-config?agent={agent}", body)
    assert answer.status == 200, answer
    assert answer.json()["noticed"]


async def set_policy(doors: Doors, executor: str, **said: Any) -> None:
    answer = await send(doors, "PUT", f"/api/v1/policies/{executor}", said)
    assert answer.status == 200, answer


async def test_an_agent_sees_its_servers_under_its_own_names(yard: Doors) -> None:
    await give(yard, "codex", first={"server": "one"}, again={"server": "one", "mode": "shared"})
    agent = Agent(yard, "/mcp/a/codex")
    listed = (await agent.ask("tools/list"))["result"]["tools"]
    names = {tool["name"] for tool in listed}
    assert names == {
        f"{name}__{tool}"
        for name in ("first", "again")
        for tool in ("echo", "env", "tool_0", "tool_1", "tool_2")
    }
    said = await agent.call("again__echo", text="hi")
    assert said["result"]["content"][0]["text"] == "hi"
    for hidden in ("one__echo", "two__echo", "toolyard_destroy"):
        assert "error" in await agent.call(hidden, text="x")


async def test_an_agent_is_told_of_no_tools_that_it_does_not_have(yard: Doors) -> None:
    await give(yard, "codex", first={"server": "one"})
    said = (await Agent(yard, "/mcp/a/codex").ask("server/discover"))["result"]["instructions"]
    assert "toolyard_" not in said
    assert "The server first (its tools are first__*) says:" in said
    alone = await Agent(yard, "/mcp/a/codex/s/first").ask("server/discover")
    assert alone["result"]["instructions"] == "This is the stub one."


async def test_a_server_that_an_agent_has_twice_is_listed_twice_by_two_addresses(
    yard: Doors,
) -> None:
    await give(yard, "codex", first={"server": "one"}, again={"server": "one", "mode": "shared"})
    listed = await Agent(yard, "/mcp/a/codex").ask("resources/list")
    uris = [item["uri"] for item in listed["result"]["resources"]]
    plain = {uri for uri in uris if not uri.startswith("toolyard://at/")}
    assert plain and len(set(uris)) == len(uris) == 2 * len(plain)


async def test_what_is_refused_is_neither_listed_nor_called(yard: Doors) -> None:
    await give(yard, "codex", one={"server": "one"}, two={"server": "two"})
    await set_policy(yard, "ssh", deny=["one"])
    there, here = Agent(yard, "/mcp/a/codex/e/ssh"), Agent(yard, "/mcp/a/CODEX/e/local")
    assert {name.partition("__")[0] for name in await there.tools()} == {"two"}
    assert {name.partition("__")[0] for name in await here.tools()} == {"one", "two"}
    assert "error" in await there.call("one__echo", text="x")
    assert "result" in await here.call("one__echo", text="x")


async def test_an_agent_without_a_list_sees_nothing(yard: Doors) -> None:
    assert await Agent(yard, "/mcp/a/cursor").tools() == []
    await give(yard, "cursor", one={"server": "one"})
    assert await Agent(yard, "/mcp/a/cursor").tools()
    body = {"enabled": False, "servers": {"one": {"server": "one"}}}
    assert (await send(yard, "POST", "/api/mcp-config?agent=cursor", body)).status == 200
    assert await Agent(yard, "/mcp/a/cursor").tools() == []


async def test_a_server_of_its_own_is_started_and_shown_to_nobody_else(yard: Doors) -> None:
    await give(yard, "codex", mine=entry("mine", "--only", "echo") | {"mode": "shared"})
    agent = Agent(yard, "/mcp/a/codex")

    async def is_there() -> bool:
        return "mine__echo" in await agent.tools()

    await yard.until(is_there)
    assert (await agent.call("mine__echo", text="hi"))["result"]["content"][0]["text"] == "hi"
    assert not [name for name in await Agent(yard).tools() if name.startswith("mine")]
    alone = Agent(yard, "/mcp/a/codex/s/mine")
    assert "echo" in await alone.tools()
    assert (await Agent(yard, "/mcp/s/mine").post(call("initialize"))).status == 404


async def test_one_server_of_the_yard_has_a_door_of_its_own(yard: Doors) -> None:
    agent = Agent(yard, "/mcp/s/two")
    assert set(await agent.tools()) == {"echo", "tool_0", "tool_1"}
    assert (await agent.call("echo", text="hi"))["result"]["content"][0]["text"] == "hi"


@pytest.mark.parametrize(
    "path",
    ["/mcp/a/nobody", "/mcp/a/codex/e/nowhere", "/mcp/a/", "/mcp/a/codex/x", "/mcp/s/none"],
)
async def test_an_unknown_path_shows_nothing_at_all(yard: Doors, path: str) -> None:
    answer = await Agent(yard, path).post(call("initialize", {}))
    assert answer.status == 404
    assert answer.json()["error"]["message"]


async def test_the_token_of_an_agent_opens_its_endpoint_alone(yard: Doors) -> None:
    await give(yard, "codex", one={"server": "one"})
    await give(yard, "cursor", two={"server": "two"})
    token = await make_token(yard, "mine", agent="CODEX")
    for path in ("/mcp", "/mcp/a/codex", "/mcp/a/codex/e/docker"):
        names = await Agent(yard, path, token).tools()
        assert names, path
        assert {name.partition("__")[0] for name in names} == {"one"}
    for path in ("/mcp/a/cursor", "/mcp/s/two", "/mcp/p/x"):
        assert (await Agent(yard, path, token).post(call("tools/list"))).status == 403, path
    assert (await send(yard, "POST", "/api/v1/tokens", {"name": "x", "agent": "no"})).status == 404
    limited = await make_token(yard, "limited", servers=["one"])
    assert (await Agent(yard, "/mcp/a/codex", limited).post(call("tools/list"))).status == 403


async def test_the_token_of_a_run_opens_its_executor_alone(yard: Doors) -> None:
    await give(yard, "codex", one={"server": "one"}, two={"server": "two"})
    await set_policy(yard, "docker", deny=["one"])
    run = await send(yard, "POST", "/api/v1/runs", {"agent": "codex", "executor": "docker"})
    token = run.json()["token"]
    for path in ("/mcp", "/mcp/a/codex/e/docker", "/mcp/a/codex/e/DOCKER"):
        agent = Agent(yard, path, token)
        assert {name.partition("__")[0] for name in await agent.tools()} == {"two"}, path
        assert "error" in await agent.call("one__echo", text="x"), path
    for path in (
        "/mcp/a/codex",
        "/mcp/a/codex/e/local",
        "/mcp/a/codex/s/one",
        "/mcp/a/codex/e/ssh",
    ):
        assert (await Agent(yard, path, token).post(call("tools/list"))).status == 403, path
    (row,) = (await yard.get("/api/v1/tokens"))["tokens"]
    assert (row["agent"], row["executor"]) == ("codex", "docker")


async def test_the_token_of_a_run_here_opens_what_is_here(yard: Doors) -> None:
    await give(yard, "codex", one={"server": "one"})
    token = (await send(yard, "POST", "/api/v1/runs", {"agent": "codex"})).json()["token"]
    for path in ("/mcp", "/mcp/a/codex", "/mcp/a/codex/e/local"):
        assert "one__echo" in await Agent(yard, path, token).tools(), path
    assert (await Agent(yard, "/mcp/a/codex/e/docker", token).post(call("ping"))).status == 403


async def test_a_change_reaches_a_connected_client_as_one_list_changed(yard: Doors) -> None:
    await give(yard, "codex", one={"server": "one"})
    agent = Agent(yard, "/mcp/a/codex")
    session = await agent.initialize()
    head = {**session, "Accept": "text/event-stream"}
    await agent.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    async with yard.connected() as raw:
        await raw.send(yard.request("GET", "/mcp/a/codex", headers=head))
        assert (await raw.head())[0] == 200
        await give(yard, "codex", one={"server": "one"}, two={"server": "two"})
        async with asyncio.timeout(60):
            first = await raw.event()
        assert first["method"] == "notifications/tools/list_changed"
        # A second change of tools would come within the moment in which changes are gathered.
        seen = []
        with suppress(TimeoutError):
            async with asyncio.timeout(0.7):
                while True:
                    seen.append((await raw.event())["method"])
        assert "notifications/tools/list_changed" not in seen
    names = {name.partition("__")[0] for name in await agent.tools()}
    assert names == {"one", "two"}
