"""The addresses of resources: whose they are, and that they lead there and nowhere else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import KINDS
from tests.e2e.hub import PATIENCE, RunningHub, new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import Json, Talk, listening, talking

PAGE = "ui://app/main"
SHAPE: Json = {"type": "object"}


@pytest.fixture
def home() -> Iterator[Path]:
    with new_home() as made:
        yield made


def serving(
    home: Path, name: str, *uris: str, templates: tuple[str, ...] = (), listed: bool = True
) -> Json:
    """A server with these resources, each of which says whose it is."""
    replies = {
        "resources/list": json.dumps(
            {"resources": [{"uri": uri, "name": "r"} for uri in uris] if listed else []}
        ),
        "resources/templates/list": json.dumps(
            {"resourceTemplates": [{"uriTemplate": text, "name": "t"} for text in templates]}
        ),
    }
    for uri in uris:
        block = {"uri": uri, "text": f"of {name}"}
        replies[f"resources/read {uri}"] = json.dumps({"contents": [block]})
    return scripted(home, name, replies, resources={})


def page_server(home: Path, name: str, *, listed: bool = True) -> Json:
    """A server with a tool that comes with a page, the same page for all such servers."""
    tool = {"name": "app", "inputSchema": SHAPE, "_meta": {"ui": {"resourceUri": PAGE}}}
    block = {"uri": PAGE, "mimeType": "text/html;profile=mcp-app", "text": f"page of {name}"}
    link = {"type": "resource_link", "uri": PAGE, "name": "page"}
    said = {"type": "text", "text": PAGE}
    replies = {
        "tools/list": json.dumps({"tools": [tool]}),
        "resources/list": json.dumps({"resources": [{"uri": PAGE, "name": "p"}] if listed else []}),
        f"resources/read {PAGE}": json.dumps({"contents": [block]}),
        "tools/call app": json.dumps(
            {"content": [link, {"type": "resource", "resource": block}, said]}
        ),
        "prompts/list": json.dumps({"prompts": [{"name": "show"}]}),
        "prompts/get show": json.dumps(
            {"messages": [{"role": "user", "content": {"type": "resource", "resource": block}}]}
        ),
    }
    return scripted(home, name, replies, tools={}, resources={}, prompts={})


def write_servers(home: Path, servers: Mapping[str, Any]) -> None:
    (home / "config" / "servers.json").write_text(json.dumps({"mcpServers": dict(servers)}))


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        await asyncio.sleep(0.02)


async def serve(hub: RunningHub, servers: Mapping[str, Any]) -> None:
    """Have a running hub serve exactly these, and wait until all of them are known."""
    write_servers(hub.home, servers)

    def is_so() -> bool:
        rows = {row["alias"]: row["protocol"] for row in hub.status()["servers"]}
        return rows.keys() == servers.keys() and all(rows.values())

    await until(is_so)


async def read(client: Talk, uri: str) -> str:
    """The text of a resource; it must come under the address it was asked by."""
    (block,) = (await client.result("resources/read", {"uri": uri}))["contents"]
    assert block["uri"] == uri
    text: str = block["text"]
    return text


async def pages(client: Talk) -> dict[str, str]:
    """The pages that tools come with."""
    tools = (await client.result("tools/list"))["tools"]
    return {t["name"]: t["_meta"]["ui"]["resourceUri"] for t in tools if "_meta" in t}


async def listed(client: Talk) -> list[str]:
    return [item["uri"] for item in (await client.result("resources/list"))["resources"]]


def problems(hub: RunningHub, code: str) -> list[Json]:
    return [problem for problem in hub.status()["problems"] if problem["code"] == code]


# Who had an address first keeps it.


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "referred"])
async def test_a_newcomer_takes_no_page_over(home: Path, is_listed: bool) -> None:
    zed = page_server(home, "zed", listed=is_listed)
    abe = page_server(home, "abe", listed=is_listed)
    with running_hub({"zed": zed}, home=home) as hub:
        async with talking(hub) as client, talking(hub, "modern", "http") as other:
            assert await pages(client) == {"zed__app": PAGE}
            await serve(hub, {"abe": abe, "zed": zed})
            for each in (client, other):
                shown = await pages(each)
                assert shown == {"zed__app": PAGE, "abe__app": "ui://abe+app/main"}
                assert await read(each, shown["zed__app"]) == "page of zed"
                assert await read(each, shown["abe__app"]) == "page of abe"
                uris = [PAGE, "ui://abe+app/main"]
                assert sorted(set(uris) & set(await listed(each))) == sorted(uris * is_listed)


async def test_an_address_never_changes_hands_over_restarts_and_leaving(home: Path) -> None:
    zed, abe = page_server(home, "zed"), page_server(home, "abe")
    with running_hub({"zed": zed}, home=home) as hub:
        await serve(hub, {"abe": abe, "zed": zed})
    with running_hub({"abe": abe, "zed": zed}, home=home) as hub:
        async with talking(hub) as client:
            shown = await pages(client)
            assert shown == {"zed__app": PAGE, "abe__app": "ui://abe+app/main"}
            assert await read(client, PAGE) == "page of zed"
            await serve(hub, {"abe": abe})
            assert await pages(client) == {"abe__app": "ui://abe+app/main"}
            fault = await client.fault("resources/read", {"uri": PAGE})
            assert "ui://abe+app/main" in fault["message"]
            await serve(hub, {"abe": abe, "zed": zed})
            assert await read(client, PAGE) == "page of zed"


async def test_a_clash_is_a_problem_until_one_has_left(home: Path) -> None:
    zed, abe = page_server(home, "zed"), page_server(home, "abe")
    with running_hub({"zed": zed}, home=home) as hub:
        assert problems(hub, "address-clash") == []
        await serve(hub, {"abe": abe, "zed": zed})
        (problem,) = problems(hub, "address-clash")
        assert problem["subject"] == "abe@configured"
        assert PAGE in problem["text"] and "'zed'" in problem["text"]
        assert "ui://abe+app/main" in problem["text"]
        await serve(hub, {"abe": abe})
        assert problems(hub, "address-clash") == []


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_what_a_newcomer_says_leads_to_the_newcomer(
    home: Path, kind: tuple[str, str]
) -> None:
    zed, abe = page_server(home, "zed"), page_server(home, "abe")
    with running_hub({"zed": zed}, home=home) as hub:
        await serve(hub, {"abe": abe, "zed": zed})
        async with talking(hub, *kind) as client:
            link, embedded, said = (await client.call("abe__app"))["content"]
            assert link["uri"] == embedded["resource"]["uri"] == "ui://abe+app/main"
            assert said["text"] == PAGE  # words are words
            (message,) = (await client.result("prompts/get", {"name": "abe__show"}))["messages"]
            assert message["content"]["resource"]["uri"] == "ui://abe+app/main"
            stable = {"server": "abe", "tool": "app"}
            assert (await client.call("toolyard_destroy", stable))["content"][0] == link
            assert (await client.call("zed__app"))["content"][0]["uri"] == PAGE


async def test_a_wrapped_address_works_for_who_has_the_plain_one_too(home: Path) -> None:
    servers = {"one": serving(home, "one", "mem://notes/1", PAGE)}
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as client, talking(hub, server="one") as alone:
            for each in (client, alone):
                assert {"mem://notes/1", PAGE} <= set(await listed(each))
                assert await read(each, "mem://notes/1") == "of one"
                assert await read(each, "toolyard://at/one/mem://notes/1") == "of one"
                assert await read(each, "ui://one+app/main") == "of one"
            for nobody in ("toolyard://at/two/mem://notes/1", "ui://two+app/main"):
                await client.fault("resources/read", {"uri": nobody})


async def test_a_server_alone_goes_by_its_own_addresses(home: Path) -> None:
    zed, abe = page_server(home, "zed"), page_server(home, "abe")
    with running_hub({"zed": zed}, home=home) as hub:
        await serve(hub, {"abe": abe, "zed": zed})
        async with talking(hub, server="abe") as client:
            assert await pages(client) == {"app": PAGE}
            assert await listed(client) == [PAGE]
            assert await read(client, PAGE) == "page of abe"
            assert (await client.call("app"))["content"][0]["uri"] == PAGE


async def test_whoever_follows_a_resource_hears_of_it_by_the_address_they_know(
    home: Path,
) -> None:
    plain = "note://one/readme"
    wrapped = f"toolyard://at/one/{plain}"
    servers = {"one": stdio_stub("one", home, "--era", "modern")}
    updated = "notifications/resources/updated"
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as first, talking(hub, "modern") as second:
            assert plain in await listed(first)
            await first.result("resources/subscribe", {"uri": plain})
            async with listening(second, resourceSubscriptions=[wrapped]):
                await hub.happened("one", "listen", wanted=wanted(plain))
                await first.call("one__touch", {"uri": plain})
                assert [each["uri"] for each in await first.wait_heard(updated)] == [plain]
                assert [each["uri"] for each in await second.wait_heard(updated)] == [wrapped]


def wanted(*uris: str) -> Json:
    lists = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
    return {**dict.fromkeys(lists, True), "resourceSubscriptions": list(uris)}


# The hub's own addresses.


async def test_a_server_cannot_list_addresses_of_the_hub(home: Path) -> None:
    stolen = ("toolyard://status", "toolyard://at/good/mem://x", "TOOLYARD://tools")
    servers = {
        "bad": serving(home, "bad", *stolen, "mem://bad", templates=("toolyard://{+any}",)),
        "good": serving(home, "good", "mem://x"),
    }
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as client:
            own = ["toolyard://status", "toolyard://tools"]
            assert sorted(await listed(client)) == ["mem://bad", "mem://x", *own]
            assert "of bad" not in await read(client, "toolyard://status")
            assert await read(client, "toolyard://at/good/mem://x") == "of good"
            asked = await client.result("resources/templates/list")
            assert asked["resourceTemplates"] == []
            (problem,) = problems(hub, "address-reserved")
            assert problem["subject"] == "bad@configured"
            assert "toolyard://status" in problem["text"] and "1 more" in problem["text"]


async def test_a_page_that_looks_wrapped_stands_in_nobodys_way(home: Path) -> None:
    look_alike = "ui://zed+app/main"
    with running_hub({"bad": serving(home, "bad", look_alike)}, home=home) as hub:
        async with talking(hub) as client:
            assert "ui://bad+zed+app/main" in await listed(client)
            zed = page_server(home, "zed")
            await serve(hub, {"bad": serving(home, "bad", look_alike), "zed": zed})
            assert await read(client, look_alike) == "page of zed"
            assert await read(client, "ui://bad+zed+app/main") == "of bad"


# Links to what nobody lists.


def giving(home: Path, name: str, *uris: str) -> Json:
    """A server whose tool gives out links to resources that it never lists."""
    links = [{"type": "resource_link", "uri": uri, "name": "x"} for uri in uris]
    replies = {
        "tools/list": json.dumps({"tools": [{"name": "give", "inputSchema": SHAPE}]}),
        "tools/call give": json.dumps({"content": links}),
        "resources/list": '{"resources":[]}',
        "resources/subscribe": "{}",
    }
    for uri in uris:
        block = {"uri": uri, "text": f"of {name}"}
        replies[f"resources/read {uri}"] = json.dumps({"contents": [block]})
    return scripted(home, name, replies, tools={}, resources={})


async def given(client: Talk, tool: str) -> list[str]:
    return [block["uri"] for block in (await client.call(tool))["content"]]


@pytest.mark.parametrize("kind", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_a_link_can_be_read_by_whom_it_was_given_to(
    home: Path, kind: tuple[str, str]
) -> None:
    uris = ["dyn://one/unlisted/1", "https://one.test/report", "ui://one/late"]
    servers = {"one": giving(home, "one", *uris), "two": giving(home, "two", "dyn://two/1")}
    with running_hub(servers, home=home) as hub:
        async with talking(hub, *kind) as client, talking(hub, *kind, name="other") as other:
            assert await given(client, "one__give") == uris
            for uri in uris:
                assert await read(client, uri) == "of one"
                await other.fault("resources/read", {"uri": uri})
            stable = {"server": "two", "tool": "give"}
            (link,) = (await other.call("toolyard_destroy", stable))["content"]
            assert await read(other, link["uri"]) == "of two"
            await client.fault("resources/read", {"uri": link["uri"]})


async def test_of_two_servers_that_give_the_same_link_each_is_read_its_own(home: Path) -> None:
    uri = "dyn://shared/1"
    servers = {name: giving(home, name, uri) for name in ("one", "two")}
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as client, talking(hub, "modern", "http") as other:
            assert await given(client, "two__give") == [uri]
            assert await given(client, "one__give") == [f"toolyard://at/one/{uri}"]
            assert await given(client, "two__give") == [uri]
            assert await given(other, "one__give") == [uri]
            assert await read(client, uri) == "of two"
            assert await read(client, f"toolyard://at/one/{uri}") == "of one"
            assert await read(other, uri) == "of one"


async def test_a_link_to_what_another_server_has_leads_to_who_gave_it(home: Path) -> None:
    uris = ["mem://owner/1", "mem://owner/other", "toolyard://status"]
    owner = serving(home, "owner", "mem://owner/1", templates=("mem://owner/{id}",))
    with running_hub({"owner": owner}, home=home) as hub:
        await serve(hub, {"giver": giving(home, "giver", *uris), "owner": owner})
        async with talking(hub) as client:
            assert await given(client, "giver__give") == [f"toolyard://at/giver/{u}" for u in uris]
            for uri in uris:
                assert await read(client, f"toolyard://at/giver/{uri}") == "of giver"
            assert await read(client, "mem://owner/1") == "of owner"


async def test_a_link_gives_no_access_to_a_server_that_its_reader_may_not_see(home: Path) -> None:
    uri = "dyn://one/secret"
    servers = {"one": giving(home, "one", uri), "two": giving(home, "two", "dyn://two/1")}
    (home / "config" / "profiles").mkdir(parents=True)
    (home / "config" / "profiles" / "less.json").write_text(json.dumps({"allow": ["one/give"]}))
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as client, talking(hub, profile="less") as less:
            assert await given(client, "one__give") == [uri]
            assert await given(less, "one__give") == [uri]
            assert await read(client, uri) == "of one"
            for address in (uri, f"toolyard://at/one/{uri}"):
                await less.fault("resources/read", {"uri": address})


async def test_a_link_can_be_followed(home: Path) -> None:
    servers = {
        "one": stdio_stub("one", home, "--era", "modern"),
        "two": stdio_stub("two", home),
        "three": giving(home, "three", "dyn://three/1"),
    }
    with running_hub(servers, home=home) as hub:
        async with talking(hub, "modern") as client:
            assert await given(client, "three__give") == ["dyn://three/1"]
            asked = ["dyn://three/1", "dyn://nobody/1"]
            async with listening(client, resourceSubscriptions=asked) as honoured:
                assert honoured["notifications"]["resourceSubscriptions"] == ["dyn://three/1"]


# Templates of strangers.


async def test_a_template_takes_nothing_that_belongs_to_others(home: Path) -> None:
    any_uri = "mem://beta/a"
    servers = {
        "aaa": serving(home, "aaa", any_uri, templates=("{+any}",), listed=False),
        "alpha": stdio_stub("alpha", home),
        "beta": serving(home, "beta", any_uri, "mem://beta/b", templates=("mem://beta/{id}",)),
    }
    with running_hub(servers, home=home) as hub:
        async with talking(hub) as client:
            texts = (await client.result("resources/templates/list"))["resourceTemplates"]
            shown = {item["uriTemplate"] for item in texts}
            assert {"toolyard://at/aaa/{+any}", "mem://beta/{id}"} <= shown
            assert await read(client, any_uri) == "of beta"
            assert await read(client, f"toolyard://at/aaa/{any_uri}") == "of aaa"
            for nobodys in ("secret://x?token=1", "mem://gamma/a"):
                assert (
                    "unknown" in (await client.fault("resources/read", {"uri": nobodys}))["message"]
                )


async def test_an_exact_address_goes_before_a_template_whoever_is_there(home: Path) -> None:
    uri = "mem://beta/a"
    wide = serving(home, "wide", uri, templates=("mem://{+rest}",), listed=False)
    beta = serving(home, "beta", uri)
    with running_hub({"wide": wide}, home=home) as hub:
        await serve(hub, {"beta": beta, "wide": wide})
        async with talking(hub) as client:
            assert await read(client, uri) == "of beta"
            await serve(hub, {"wide": wide})
            assert "unknown" in (await client.fault("resources/read", {"uri": uri}))["message"]
            assert await read(client, f"toolyard://at/wide/{uri}") == "of wide"


async def test_templates_of_two_servers_never_meet(home: Path) -> None:
    uri = "repo://me/notes"
    first = serving(home, "first", uri, templates=("repo://{owner}/{name}",), listed=False)
    second = serving(home, "second", uri, templates=("repo://me/{name}",), listed=False)
    with running_hub({"first": first}, home=home) as hub:
        await serve(hub, {"first": first, "second": second})
        async with talking(hub) as client:
            texts = (await client.result("resources/templates/list"))["resourceTemplates"]
            assert [item["uriTemplate"] for item in texts] == [
                "repo://{owner}/{name}",
                "toolyard://at/second/repo://me/{name}",
            ]
            assert await read(client, uri) == "of first"
            assert await read(client, f"toolyard://at/second/{uri}") == "of second"
            (problem,) = problems(hub, "address-clash")
            assert "repo://me/{name}" in problem["text"]


async def test_a_template_cannot_keep_the_hub_busy(home: Path) -> None:
    wild = ["mem://" + part * 24 + "X" for part in ("{+a}", "{a}", "{+a}a", "{a*}{b}")]
    bad = serving(home, "bad", templates=tuple(wild))
    with running_hub({"bad": bad, "good": stdio_stub("good", home)}, home=home) as hub:
        async with talking(hub) as client:
            asked: Json = {"uri": "mem://" + "a" * 1000}
            assert "unknown" in (await client.fault("resources/read", asked))["message"]
            assert hub.get("/health/live")[0] == 200
