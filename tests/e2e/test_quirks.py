"""The hub goes by the quirks of its clients, in both eras and at both doors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import Json, Talk, talking, text_of

CODEX, CURSOR, OPENCODE = "codex-mcp-client", "cursor-vscode", "opencode"
ALIAS = "a_server_with_quite_a_name"
LONG = "a_tool_whose_name_is_long_enough_for_every_limit_there_is"
LINES = "".join(f'{number}: "größe"\n' for number in range(9000))
CAP = 40_000


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """Many tools, long names, large results, and a pinned tool that comes last by itself."""
    with new_home() as home:
        servers = {
            "many": stdio_stub("many", home, "--tools", "90"),
            ALIAS: long_server(home),
            "large": large_server(home),
        }
        flags = ("--pin", "many__tool_89")
        with running_hub(servers, *flags, home=home) as running:
            yield running


def long_server(home: Path) -> dict[str, Any]:
    """A server with names that have to be shortened for some clients; each tells its own."""
    names = [f"{LONG}_{number}" for number in range(3)]
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    replies = {"tools/list": json.dumps({"tools": tools})}
    for name in names:
        replies[f"tools/call {name}"] = json.dumps({"content": [{"type": "text", "text": name}]})
    return scripted(home, "long", replies, tools={})


def large_server(home: Path) -> dict[str, Any]:
    """A server whose results are too large for some: plain, structured, and promised so."""
    shape = {"type": "object"}
    tools = [{"name": name, "inputSchema": shape} for name in ("lines", "table", "small")]
    tools.append({"name": "promised", "inputSchema": shape, "outputSchema": shape})
    text = {"type": "text", "text": LINES, "annotations": {"audience": ["user"]}}
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    table = {"rows": list(range(20_000))}
    replies = {
        "tools/list": json.dumps({"tools": tools}),
        "tools/call lines": json.dumps({"content": [text, image], "isError": False}),
        "tools/call small": json.dumps({"content": [{"type": "text", "text": "ok"}]}),
    }
    both = {"content": [{"type": "text", "text": json.dumps(table)}], "structuredContent": table}
    replies["tools/call table"] = replies["tools/call promised"] = json.dumps(both)
    return scripted(home, "large", replies, tools={})


@pytest.fixture
def met(hub: RunningHub, kind: tuple[str, str]) -> Any:
    """Opens a client that calls itself so, of the kind under test."""
    return lambda name: talking(hub, *kind, name=name)


async def names_of(client: Talk) -> list[str]:
    return [tool["name"] for tool in (await client.result("tools/list"))["tools"]]


async def instructions(client: Talk) -> str:
    """What the hub tells a client of itself when it comes."""
    method = "server/discover" if client.is_modern else "initialize"
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client.info}
    result = await client.result(method, {} if client.is_modern else asked)
    said: str = result["instructions"]
    return said


# Names.


async def test_names_are_kept_within_the_limit_and_lead_to_their_tools(met: Any) -> None:
    async with met(OPENCODE) as client:
        names = await names_of(client)
        assert max(map(len, names)) == 55
        long = [name for name in names if name.startswith(ALIAS)]
        assert len(set(long)) == 3
        told = [text_of(await client.call(name)) for name in long]
        assert told == [f"{LONG}_{number}" for number in range(3)]


async def test_a_client_without_quirks_sees_names_as_ever(met: Any) -> None:
    async with met("somebody") as client:
        names = await names_of(client)
        assert max(map(len, names)) == 64
        assert len(names) > 100
        assert "reads the list of tools once" not in await instructions(client)


async def test_the_search_finds_tools_by_the_names_this_client_has(met: Any) -> None:
    async with met(OPENCODE) as client:
        found = await client.call("toolyard_tools", {"server": ALIAS})
        names = [tool["name"] for tool in found["structuredContent"]["tools"]]
        assert set(names) <= set(await names_of(client))


# Number of tools.


async def test_no_more_tools_are_listed_than_the_client_takes(met: Any) -> None:
    async with met(CURSOR) as client:
        names = await names_of(client)
        assert len(names) == 80
        assert [name.startswith("toolyard_") for name in names[:10]] == [True] * 9 + [False]
        assert names[9] == "many__tool_89"
        assert "many__tool_88" not in names
        said = await instructions(client)
        assert "Only 80 of " in said
        assert "callTool" in said.rsplit("Only 80", 1)[1]


async def test_what_is_not_listed_can_be_called_all_the_same(met: Any) -> None:
    async with met(CURSOR) as client:
        assert "many__tool_88" not in await names_of(client)
        asked = {"server": "many", "tool": "tool_88", "arguments": {"text": "hello"}}
        assert "hello" in text_of(await client.call("toolyard_destroy", asked))
        assert "hello" in text_of(await client.call("many__tool_88", {"text": "hello"}))


async def test_a_line_for_one_server_lists_all_of_it(hub: RunningHub) -> None:
    async with talking(hub, name=CURSOR, server="many") as client:
        assert len(await names_of(client)) > 80


# A client that lists once.


async def test_a_client_that_never_lists_again_has_the_stable_tools_first(met: Any) -> None:
    async with met(CODEX) as client:
        names = await names_of(client)
        assert all(name.startswith("toolyard_") for name in names[:7])
        assert "reads the list of tools once" in await instructions(client)


async def test_a_client_that_does_is_told_nothing_of_it(met: Any) -> None:
    async with met(OPENCODE) as client:
        assert "reads the list of tools once" not in await instructions(client)


# Size of results.


def size_of(result: Json) -> int:
    return len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode())


async def read(client: Talk, uri: str) -> str:
    (block,) = (await client.result("resources/read", {"uri": uri}))["contents"]
    assert block["uri"] == uri
    text: str = block["text"]
    return text


async def test_a_large_result_is_cut_with_a_mark_and_can_be_read(met: Any) -> None:
    async with met(CODEX) as client:
        result = await client.call("large__lines")
        assert size_of(result) <= CAP
        text, link, image = result["content"]
        assert text["annotations"] == {"audience": ["user"]}
        assert image["type"] == "image"
        shown, _, mark = text["text"].partition("\n\n[cut by toolyard: ")
        assert len(shown) > CAP // 2
        assert LINES.startswith(shown)
        whole = link["uri"].rsplit("/", 1)[0]
        assert f"the whole in {whole};" in mark
        assert await read(client, whole) == LINES
        count = int(link["name"].rsplit(" ", 1)[1])
        parts = [await read(client, f"{whole}/{number}") for number in range(2, count + 1)]
        assert shown + "".join(parts) == LINES
        assert max(len(json.dumps(part, ensure_ascii=False).encode()) for part in parts) <= CAP


async def test_a_result_that_fits_passes_as_the_bytes_it_was(met: Any) -> None:
    async with met(CODEX) as client:
        assert text_of(await client.call("large__small")) == "ok"
    async with met("somebody") as client:
        assert text_of(await client.call("large__lines")) == LINES


async def test_only_the_client_that_called_can_read_what_was_cut(
    hub: RunningHub, kind: tuple[str, str]
) -> None:
    async with talking(hub, *kind, name=CODEX) as client:
        uri = (await client.call("large__lines"))["content"][1]["uri"]
        async with talking(hub, name="codex") as other:
            assert "not kept" in (await other.fault("resources/read", {"uri": uri}))["message"]
        for wrong in (uri + "0", uri.rsplit("/", 1)[0] + "/0", uri + "x", "toolyard://result/"):
            fault = await client.fault("resources/read", {"uri": wrong})
            assert fault["code"] == (-32602 if client.is_modern else -32002)


async def test_structured_content_is_left_out_where_it_would_be_too_large(met: Any) -> None:
    async with met(CODEX) as client:
        result = await client.call("large__table")
        assert "structuredContent" not in result
        assert size_of(result) <= CAP
        whole = await read(client, result["content"][1]["uri"].rsplit("/", 1)[0])
        assert json.loads(whole) == {"rows": list(range(20_000))}


async def test_structured_content_that_was_promised_stays_whole(met: Any) -> None:
    async with met(CODEX) as client:
        result = await client.call("large__promised")
        assert result["structuredContent"] == {"rows": list(range(20_000))}
        assert "cut by toolyard" in text_of(result)


async def test_results_of_the_hubs_own_tools_are_cut_too(met: Any) -> None:
    async with met(CODEX) as client:
        asked = {"server": "large", "tool": "lines", "arguments": {}}
        assert "cut by toolyard" in text_of(await client.call("toolyard_destroy", asked))
        found = await client.call("toolyard_tools", {"limit": 500})
        assert size_of(found) <= CAP


# What the user says.


async def test_what_the_user_says_reaches_a_client_that_is_there() -> None:
    with new_home() as home:
        servers = {"many": stdio_stub("many", home, "--tools", "30")}
        with running_hub(servers, home=home) as hub:
            async with talking(hub, name="editor") as client:
                assert len(await names_of(client)) > 30
                file = home / "config" / "passports.json"
                file.write_text('{"editor": {"most_tools": 12, "longest_name": 24}}')
                await client.wait_heard("notifications/tools/list_changed")
                names = await names_of(client)
                assert len(names) == 12
                assert max(map(len, names)) <= 24
                file.write_text("{")
                file.unlink()
                await client.wait_heard("notifications/tools/list_changed", 2)
                assert len(await names_of(client)) > 30
