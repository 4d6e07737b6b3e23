"""What servers say of themselves reaches their clients, and what the hub says is true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import KINDS
from tests.e2e.hub import RunningHub, new_home, running_hub, scripted
from tests.e2e.talk import MODERN, Json, Talk, talking

SHORT = "  Begin with look.\n"
LONG = "Long words. " * 1000
PLACE = "initialize"


def says(text: str) -> str:
    """The greeting of a legacy server with instructions."""
    info = {"name": "x", "version": "1"}
    greeting = {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": {"tools": {}}}
    return json.dumps({**greeting, "instructions": text})


def discovered(text: str) -> str:
    """What a modern server with instructions says of itself."""
    said = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}}}
    return json.dumps({**said, "instructions": text})


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub before servers that say little, much and nothing, and one of the modern era."""
    with new_home() as home:
        tools = {"tools/list": '{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}'}
        servers = {
            "little": scripted(home, "little", {"initialize": says(SHORT), **tools}),
            "much": scripted(home, "much", {"initialize": says(LONG), **tools}),
            "more": scripted(home, "more", {"server/discover": discovered(LONG), **tools}),
            "nothing": scripted(home, "nothing", tools, tools={}),
        }
        with running_hub(servers, home=home) as running:
            yield running


async def told(client: Talk) -> Any:
    """The instructions a client gets."""
    if client.is_modern:
        return (await client.result("server/discover")).get("instructions")
    asked: Json = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client.info}
    return (await client.result("initialize", asked)).get("instructions")


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_what_servers_say_is_told_under_their_names(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    async with talking(hub, *kind) as client:
        said = await told(client)
    assert said.startswith("This is Toolyard")
    assert "The server little (its tools are little__*) says:\nBegin with look.\n" in said
    assert len(said) <= 8192
    # Both have the same room, and it is used.
    parts = [said.partition(f"The server {name} ")[2].partition("\n\n")[0] for name in LONGEST]
    assert all(f"of {len(LONG.strip())} characters]" in part for part in parts)
    lengths = [len(part) for part in parts]
    assert max(lengths) - min(lengths) < 10 and sum(lengths) > 6500
    assert "nothing" not in said


LONGEST = ("much", "more")


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_one_server_alone_is_heard_word_for_word(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    for server, text in (("little", SHORT), ("much", LONG), ("more", LONG), ("nothing", None)):
        async with talking(hub, *kind, server=server) as client:
            assert await told(client) == text


async def test_a_client_that_takes_less_is_told_less(hub: RunningHub) -> None:
    async with talking(hub, "modern", name="claude-code") as client:
        said = await told(client)
    assert 1900 < len(said) <= 2048
    assert "Begin with look." in said
    assert said.count("[cut by toolyard: ") == 2


@pytest.mark.parametrize(
    ("separator", "named"), [("/", "server/tool"), (".", "server.tool"), ("none", "")]
)
async def test_the_hub_speaks_of_names_as_they_are(separator: str, named: str) -> None:
    with new_home() as home:
        tools = {"initialize": says("Hello."), "tools/list": '{"tools":[]}'}
        servers = {"one": scripted(home, "one", tools)}
        with running_hub(servers, "--separator", separator, home=home) as running:
            async with talking(running) as client:
                said = await told(client)
    assert "__" not in said
    assert (f"Tools are named {named}." in said) if named else ("are named" not in said)
    assert said.endswith("says:\nHello.")
