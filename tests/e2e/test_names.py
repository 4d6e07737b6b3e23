"""The names clients see: separators, length, clashes, wrapped addresses, pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import KINDS
from tests.e2e.hub import RunningHub, new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import Json, Talk, listening, talking, text_of

EVERYWHERE = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONG = "a_name_that_its_server_finds_good_but_is_longer_than_clients_can_take"
ODD = ("log/show.all", "log_show_all", "größe", LONG + "_1", LONG + "_2")
SHARED = "shared://place"


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """Servers whose offers clash or cannot be named as they are; small pages."""
    with new_home() as home:
        servers = {
            "one": stdio_stub("one", home, "--resource", SHARED, "--tools", "30", "--page", "4"),
            "two": stdio_stub("two", home, "--resource", SHARED, "--era", "modern"),
            "odd": odd_server(home),
            "three": quoting_server(home, "three"),
            "twin": stdio_stub("twins", home),
            "twix": stdio_stub("twins", home, "--era", "modern"),
        }
        with running_hub(servers, home=home, env={"TOOLYARD_PAGE_SIZE": "7"}) as running:
            yield running


def odd_server(home: Path) -> dict[str, Any]:
    """A server with names that not every client can take; each tool tells its own."""
    shape = {"type": "object"}
    tools = [{"name": name, "inputSchema": shape} for name in ODD]
    replies = {"tools/list": json.dumps({"tools": tools})}
    for name in ODD:
        content = [{"type": "text", "text": name}]
        replies[f"tools/call {name}"] = json.dumps({"content": content})
    return scripted(home, "odd", replies, tools={})


def quoting_server(home: Path, name: str) -> dict[str, Any]:
    """A server that has the shared resource too, and refers to it in its results."""
    block = {"uri": SHARED, "text": f"of {name}"}
    link = {"type": "resource_link", "uri": SHARED, "name": "x"}
    replies = {
        "tools/list": json.dumps({"tools": [{"name": "quote", "inputSchema": {"type": "object"}}]}),
        "resources/list": json.dumps({"resources": [{"uri": SHARED, "name": "place"}]}),
        f"resources/read {SHARED}": json.dumps({"contents": [block]}),
        "tools/call quote": json.dumps(
            {"content": [{"type": "resource", "resource": block}, link], "isError": False}
        ),
    }
    return scripted(home, name, replies, tools={}, resources={})


async def everything(client: Talk, method: str, key: str) -> list[Json]:
    """All pages of a list."""
    items: list[Json] = []
    cursor: Json = {}
    while True:
        page = await client.result(method, cursor)
        items += page[key]
        if "nextCursor" not in page:
            return items
        cursor = {"cursor": page["nextCursor"]}


# Names.


async def test_every_name_is_one_that_all_clients_take(hub: RunningHub) -> None:
    async with talking(hub) as client:
        names = [tool["name"] for tool in await everything(client, "tools/list", "tools")]
        assert [name for name in names if not EVERYWHERE.fullmatch(name)] == []
        assert len(set(names)) == len(names)


async def test_a_name_that_was_changed_leads_to_the_tool_it_stands_for(hub: RunningHub) -> None:
    async with talking(hub) as client:
        tools = await everything(client, "tools/list", "tools")
        names = [tool["name"] for tool in tools if tool["name"].startswith("odd__")]
        assert [text_of(await client.call(name)) for name in names] == list(ODD)
        assert "odd__log_show_all" in names


async def test_names_are_the_same_in_every_run(hub: RunningHub) -> None:
    async with talking(hub) as client:
        before = {tool["name"] for tool in await everything(client, "tools/list", "tools")}
    with new_home() as home, running_hub({"odd": odd_server(home)}, home=home) as again:
        async with talking(again) as client:
            names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
            assert {name for name in names if name.startswith("odd__")} <= before


@pytest.mark.parametrize(
    ("flag", "separator"), [("__", "__"), (".", "."), ("/", "/"), ("none", "")]
)
async def test_the_separator_is_a_setting(flag: str, separator: str) -> None:
    with new_home() as home:
        servers = {"a": stdio_stub("a", home, "--only", "echo,ask")}
        with running_hub(servers, "--separator", flag, home=home) as hub:
            async with talking(hub, "modern", "http") as client:
                names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
                prefix = f"a{separator}" if separator else ""
                assert {f"{prefix}echo", f"{prefix}ask"} <= set(names)
                assert "toolyard_status" in names
                assert text_of(await client.call(f"{prefix}echo", {"text": "hi"})) == "hi"
                prompt = await client.result("prompts/get", {"name": f"{prefix}plain"})
                assert prompt["messages"][0]["content"]["text"] == "Hello from a."


async def test_a_separator_inside_a_name_is_no_border() -> None:
    """Names are looked up, never split: alias `a` with `b__c`, and alias `a__b` with `c`."""
    with new_home() as home:
        texts = {"a": ("b__c", "first"), "a__b": ("c", "second")}
        servers = {alias: telling_server(home, alias, *said) for alias, said in texts.items()}
        with running_hub(servers, home=home) as hub:
            async with talking(hub) as client:
                tools = (await client.result("tools/list"))["tools"]
                names = [t["name"] for t in tools if not t["name"].startswith("toolyard_")]
                assert names[0] == "a__b__c" and len(set(names)) == 2
                assert [text_of(await client.call(name)) for name in names] == ["first", "second"]


def telling_server(home: Path, alias: str, tool: str, said: str) -> dict[str, Any]:
    """A server with one tool that says one thing."""
    tools = [{"name": tool, "inputSchema": {"type": "object"}}]
    result = {"content": [{"type": "text", "text": said}]}
    replies = {"tools/list": json.dumps({"tools": tools}), f"tools/call {tool}": json.dumps(result)}
    return scripted(home, alias, replies, tools={})


# Addresses of resources.


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_an_address_that_two_servers_have_is_wrapped(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    async with talking(hub, *kind) as client:
        listed = await everything(client, "resources/list", "resources")
        uris = [item["uri"] for item in listed if "shared" in item["uri"]]
        assert len(uris) == len(set(uris)) == 3
        assert SHARED in uris
        texts = set()
        for uri in uris:
            (block,) = (await client.result("resources/read", {"uri": uri}))["contents"]
            assert block["uri"] == uri
            texts.add(block["text"].partition(",")[0])
        assert texts == {f"{SHARED} of one", f"{SHARED} of two", "of three"}


async def test_references_inside_results_are_rewritten_alike(hub: RunningHub) -> None:
    async with talking(hub) as client:
        embedded, link = (await client.call("three__quote"))["content"]
        assert embedded["resource"]["uri"] == link["uri"] != ""
        (block,) = (await client.result("resources/read", {"uri": link["uri"]}))["contents"]
        assert block == embedded["resource"]
        assert block["text"] == "of three"


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_a_wrapped_address_can_be_followed(hub: RunningHub, kind: tuple[str, str]) -> None:
    async with talking(hub, *kind) as client:
        uri = f"toolyard://at/two/{SHARED}"  # also if it was the first, and has the plain one
        updated = "notifications/resources/updated"
        if client.is_modern:
            async with listening(client, resourceSubscriptions=[uri]):
                await hub.happened("two", "listen", wanted=wanted(SHARED))
                await client.call("two__touch", {"uri": SHARED})
                assert (await client.wait_heard(updated))[0]["uri"] == uri
        else:
            await client.result("resources/subscribe", {"uri": uri})
            await hub.happened("two", "listen", wanted=wanted(SHARED))
            await client.call("two__touch", {"uri": SHARED})
            assert (await client.wait_heard(updated))[0]["uri"] == uri


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_a_template_that_two_servers_have_is_wrapped(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    async with talking(hub, *kind) as client:
        listed = await everything(client, "resources/templates/list", "resourceTemplates")
        templates = [t["uriTemplate"] for t in listed if "twins" in t["uriTemplate"]]
        assert len(set(templates)) == 2
        for template in templates:
            uri = template.replace("{id}", "a%20b")
            (block,) = (await client.result("resources/read", {"uri": uri}))["contents"]
            assert (block["uri"], block["text"]) == (uri, "item a%20b")
            ref = {"type": "ref/resource", "uri": template}
            asked = {"ref": ref, "argument": {"name": "id", "value": "19"}}
            result = await client.result("completion/complete", asked)
            assert result["completion"]["values"] == ["19"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_line_for_one_server_shows_it_alone_under_its_own_names(
    hub: RunningHub, era: str
) -> None:
    async with talking(hub, era, server="odd") as client:
        tools = await everything(client, "tools/list", "tools")
        assert "log_show_all" in [tool["name"] for tool in tools]
        assert len(tools) == len(ODD)
        assert text_of(await client.call("log_show_all")) == "log_show_all"
        assert (await client.fault("tools/call", {"name": "one__echo"}))["code"] == -32602


def wanted(*uris: str) -> Json:
    """What the hub asks of a modern server for somebody who follows these."""
    lists = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
    return {**dict.fromkeys(lists, True), "resourceSubscriptions": list(uris)}


# Pages.


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_lists_come_in_pages_in_both_directions(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    """The server gives four at a time, the hub seven; nothing is lost or told twice."""
    async with talking(hub, *kind) as client:
        page = await client.result("tools/list")
        assert len(page["tools"]) == 7
        names = [tool["name"] for tool in await everything(client, "tools/list", "tools")]
        assert [n for n in names if n.startswith("one__tool_")] == [
            f"one__tool_{number:02}" for number in range(30)
        ]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
@pytest.mark.parametrize("cursor", ["nonsense", "", "p:4", "0.7", 7, {"a": 1}])
async def test_a_cursor_nobody_gave_is_refused(
    hub: RunningHub, kind: tuple[str, str], cursor: Any
) -> None:
    async with talking(hub, *kind) as client:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            assert (await client.fault(method, {"cursor": cursor}))["code"] == -32602


async def test_a_cursor_of_a_list_that_changed_is_refused(hub: RunningHub) -> None:
    async with talking(hub) as client:
        cursor = (await client.result("tools/list"))["nextCursor"]
        await client.call("two__add_tool", {"name": "late"})
        await client.wait_heard("notifications/tools/list_changed")
        fault = await client.fault("tools/list", {"cursor": cursor})
        assert fault["code"] == -32602
        assert "start again" in fault["message"]


async def test_a_modern_server_is_told_once_of_a_new_follower(hub: RunningHub) -> None:
    uri = "note://two/readme"
    async with talking(hub) as client:
        await client.result("resources/subscribe", {"uri": uri})
        await hub.happened("two", "listen", wanted=wanted(uri))
        for _ in range(10):
            await client.call("two__echo")
    assert [each["wanted"] for each in hub.events("two", "listen")].count(wanted(uri)) == 1
