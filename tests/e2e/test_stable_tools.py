"""The stable entry point: what the hub itself always offers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Connect
from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub
from tests.e2e.talk import Json, Talk, talking, text_of

OWN = [
    "toolyard_status",
    "toolyard_tools",
    "toolyard_read",
    "toolyard_write",
    "toolyard_destroy",
    "toolyard_refresh",
]


async def call(client: Talk, server: str, tool: str, arguments: Json | None = None) -> Json:
    """Call a tool through the stable entry point."""
    named: Json = {"server": server, "tool": tool}
    if arguments is not None:
        named["arguments"] = arguments
    return await client.call("toolyard_destroy", named)


def theirs(tools: list[Json]) -> list[str]:
    """The names of the tools that are not the hub's own."""
    return [tool["name"] for tool in tools if not tool["name"].startswith("toolyard_")]


# What is always there.


async def test_the_hubs_own_tools_come_first_in_every_list(connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.result("tools/list"))["tools"]
        assert [tool["name"] for tool in tools[:6]] == OWN
        assert all(tool["inputSchema"]["type"] == "object" for tool in tools[:6])


async def test_the_instructions_tell_a_model_how_to_go_on(yard: RunningHub) -> None:
    async with talking(yard, "modern") as client:
        said = (await client.result("server/discover"))["instructions"]
        assert all(name in said for name in OWN)
    async with talking(yard) as client:
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client.info}
        greeting = await client.result("initialize", asked)
        assert greeting["instructions"] == said
        assert greeting["protocolVersion"] == "2025-06-18"


async def test_the_status_names_every_server(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call("toolyard_status")
        servers = {each["alias"]: each for each in result["structuredContent"]["servers"]}
        assert {"old", "new", "oldweb", "newweb", "oldsse", "clock"} == servers.keys()
        assert {each["status"] for each in servers.values()} == {"ready"}
        assert (servers["old"]["era"], servers["new"]["era"]) == ("legacy", "modern")
        assert "✓ old (stdio)" in text_of(result)


async def test_the_same_is_there_to_read(connect: Connect) -> None:
    async with connect() as client:
        listed = [item["uri"] for item in (await client.result("resources/list"))["resources"]]
        assert listed[:2] == ["toolyard://status", "toolyard://tools"]
        (status,) = (await client.result("resources/read", {"uri": listed[0]}))["contents"]
        assert len(json.loads(status["text"])["servers"]) == 6
        (tools,) = (await client.result("resources/read", {"uri": listed[1]}))["contents"]
        assert "old__echo" in [tool["name"] for tool in json.loads(tools["text"])["tools"]]


@pytest.mark.parametrize("prompt", ["toolyard-setup", "toolyard-doctor"])
async def test_prompts_help_to_set_up_and_to_mend(connect: Connect, prompt: str) -> None:
    async with connect() as client:
        listed = (await client.result("prompts/list"))["prompts"]
        assert prompt in [item["name"] for item in listed]
        (message,) = (await client.result("prompts/get", {"name": prompt}))["messages"]
        assert "oldsse" in message["content"]["text"]


# Finding tools.


async def test_tools_are_found_by_words_with_their_schemas(connect: Connect) -> None:
    async with connect() as client:
        asked = {"query": "environment variable", "limit": 3}
        found = (await client.call("toolyard_tools", asked))["structuredContent"]
        assert len(found["tools"]) == 3
        assert {tool["tool"] for tool in found["tools"]} == {"env"}
        assert found["tools"][0]["inputSchema"] == {"type": "object"}


async def test_tools_are_listed_by_server(connect: Connect) -> None:
    async with connect() as client:
        found = (await client.call("toolyard_tools", {"server": "clock"}))["structuredContent"]
        (tool,) = found["tools"]
        assert (tool["name"], tool["server"], tool["tool"]) == ("clock__show", "clock", "show")
        assert tool["_meta"]["ui"]["resourceUri"] == "ui://clock/face"


async def test_an_unknown_server_is_answered_with_those_there_are(connect: Connect) -> None:
    async with connect() as client:
        for tool, arguments in (
            ("toolyard_tools", {"server": "clok"}),
            ("toolyard_destroy", {"server": "clok", "tool": "show"}),
        ):
            result = await client.call(tool, arguments)
            assert result["isError"]
            assert text_of(result).startswith("unknown server 'clok'; there are: clock, ")


# Calling.


async def test_a_call_by_server_and_tool_gives_the_same_answer(
    connect: Connect, server: str
) -> None:
    async with connect() as client:
        named: Json = {"server": server, "tool": "rich", "arguments": {}}
        through = await client.call("toolyard_read", named)
        assert through == await client.call(f"{server}__rich")
        assert through == await client.call("toolyard_read", {**named, "arguments": None})


async def test_questions_and_progress_pass_the_stable_entry_too(
    connect: Connect, server: str
) -> None:
    async with connect() as client:
        assert json.loads(text_of(await call(client, server, "ask")))["action"] == "accept"
        named = {"server": server, "tool": "progress", "arguments": {"n": 2}}
        await client.call("toolyard_destroy", named, meta={"progressToken": "mine"})
        notes = await client.wait_heard("notifications/progress", 2)
        assert {note["progressToken"] for note in notes} == {"mine"}


async def test_an_unknown_tool_is_answered_with_the_closest_names(connect: Connect) -> None:
    async with connect() as client:
        result = await call(client, "old", "ecoh")
        assert result["isError"]
        assert text_of(result).startswith("unknown tool of 'old' 'ecoh'; there are: echo, ")


async def test_a_call_that_names_nothing_is_told_what_it_lacks(connect: Connect) -> None:
    async with connect() as client:
        for wrong in ({}, {"server": "old"}, {"server": 1, "tool": "echo"}):
            result = await client.call("toolyard_destroy", wrong)
            assert result["isError"]
            assert "needs a server and a tool" in text_of(result)


# A yard that shows its tools on request only, with servers not started before they are needed.


@pytest.fixture(scope="module")
def quiet() -> Iterator[RunningHub]:
    """A hub that lists only its own tools and one that is pinned."""
    with new_home() as home:
        servers = {
            "far": stdio_stub("far", home, "--tools", "3", "--delay-init", "400"),
            "lost": {"command": "no-such-command-anywhere"},
            "unset": {"command": "echo", "args": ["${NEVER_SET_ANYWHERE}"]},
        }
        flags = ("--expose", "search", "--pin", "far__tool_1")
        with running_hub(servers, *flags, home=home, settle=False) as hub:
            yield hub


async def test_a_server_is_waited_for_when_somebody_calls_it(quiet: RunningHub) -> None:
    async with talking(quiet, "modern", "http") as client:
        result = await call(client, "far", "tool_0", {"text": "there?"})
        assert text_of(result) == "there?"


async def test_only_pinned_tools_are_listed_beside_the_hubs_own(quiet: RunningHub) -> None:
    quiet.wait_settled()
    async with talking(quiet) as client:
        tools = (await client.result("tools/list"))["tools"]
        assert theirs(tools) == ["far__tool_1"]


async def test_what_is_not_listed_is_found_and_called_all_the_same(quiet: RunningHub) -> None:
    quiet.wait_settled()
    async with talking(quiet) as client:
        found = (await client.call("toolyard_tools", {"query": "tool_2"}))["structuredContent"]
        assert found["tools"][0]["name"] == "far__tool_2"
        assert text_of(await client.call("far__tool_2", {"text": "hi"})) == "hi"


async def test_arguments_that_do_not_fit_are_named_before_the_server_sees_them(
    quiet: RunningHub,
) -> None:
    quiet.wait_settled()
    async with talking(quiet) as client:
        result = await call(client, "far", "tool_0", {"count": 0})
        assert result["isError"]
        said = text_of(result)
        assert said.startswith("the arguments do not fit far's tool_0: ")
        assert '"text" is a required property' in said
        assert "count: 0 is less than the minimum of 1" in said


@pytest.mark.parametrize(
    ("server", "why"), [("lost", "no-such-command-anywhere"), ("unset", "NEVER_SET_ANYWHERE")]
)
async def test_a_server_that_cannot_start_says_why(
    quiet: RunningHub, server: str, why: str
) -> None:
    quiet.wait_settled()
    async with talking(quiet) as client:
        result = await call(client, server, "anything")
        assert result["isError"]
        assert why in text_of(result)


async def test_a_refresh_asks_servers_again(yard: RunningHub) -> None:
    async with talking(yard) as client:
        result = await client.call("toolyard_refresh")
        assert "clock" in text_of(result) and not result["isError"]


async def test_the_bundled_example_is_there_until_the_first_server_is() -> None:
    with running_hub({}) as hub:
        (example,) = hub.status()["servers"]
        async with talking(hub, "modern") as client:
            tools = (await client.result("tools/list"))["tools"]
            prefix = f"{example['alias']}__"
            assert theirs(tools) and all(name.startswith(prefix) for name in theirs(tools))
