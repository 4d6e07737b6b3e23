"""What a client sends is bounded where it enters, and no error sends it all back."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.doors.doors import Doors, Json, call, mirrored, modern, open_doors
from tests.e2e.hub import stdio_stub
from toolyard.core.names import NAME_CHARS
from toolyard.core.search import QUERY_CHARS
from toolyard.relay.followed import FOLLOWED
from toolyard.relay.view import View
from toolyard.relay.views import VIEWS

pytestmark = pytest.mark.slow

HUGE = "x" * (3 << 20)
SMALL = 8192
"""Bytes of an error, whatever was sent."""


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    servers = {"one": stdio_stub("one", home, "--only", "echo", "--era", "modern")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        yield doors


async def refused(doors: Doors, method: str, params: Json) -> str:
    """What a request of the legacy era is told, which must be short."""
    answer = await doors.post(call(method, params), await doors.initialize())
    assert len(answer.body) < SMALL, answer.body[:SMALL]
    said = answer.json()
    if "error" in said:
        assert said["error"]["code"] in (-32602, -32601, -32002)
        return str(said["error"]["message"])
    assert said["result"]["isError"]
    return str(said["result"]["content"][0]["text"])


def own(name: str, /, **arguments: Any) -> Json:
    return {"name": name, "arguments": arguments}


# Names, queries, addresses.


def ref(kind: str, **named: str) -> Json:
    return {"ref": {"type": f"ref/{kind}", **named}, "argument": {"name": "a", "value": ""}}


async def test_a_name_that_is_too_long_is_refused_with_the_limit(yard: Doors) -> None:
    for method, params in (
        ("tools/call", {"name": HUGE}),
        ("prompts/get", {"name": HUGE}),
        ("completion/complete", ref("prompt", name=HUGE)),
    ):
        assert f"at most {NAME_CHARS} characters" in await refused(yard, method, params)


async def test_an_address_that_is_too_long_is_refused_with_the_limit(yard: Doors) -> None:
    for method, params in (
        ("resources/read", {"uri": "mem://" + HUGE}),
        ("resources/read", {"uri": "toolyard://result/" + HUGE}),
        ("resources/subscribe", {"uri": "mem://" + HUGE}),
        ("completion/complete", ref("resource", uri=HUGE)),
    ):
        assert "at most 4096 characters" in await refused(yard, method, params)


async def test_an_error_quotes_little_of_what_was_sent(yard: Doors) -> None:
    for method, params in (
        ("tools/call", {"name": "y" * NAME_CHARS}),
        ("resources/read", {"uri": "toolyard://" + "y" * 4000}),
        ("logging/setLevel", {"level": HUGE}),
        ("tasks/get", {"taskId": HUGE}),
        (HUGE, {}),
        ("tools/call", own("toolyard_destroy", server=HUGE, tool="echo")),
        ("tools/call", own("toolyard_destroy", server="one", tool=HUGE)),
        ("tools/call", own("toolyard_tools", server=HUGE)),
        ("tools/call", own("toolyard_activate", server=HUGE)),
        ("tools/call", own("toolyard_deactivate", server=HUGE)),
    ):
        said = await refused(yard, method, params)
        assert "x" * 200 not in said and "y" * 200 not in said


async def test_a_query_that_is_too_long_is_refused_with_the_limit(yard: Doors) -> None:
    for tool in ("toolyard_tools", "toolyard_find"):
        said = await refused(yard, "tools/call", own(tool, query="word " * (QUERY_CHARS // 5 + 1)))
        assert f"at most {QUERY_CHARS} characters" in said
        found = await yard.run(tool, query="echo " + "word " * 1000)
        assert "echo" in found["result"]["content"][0]["text"]
    answer = await yard.ask("GET", f"/api/v1/tools?query={'w' * (QUERY_CHARS + 1)}")
    assert answer.status == 422


async def test_a_server_offers_nothing_with_a_name_that_is_too_long(home: Path) -> None:
    uris = ("mem://" + "a" * 2000, "mem://" + "b" * 2100)
    flags = [flag for uri in uris for flag in ("--resource", uri)]
    async with open_doors(home, {"one": stdio_stub("one", home, *flags)}) as doors:
        await doors.settled()
        answer = await doors.post(call("resources/list"), await doors.initialize())
        listed = {item["uri"] for item in answer.json()["result"]["resources"]}
        assert uris[0] in listed and uris[1] not in listed


# What is followed.


def many(count: int, first: int = 0) -> list[str]:
    return [f"note://one/item/{number}" for number in range(first, first + count)]


async def listen(doors: Doors, uris: list[str]) -> Any:
    """The first thing that is said to a request to listen."""
    wanted = {"notifications": {"resourceSubscriptions": uris}}
    message = modern("subscriptions/listen", wanted)
    body = json.dumps(message).encode()
    async with doors.connected() as raw:
        await raw.send(doors.request("POST", "/mcp", body, mirrored(message)))
        status, headers = await raw.head()
        if "content-length" in headers:
            return json.loads(await raw.reader.readexactly(int(headers["content-length"])))
        assert status == 200
        return await raw.event()


async def test_a_client_follows_no_more_resources_than_the_limit(yard: Doors) -> None:
    said = await listen(yard, many(50_000))
    assert said["error"]["code"] == -32602
    assert f"at most {FOLLOWED} resources" in said["error"]["message"]
    heard = await listen(yard, many(FOLLOWED))
    honoured = heard["params"]["notifications"]["resourceSubscriptions"]
    assert honoured == sorted(many(FOLLOWED))


async def test_a_legacy_client_follows_no_more_resources_than_the_limit(yard: Doors) -> None:
    session = await yard.initialize()
    async with yard.connected() as raw:

        async def ask(method: str, uri: str) -> Json:
            body = json.dumps(call(method, {"uri": uri})).encode()
            await raw.send(yard.request("POST", "/mcp", body, session))
            said: Json = (await raw.answer()).json()
            return said

        for uri in many(FOLLOWED):
            assert "result" in await ask("resources/subscribe", uri)
        one_more = many(1, FOLLOWED)[0]
        assert "at most" in (await ask("resources/subscribe", one_more))["error"]["message"]
        assert "result" in await ask("resources/subscribe", many(1)[0])
        assert "result" in await ask("resources/unsubscribe", many(1)[0])
        assert "result" in await ask("resources/subscribe", one_more)


# Paths.


def views() -> int:
    """How many views of the yard are in memory."""
    gc.collect()
    return sum(type(each) is View for each in gc.get_objects())


async def test_a_path_to_nothing_is_404_and_leaves_nothing(yard: Doors) -> None:
    body = json.dumps({"enabled": True, "servers": {"mine": {"server": "one"}}}).encode()
    assert (await yard.ask("POST", "/api/mcp-config?agent=codex", body)).status == 200
    headers = await yard.initialize()
    before = views()
    message = json.dumps(call("initialize", {})).encode()
    for number in range(20):
        for path in (f"/mcp/a/codex/s/no{number}", f"/mcp/a/codex/e/local/s/{number}"):
            assert (await yard.ask("POST", path, message, headers)).status == 404
    assert (await yard.ask("POST", "/mcp/a/codex/s/mine", message)).status == 200
    assert views() <= before + 1


async def test_views_that_nobody_uses_are_bounded_and_go_with_the_picture(home: Path) -> None:
    count = VIEWS + 30
    (home / "profiles").mkdir()
    for number in range(count):
        text = json.dumps({"hide": [f"nothing-{number}"]})
        (home / "profiles" / f"p{number}.json").write_text(text)
    servers = {"one": stdio_stub("one", home, "--only", "echo")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        before = views()
        message = modern("tools/list")
        body = json.dumps(message).encode()
        for number in range(count):
            answer = await doors.ask("POST", f"/mcp/p/p{number}", body, mirrored(message))
            assert answer.status == 200
        assert views() <= before + VIEWS + 1
        assert (await doors.ask("DELETE", "/api/v1/profiles/p0")).status == 200
        assert await doors.tools() == {"one__echo"}
        assert views() <= before + 1
