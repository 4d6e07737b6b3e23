"""Tokens of agents: the MCP door alone, and there only what is theirs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.control.company import LEGACY, Agent, make_token, open_yard, put_profile, send
from tests.doors.doors import PATIENCE, TOKEN, Doors, Json, Raw, call, open_doors
from tests.doors.test_gate import all_routes
from tests.e2e import scripted
from toolyard.doors.http.gate import is_open


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


async def test_an_agent_reaches_nothing_but_mcp(yard: Doors) -> None:
    token = await make_token(yard, "agent")
    head = {"Authorization": f"Bearer {token}"}
    routes = await all_routes(yard)
    assert len(routes) > 40
    for method, path in [*routes, ("GET", "/metrics"), ("GET", "/mcp/x"), ("POST", "/mcpp")]:
        if path == "/mcp" or is_open(path):
            continue
        answer = await yard.ask(method, path, headers=head)
        assert answer.status == 403, (method, path)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
async def test_the_door_of_a_profile_has_the_same_gate(yard: Doors, method: str) -> None:
    await put_profile(yard, "mine")
    for path in ("/mcp/p/mine", "/mcp/p/nothing"):
        assert (await yard.ask(method, path, leave_out=("Authorization",))).status == 401
        assert (await yard.ask(method, path, headers={"Host": "evil.example"})).status == 421
        assert (await yard.ask(method, path, headers={"Origin": "null"})).status == 403


async def test_an_agent_with_named_servers_sees_these_alone(yard: Doors) -> None:
    token = await make_token(yard, "agent", servers=["two"])
    agent = Agent(yard, token=token)
    assert set(await agent.tools()) == {"two__echo", "two__tool_0", "two__tool_1"}
    assert {tool["server"] for tool in await agent.found()} == {"two"}
    assert "unknown tool" in (await agent.call("one__echo", text="x"))["error"]["message"]
    assert (await agent.stable("one", "echo", text="x"))["isError"]
    assert [s["alias"] for s in (await agent.status())["servers"]] == ["two"]
    read = await agent.ask("resources/read", {"uri": "note://one/readme"})
    assert "error" in read
    said = await agent.call("toolyard_activate", server="one")
    assert said["result"]["isError"]


async def test_an_agent_whose_servers_are_gone_sees_nothing(yard: Doors) -> None:
    token = await make_token(yard, "agent", servers=["elsewhere"])
    assert await Agent(yard, token=token).tools() == []


async def test_an_agent_of_a_profile_sees_that_profile_alone(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["two/echo"])
    await put_profile(yard, "wide")
    token = await make_token(yard, "agent", profile="mine")
    for path in ("/mcp", "/mcp/p/mine"):
        assert await Agent(yard, path, token).tools() == ["two__echo"]
    assert (await Agent(yard, "/mcp/p/wide", token).post(call("tools/list"))).status == 403
    assert (await send(yard, "DELETE", "/api/v1/profiles/mine")).status == 200
    assert (await Agent(yard, "/mcp", token).post(call("initialize"))).status == 404


async def test_servers_and_profile_both_limit(yard: Doors) -> None:
    await put_profile(yard, "echoes", allow=["*/echo"])
    token = await make_token(yard, "agent", servers=["one"])
    assert await Agent(yard, "/mcp/p/echoes", token).tools() == ["one__echo"]


async def test_a_token_for_a_profile_that_is_not_there_is_not_made(yard: Doors) -> None:
    answer = await send(yard, "POST", "/api/v1/tokens", {"name": "a", "profile": "nothing"})
    assert answer.status == 404


async def test_a_session_belongs_to_the_token_that_opened_it(yard: Doors) -> None:
    mine, theirs = await make_token(yard, "mine"), await make_token(yard, "theirs")
    session = await Agent(yard, token=mine).initialize()
    assert (await Agent(yard, token=mine).post(call("ping"), session)).status == 200
    for other in (theirs, TOKEN):
        agent = Agent(yard, token=other)
        assert (await agent.post(call("ping"), session)).status == 404
        gone = await yard.ask("DELETE", "/mcp", headers={**agent.head, **session})
        assert gone.status == 404
        listen = {**agent.head, **session, "Accept": "text/event-stream"}
        assert (await yard.ask("GET", "/mcp", headers=listen)).status == 404
    assert (await Agent(yard, token=mine).post(call("ping"), session)).status == 200


async def test_no_token_ends_the_sessions_of_another(home: Path) -> None:
    async with open_yard(home, session_limit=20) as yard:
        owner, other = Agent(yard), Agent(yard, token=await make_token(yard, "other"))
        greedy = Agent(yard, token=await make_token(yard, "greedy", servers=["one"]))
        kept = [(owner, await owner.initialize()), (other, await other.initialize())]
        opened = [await greedy.initialize() for _ in range(25)]
        for agent, session in kept:
            assert (await agent.post(call("ping"), session)).status == 200
        said = [(await greedy.post(call("ping"), session)).status for session in opened]
        assert said == [404] * 20 + [200] * 5


async def test_agents_leave_room_for_the_hubs_own_token(home: Path) -> None:
    async with open_yard(home, session_limit=20) as yard:
        agents = [Agent(yard, token=await make_token(yard, f"a{n}")) for n in range(5)]
        for agent in agents[:-1]:
            for _ in range(5):
                await agent.post(call("initialize", LEGACY))
        refused = await agents[-1].post(call("initialize", LEGACY))
        assert refused.status == 503 and "sessions" in refused.json()["error"]["message"]
        assert await Agent(yard).initialize()


@pytest.mark.parametrize("limit", [{"servers": ["one"]}, {"profile": "mine"}])
async def test_an_agent_that_sees_a_part_lets_no_server_rest(yard: Doors, limit: Json) -> None:
    await put_profile(yard, "mine", allow=["one/*"])
    agent = Agent(yard, token=await make_token(yard, "agent", **limit))
    await agent.stable("one", "echo", text="x")
    said = await agent.call("toolyard_deactivate", server="one")
    assert said["result"]["isError"] and "others use" in said["result"]["content"][0]["text"]
    assert (await yard.server("one"))["status"] == "ready"
    assert not (await Agent(yard).call("toolyard_deactivate", server="one"))["result"]["isError"]


async def test_calls_are_recorded_with_the_token_they_came_with(yard: Doors) -> None:
    alice = Agent(yard, token=await make_token(yard, "alice", servers=["two"]))
    asked = {"name": "two__echo", "arguments": {"text": "hi"}}
    bob = {**LEGACY, "clientInfo": {"name": "i-am-bob"}}
    opened = await alice.post(call("initialize", bob))
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    assert (await alice.post(call("tools/call", asked), session)).status == 200
    await alice.call("two__echo", text="hi")
    await Agent(yard).call("two__echo", text="hi")

    calls = (await yard.get("/api/v1/history"))["calls"]
    said = [(each["agent"], each["caller"]) for each in calls]
    assert said == [("raw", "control"), ("raw", "alice"), ("i-am-bob", "alice")]
    found = (await yard.get("/api/v1/history?caller=alice&agent=i-am-bob"))["calls"]
    assert [each["id"] for each in found] == [calls[2]["id"]]
    (whole, _) = (await yard.get("/api/v1/history/stats?caller=alice"))["stats"]
    assert whole["calls"] == 2


async def test_a_revoked_token_ends_what_was_opened_with_it(yard: Doors) -> None:
    token = await make_token(yard, "agent")
    agent = Agent(yard, token=token)
    session = await agent.initialize()
    async with yard.connected() as raw:
        head = {**agent.head, **session, "Accept": "text/event-stream"}
        await raw.send(yard.request("GET", "/mcp", headers=head))
        assert (await raw.head())[0] == 200
        assert (await send(yard, "DELETE", "/api/v1/tokens/agent")).status == 200
        async with asyncio.timeout(PATIENCE):
            async for _ in raw.chunks():  # news of lists may have come before the end
                pass
    assert (await agent.post(call("ping"), session)).status == 401
    assert (await send(yard, "DELETE", "/api/v1/tokens/agent")).status == 404


HINTS: dict[str, Json] = {
    "look": {"annotations": {"readOnlyHint": True}},
    "put": {"annotations": {"destructiveHint": False}},
    "wipe": {},
    "odd": {"annotations": {"readOnlyHint": "yes"}},
}


def hinted_server(home: Path) -> Json:
    """A server whose tools say how much harm they can do."""
    tools = [{"name": name, "inputSchema": {"type": "object"}, **h} for name, h in HINTS.items()]
    script = {
        "capabilities": {"tools": {}},
        "replies": {"tools/list": json.dumps({"tools": tools})},
    }
    path = home / "hinted.json"
    path.write_text(json.dumps(script))
    return {"command": sys.executable, "args": [scripted.__file__, str(path)]}


@pytest.mark.parametrize(
    ("tier", "tools"),
    [("read", ["look"]), ("write", ["look", "put"]), ("destroy", ["look", "put", "wipe", "odd"])],
)
async def test_a_tier_shows_the_tools_that_say_they_do_no_more(
    home: Path, tier: str, tools: list[str]
) -> None:
    async with open_doors(home, {"h": hinted_server(home)}) as doors:
        await doors.settled()
        agent = Agent(doors, token=await make_token(doors, "agent", tier=tier))
        assert {name.removeprefix("h__") for name in await agent.tools()} == {*tools}
        hidden = {"look", "put", "wipe", "odd"} - {*tools}
        for name in hidden:
            assert "unknown tool" in (await agent.call(f"h__{name}"))["error"]["message"]
            assert (await agent.stable("h", name))["isError"]
        assert {row["tool"] for row in await agent.found()} == {*tools}


async def last_use(doors: Doors) -> str:
    """The earliest last use of a token, once all of them were used."""

    async def used_at() -> str:
        rows = (await send(doors, "GET", "/api/v1/tokens")).json()["tokens"]
        return min(str(row["used_at"]) for row in rows)

    shown: str = await doors.until(used_at)
    return shown


async def test_the_last_use_of_a_token_is_shown(yard: Doors) -> None:
    token = await make_token(yard, "agent")
    (row,) = (await send(yard, "GET", "/api/v1/tokens")).json()["tokens"]
    assert row["used_at"] == ""
    await Agent(yard, token=token).tools()
    assert await last_use(yard) >= row["created_at"]


async def test_a_token_that_is_taken_out_of_the_file_ends_what_it_opened(yard: Doors) -> None:
    # Whatever else ends a stream ends the older one first.
    async with listening(yard, "other") as older, listening(yard, "agent") as stream:
        await last_use(yard)  # nobody else writes the file now
        file = yard.home / "state" / "tokens.json"
        kept = json.loads(file.read_text())
        del kept["tokens"]["agent"]
        file.write_text(json.dumps(kept))
        async with asyncio.timeout(PATIENCE):
            async for _ in stream.chunks():
                pass  # it ends
        assert not older.reader.at_eof()


@asynccontextmanager
async def listening(yard: Doors, name: str) -> AsyncIterator[Raw]:
    """A stream that a new token opens."""
    token = await make_token(yard, name)
    session = await Agent(yard, token=token).initialize()
    head = {"Authorization": f"Bearer {token}", **session, "Accept": "text/event-stream"}
    async with yard.connected() as stream:
        await stream.send(yard.request("GET", "/mcp", headers=head))
        assert (await stream.head())[0] == 200
        yield stream


async def test_a_token_is_shown_once_and_kept_as_a_hash(yard: Doors) -> None:
    token = await make_token(yard, "agent", servers=["two"])
    listed = await send(yard, "GET", "/api/v1/tokens")
    (row,) = listed.json()["tokens"]
    assert (row["name"], row["servers"]) == ("agent", ["two"])
    kept = (yard.home / "state" / "tokens.json").read_text()
    assert token not in kept and token.encode() not in listed.body
    assert (yard.home / "state" / "tokens.json").stat().st_mode & 0o777 == 0o600


async def test_a_name_is_given_once(yard: Doors) -> None:
    await make_token(yard, "agent")
    answer = await send(yard, "POST", "/api/v1/tokens", {"name": "agent"})
    assert answer.status == 409


@pytest.mark.parametrize("name", ["control", "page"])
async def test_no_token_is_called_like_the_hub_itself(yard: Doors, name: str) -> None:
    assert (await send(yard, "POST", "/api/v1/tokens", {"name": name})).status == 422
    token = await make_token(yard, "agent")
    file = yard.home / "state" / "tokens.json"
    file.write_text(file.read_text().replace('"agent": {', f'"{name}": {{'))
    assert (await Agent(yard, token=token).post(call("ping"))).status == 401


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tokens": {"a": {}}}', '{"tokens": 1}'])
async def test_a_damaged_file_lets_nobody_in(yard: Doors, text: str) -> None:
    token = await make_token(yard, "agent")
    (yard.home / "state" / "tokens.json").write_text(text)
    assert (await Agent(yard, token=token).post(call("ping"))).status == 401
    assert await Agent(yard).initialize()


@pytest.mark.parametrize("text", ["", "[]", '{"version": 999, "tokens": {}}'])
async def test_a_file_that_cannot_be_read_is_a_problem_until_it_can(yard: Doors, text: str) -> None:
    token = await make_token(yard, "agent")
    file = yard.home / "state" / "tokens.json"
    before = file.read_text()
    file.write_text(text)

    async def complaint() -> str:
        told = [each for each in await yard.problems() if each["code"] == "tokens-file"]
        return f"{told[0]['text']} {told[0]['hint']}" if told else ""

    assert str(file) in await yard.until(complaint)
    # What a newer version wrote must not be replaced by what we made of it.
    assert (await send(yard, "POST", "/api/v1/tokens", {"name": "other"})).status == 500
    assert file.read_text() == text
    file.write_text(before)

    async def is_well() -> bool:
        return not await complaint()

    assert await yard.until(is_well)
    assert await Agent(yard, token=token).initialize()


async def test_tokens_survive_a_restart(home: Path) -> None:
    async with open_yard(home) as doors:
        token = await make_token(doors, "agent", servers=["two"])
    async with open_yard(home) as doors:
        assert {t.split("__")[0] for t in await Agent(doors, token=token).tools()} == {"two"}


async def test_what_is_kept_of_a_token_opens_nothing(yard: Doors) -> None:
    await make_token(yard, "agent")
    kept = json.loads((yard.home / "state" / "tokens.json").read_text())
    digest = kept["tokens"]["agent"]["sha256"]
    assert (await Agent(yard, token=digest).post(call("ping"))).status == 401
