"""Profiles: what is hidden is neither listed nor callable, through any door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import Agent, open_yard, put_profile, send
from tests.doors.doors import Doors, Raw, call

pytestmark = pytest.mark.slow

ALL = {
    *("one__env", "one__echo", "one__tool_0", "one__tool_1", "one__tool_2"),
    *("two__echo", "two__tool_0", "two__tool_1"),
}


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


async def is_refused(agent: Agent, tool: str, **arguments: Any) -> bool:
    """Whether a direct call is answered as one of a tool that does not exist."""
    said = await agent.call(tool, **arguments)
    return "error" in said and f"unknown tool {tool!r}" in said["error"]["message"]


async def heard(raw: Raw, seconds: float = 0.6) -> list[str]:
    """What a listening client is told within a moment longer than changes are held together."""
    told: list[str] = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                told.append((await raw.event())["method"])
    except TimeoutError:
        return told


async def test_without_a_profile_everything_is_there(yard: Doors) -> None:
    assert set(await Agent(yard).tools()) == ALL


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ({"allow": ["two"]}, {"two__echo", "two__tool_0", "two__tool_1"}),
        ({"allow": ["two@configured"]}, {"two__echo", "two__tool_0", "two__tool_1"}),
        ({"allow": ["t*"]}, {"two__echo", "two__tool_0", "two__tool_1"}),
        ({"allow": ["*/echo"]}, {"one__echo", "two__echo"}),
        ({"allow": ["one__env", "two/tool_?"]}, {"one__env", "two__tool_0", "two__tool_1"}),
        ({"hide": ["one"]}, {"two__echo", "two__tool_0", "two__tool_1"}),
        ({"hide": ["*__tool_*"]}, {"one__env", "one__echo", "two__echo"}),
        ({"allow": ["one"], "hide": ["one/tool_*"]}, {"one__env", "one__echo"}),
        ({"hide": ["one/*", "!one/echo", "two"]}, {"one__echo"}),
        ({"hide": ["*", "!two"]}, {"two__echo", "two__tool_0", "two__tool_1"}),
        ({"allow": ["nobody"]}, set()),
    ],
)
async def test_a_profile_selects_by_name_and_pattern(
    yard: Doors, said: dict[str, Any], seen: set[str]
) -> None:
    await put_profile(yard, "mine", **said)
    agent = Agent(yard, "/mcp/p/mine")
    assert set(await agent.tools()) == seen
    assert {tool["name"] for tool in await agent.found()} == seen
    assert set(await Agent(yard).tools()) == ALL


async def test_a_hidden_tool_cannot_be_called_in_any_way(yard: Doors) -> None:
    await put_profile(yard, "mine", hide=["one/echo", "two"])
    agent = Agent(yard, "/mcp/p/mine")
    assert await is_refused(agent, "one__echo", text="hi")
    assert await is_refused(agent, "two__echo", text="hi")
    for server, tool in (("one", "echo"), ("one", "one__echo"), ("two", "echo")):
        result = await agent.stable(server, tool, text="hi")
        assert result["isError"], (server, tool)
    assert await agent.found("echo") == []
    found = await agent.ask(
        "tools/call", {"name": "toolyard_tools", "arguments": {"server": "two"}}
    )
    assert found["result"]["isError"]
    listed = json.loads(
        (await agent.ask("resources/read", {"uri": "toolyard://tools"}))["result"]["contents"][0][
            "text"
        ]
    )
    assert {tool["tool"] for tool in listed["tools"]} == {"env", "tool_0", "tool_1", "tool_2"}
    assert not (await agent.stable("one", "tool_0", text="hi")).get("isError")


async def test_resources_and_prompts_are_selected_too(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["one/echo", "one/note://one/readme"])
    agent = Agent(yard, "/mcp/p/mine")
    listed = (await agent.ask("resources/list"))["result"]["resources"]
    assert [r["uri"] for r in listed if not r["uri"].startswith("toolyard:")] == [
        "note://one/readme"
    ]
    assert "result" in await agent.ask("resources/read", {"uri": "note://one/readme"})
    hidden = await agent.ask("resources/read", {"uri": "note://one/counter"})
    assert "unknown resource" in hidden["error"]["message"]
    prompts = (await agent.ask("prompts/list"))["result"]["prompts"]
    assert all(prompt["name"].startswith("toolyard-") for prompt in prompts)


async def test_the_status_shows_what_the_profile_does(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["one/echo"])
    status = await Agent(yard, "/mcp/p/mine").status()
    assert [(s["alias"], s["tools"]) for s in status["servers"]] == [("one", 1)]
    assert len((await Agent(yard).status())["servers"]) == 2


async def test_a_tool_can_be_renamed_described_and_pinned(yard: Doors) -> None:
    await put_profile(
        yard,
        "mine",
        allow=["one"],
        rename={"one/echo": "say"},
        describe={"one/echo": "Says it again."},
        pin=["one/echo"],
        settings={"expose": "search"},
    )
    agent = Agent(yard, "/mcp/p/mine")
    (listed,) = [
        t for t in (await agent.ask("tools/list"))["result"]["tools"] if t["name"] == "say"
    ]
    assert listed["description"] == "Says it again."
    assert await agent.tools() == ["say"]
    assert (await agent.call("say", text="hi"))["result"]["content"][0]["text"] == "hi"
    assert await is_refused(agent, "one__echo", text="hi")
    (found,) = await agent.found("says again")
    assert (found["name"], found["tool"]) == ("say", "echo")
    assert not (await agent.stable("one", "echo", text="hi")).get("isError")


async def test_a_given_name_beats_the_one_another_tool_would_have(yard: Doors) -> None:
    await put_profile(yard, "mine", rename={"two/echo": "one__env"})
    agent = Agent(yard, "/mcp/p/mine")
    said = await agent.call("one__env", text="mine")
    assert said["result"]["content"][0]["text"] == "mine"
    assert len(set(await agent.tools())) == len(ALL)


async def test_a_profile_has_a_separator_of_its_own(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["two.echo"], settings={"separator": "."})
    agent = Agent(yard, "/mcp/p/mine")
    assert await agent.tools() == ["two.echo"]
    assert (await agent.call("two.echo", text="x"))["result"]["content"][0]["text"] == "x"


@pytest.mark.parametrize("name", ["nothing", "", "..", "mine/", "MINE", "mine%00", "p/mine"])
async def test_an_unknown_profile_shows_nothing_at_all(yard: Doors, name: str) -> None:
    await put_profile(yard, "mine")
    agent = Agent(yard, f"/mcp/p/{name}")
    answer = await agent.post(call("initialize", {}))
    assert answer.status == 404
    said = answer.json()["error"]["message"]
    assert "unknown profile" in said or "nothing at this path" in said


async def test_a_profile_that_is_deleted_ends_for_those_who_use_it(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["two"])
    agent = Agent(yard, "/mcp/p/mine")
    session = await agent.initialize()
    assert (await send(yard, "DELETE", "/api/v1/profiles/mine")).status == 200
    assert (await agent.post(call("tools/list"), session)).status == 404


async def test_a_session_of_one_profile_is_none_of_another(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["two"])
    session = await Agent(yard, "/mcp/p/mine").initialize()
    assert (await Agent(yard, "/mcp/p/mine").post(call("tools/list"), session)).status == 200
    assert (await Agent(yard).post(call("tools/list"), session)).status == 404


async def test_a_changed_file_reaches_connected_clients_as_one_change(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["two"])
    agent = Agent(yard, "/mcp/p/mine")
    session = await agent.initialize()
    other = await Agent(yard).initialize()
    async with yard.connected() as mine, yard.connected() as theirs:
        for raw, path, head in ((mine, agent.path, session), (theirs, "/mcp", other)):
            head = {**head, "Accept": "text/event-stream"}
            await raw.send(yard.request("GET", path, headers=head))
            assert (await raw.head())[0] == 200
        await heard(theirs)  # of servers that were just starting
        file = yard.home / "profiles" / "mine.json"
        file.write_text('{"allow": ["one/env", "one/echo"] /* by hand */}')
        assert (await mine.event())["method"] == "notifications/tools/list_changed"
        assert set(await agent.tools()) == {"one__env", "one__echo"}
        assert await heard(mine) == []
        assert await heard(theirs) == []


async def test_a_file_that_breaks_leaves_the_profile_as_it_was(yard: Doors) -> None:
    await put_profile(yard, "mine", hide=["one"])
    agent = Agent(yard, "/mcp/p/mine")
    before = await agent.tools()
    (yard.home / "profiles" / "mine.json").write_text('{"hidden": ["one"]}')

    async def is_told() -> bool:
        return any(p["code"] == "profile-file" for p in await yard.problems())

    await yard.until(is_told)
    assert await agent.tools() == before


@pytest.mark.parametrize(
    "said",
    [
        {"hidden": ["one"]},
        {"allow": "one"},
        {"allow": [""]},
        {"rename": {"one/echo": "bad name"}},
        {"rename": {"one/echo": "toolyard_destroy"}},
        {"rename": {"one/echo": "x", "two/echo": "x"}},
        {"environment": {"1X": "y"}},
        {"settings": {"separator": "-"}},
    ],
)
async def test_a_profile_that_cannot_be_used_is_refused(yard: Doors, said: Any) -> None:
    answer = await send(yard, "PUT", "/api/v1/profiles/mine", said)
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await send(yard, "GET", "/api/v1/profiles/mine")).status == 404


@pytest.mark.parametrize("name", ["..", "a%2Fb", "-x", ".x", "x" * 65])
async def test_a_name_that_is_a_path_is_no_name_for_a_profile(yard: Doors, name: str) -> None:
    answer = await send(yard, "PUT", f"/api/v1/profiles/{name}", {})
    assert answer.status in (404, 422)
    assert not (yard.home / "profiles").exists()


async def test_a_profile_is_given_back_as_it_was_written(yard: Doors) -> None:
    said = {
        "title": "For reviews",
        "allow": ["one"],
        "rename": {"one/echo": "say"},
        "environment": {"LEVEL": "1"},
        "settings": {"expose": "all"},
    }
    await put_profile(yard, "review", **said)
    row = (await send(yard, "GET", "/api/v1/profiles/review")).json()
    assert said.items() <= row.items()
    assert row["path"] == "/mcp/p/review"
    assert (yard.home / "profiles" / "review.json").stat().st_mode & 0o777 == 0o600


async def test_what_a_profile_would_offer_is_told_before_it_is_written(yard: Doors) -> None:
    said = {"allow": ["two"], "hide": ["two/tool_*"], "rename": {"two/echo": "say"}}
    path = "/api/v1/profiles/draft/preview"
    found = (await send(yard, "POST", path, said)).json()
    assert found["tools"] == [{"name": "say", "server": "two", "tool": "echo"}]
    whole = (await send(yard, "POST", path, {})).json()
    assert {each["name"] for each in whole["tools"]} == ALL
    assert whole["listed"] > found["listed"] and whole["schema_tokens"] > found["schema_tokens"]
    searched = (await send(yard, "POST", path, {"settings": {"expose": "search"}})).json()
    assert len(searched["tools"]) == len(ALL) and searched["listed"] < whole["listed"]
    assert (await send(yard, "GET", "/api/v1/profiles/draft")).status == 404
