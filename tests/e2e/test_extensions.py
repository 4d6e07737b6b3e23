"""Methods that the hub does not know reach the one server they can be meant for."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import KINDS
from tests.e2e.hub import RunningHub, new_home, running_hub, scripted, toolyard
from tests.e2e.talk import MODERN, Json, talking
from tests.e2e.test_features import undressed

UI = "io.modelcontextprotocol/ui"
SKILLS = "io.modelcontextprotocol/skills"
LOGIN = "io.modelcontextprotocol/oauth-client-credentials"
SHARED = "com.example/shared"


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub before a legacy and a modern server with extensions of their own, and of both."""
    legacy: Json = {"extensions": {"com.example/echo": {"a": 1}, SHARED: {}, UI: {}, LOGIN: {}}}
    legacy |= {"experimental": {"own": {"b": 2}, "broken": True}, "tools": {}}
    modern: Json = {"extensions": {SKILLS: {}, SHARED: {}, UI: {}, "broken": 1}, "tools": {}}
    discovery = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": modern}
    echoes = {"com.example/echo": '{"said":"old"}', "own/pong": '{"said":"old"}'}
    replies = {
        "server/discover": json.dumps(discovery),
        "skills/list": '{"resultType":"complete","said":"new"}',
        "own/pong": '{"resultType":"complete","said":"new"}',
    }
    with new_home() as home:
        tools = {"tools/list": '{"tools":[]}'}
        servers = {
            "old": scripted(home, "old", {**echoes, **tools}, **legacy),
            "new": scripted(home, "new", {**replies, **tools}),
        }
        with running_hub(servers, home=home) as running:
            yield running


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_a_method_goes_to_the_server_whose_extension_it_is_of(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    async with talking(hub, *kind) as client:
        assert undressed(await client.result("com.example/echo", {"x": 1})) == {"said": "old"}
        assert undressed(await client.result("skills/list")) == {"said": "new"}
        for method in ("shared/list", "ui/open", "oauth-client-credentials/x", "own/pong"):
            assert (await client.fault(method))["code"] == -32601


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_with_one_server_every_unknown_method_is_its_own(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    for server in ("old", "new"):
        async with talking(hub, *kind, server=server) as client:
            assert undressed(await client.result("own/pong", {}))["said"] == server


@pytest.mark.parametrize("door", ["line", "http"])
async def test_methods_of_the_protocol_itself_are_never_passed_on(
    hub: RunningHub, door: str
) -> None:
    async with talking(hub, "modern", door, server="old") as client:
        for method in ("ping", "tasks/list", "resources/subscribe", "roots/list"):
            assert (await client.fault(method))["code"] == -32601
        for method in ('a"b', "a b", "a" * 200):
            assert (await client.fault(method))["code"] == -32601


async def declared(hub: RunningHub, era: str, **wish: Any) -> Json:
    """The capabilities that a client is told of."""
    async with talking(hub, era, **wish) as client:
        method = "server/discover" if era == "modern" else "initialize"
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client.info}
        said: Json = (await client.result(method, {} if era == "modern" else asked))["capabilities"]
        return said


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_is_not_passed_on_is_not_declared(hub: RunningHub, era: str) -> None:
    can = await declared(hub, era)
    assert can["extensions"] == {"com.example/echo": {"a": 1}, UI: {}, SKILLS: {}}
    assert can["experimental"] == {"own": {"b": 2}}
    alone = await declared(hub, era, server="new")
    assert alone["extensions"] == {SKILLS: {}, SHARED: {}, UI: {}}
    assert "experimental" not in alone


async def test_a_profile_lets_nothing_through_that_it_does_not_know(hub: RunningHub) -> None:
    command = toolyard("profile", "set", "few", "--allow", "new/*")
    await asyncio.to_thread(subprocess.run, command, env=hub.env, check=True, capture_output=True)
    async with talking(hub, "modern", "http", profile="few") as client:
        assert (await client.fault("skills/list"))["code"] == -32601
        found = await client.result("server/discover")
        assert found["capabilities"]["extensions"] == {UI: {}}
