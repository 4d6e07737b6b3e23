"""Everything MCP has, from clients of both eras at both doors to servers of every kind."""

from __future__ import annotations

import asyncio
import json
import subprocess
from functools import cache
from typing import Any

import pytest

from tests.e2e.conftest import UI, VERBATIM, Connect
from tests.e2e.hub import RunningHub
from tests.e2e.talk import (
    ACKNOWLEDGED,
    ANSWERS,
    META,
    Json,
    Talk,
    listening,
    talking,
    text_of,
)
from tests.fixtures.stub_run import stub_command

CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
COALESCED = 0.25


@cache
def ask_directly(name: str, method: str, tool: str = "") -> Json:
    """What a stub itself answers, without a hub."""
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting}
    params = {"name": tool, "arguments": {}} if tool else {}
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    lines = "".join(json.dumps(message) + "\n" for message in (opening, request))
    command = stub_command("--name", name, "--era", "legacy")
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    result: Json = json.loads(done.stdout.splitlines()[1])["result"]
    return result


def undressed(result: Json) -> Json:
    """A result without what the modern era adds to every one."""
    bare = {k: v for k, v in result.items() if k not in ("resultType", "ttlMs", "cacheScope")}
    if "_meta" in bare:
        bare["_meta"] = {k: v for k, v in bare["_meta"].items() if k != META + "serverInfo"}
        if not bare["_meta"]:
            del bare["_meta"]
    return bare


def of(server: str, items: list[Json], key: str = "name") -> list[Json]:
    """The offers of one server, under their own names."""
    prefix = f"{server}__"
    mine = [item for item in items if item[key].startswith(prefix)]
    return [{**item, key: item[key].removeprefix(prefix)} for item in mine]


# Tools.


async def test_a_tool_is_listed_and_called(connect: Connect, server: str) -> None:
    async with connect() as client:
        names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
        assert f"{server}__echo" in names
        assert text_of(await client.call(f"{server}__echo", {"text": "hi ☃"})) == "hi ☃"


async def test_tools_arrive_just_as_their_server_describes_them(
    connect: Connect, server: str
) -> None:
    said = ask_directly(server, "tools/list")
    async with connect() as client:
        listed = of(server, (await client.result("tools/list"))["tools"])
    known = {tool["name"] for tool in said["tools"]}
    assert [tool for tool in listed if tool["name"] in known] == said["tools"]
    rich = next(tool for tool in listed if tool["name"] == "rich")
    assert {"icons", "annotations", "_meta", "future"} <= rich.keys()
    assert rich["inputSchema"]["$defs"]["half"]["$anchor"] == "half"


async def test_nothing_of_a_result_is_lost_or_corrected(connect: Connect, server: str) -> None:
    async with connect() as client:
        result = undressed(await client.call(f"{server}__rich"))
    assert result == ask_directly(server, "tools/call", "rich")


async def test_structured_content_arrives_with_its_schema(connect: Connect, server: str) -> None:
    async with connect() as client:
        tools = of(server, (await client.result("tools/list"))["tools"])
        counter = next(tool for tool in tools if tool["name"] == "counter")
        assert counter["outputSchema"]["required"] == ["count"]
        result = await client.call(f"{server}__counter")
        assert text_of(result) == str(result["structuredContent"]["count"])


async def test_errors_of_tools_and_of_the_protocol_stay_what_they_are(
    connect: Connect, server: str
) -> None:
    async with connect() as client:
        failed = await client.call(f"{server}__fail", {"text": "no luck"})
        assert (failed["isError"], text_of(failed)) == (True, "no luck")
        params = {"name": f"{server}__error", "arguments": {"code": -32050, "message": "no"}}
        fault = await client.fault("tools/call", params)
        assert fault == {"code": -32050, "message": "no", "data": {"kept": [1, 2]}}


async def test_an_unknown_tool_is_refused_with_the_closest_names(connect: Connect) -> None:
    async with connect() as client:
        fault = await client.fault("tools/call", {"name": "old__ecko", "arguments": {}})
        assert fault["code"] == -32602
        assert fault["message"].startswith("unknown tool 'old__ecko'; there are: old__echo")


async def test_an_unknown_method_is_refused(connect: Connect) -> None:
    async with connect() as client:
        assert (await client.fault("no/such"))["code"] == -32601


@pytest.mark.parametrize("door", ["line", "http"])
async def test_clients_that_count_alike_get_their_own_answers(
    yard: RunningHub, server: str, door: str
) -> None:
    async def ask(number: int) -> str:
        async with talking(yard, "legacy", door) as client:
            params = {"name": f"{server}__echo", "arguments": {"text": f"mine {number}"}}
            return text_of(await client.result("tools/call", params, number="same"))

    answers = await asyncio.gather(*(ask(number) for number in range(12)))
    assert answers == [f"mine {number}" for number in range(12)]


async def test_a_large_result_arrives_whole(connect: Connect, server: str) -> None:
    async with connect() as client:
        result = await client.call(f"{server}__payload", {"kib": 1024})
        assert text_of(result) == "x" * 1024 * 1024


async def test_a_result_crosses_the_hub_as_the_bytes_it_is(connect: Connect) -> None:
    """Numbers keep their digits, objects their order, and what stands twice stands twice."""
    async with connect() as client:
        await client.call("clock__show")
        assert VERBATIM.strip("{} ").encode() in client.last


# Prompts, resources, completion.


async def test_prompts_are_listed_and_filled_in(connect: Connect, server: str) -> None:
    async with connect() as client:
        prompts = of(server, (await client.result("prompts/list"))["prompts"])
        assert [prompt["name"] for prompt in prompts] == ["greet", "plain"]
        params = {"name": f"{server}__greet", "arguments": {"who": "Ada"}}
        (message,) = (await client.result("prompts/get", params))["messages"]
        assert message["content"]["text"] == f"Greet Ada from {server}."


async def test_resources_are_listed_and_read(connect: Connect, server: str) -> None:
    async with connect() as client:
        uris = [item["uri"] for item in (await client.result("resources/list"))["resources"]]
        assert f"note://{server}/readme" in uris
        (text,) = await contents(client, f"note://{server}/readme")
        assert text["text"].startswith(f"note://{server}/readme of {server}")
        (pixel,) = await contents(client, f"note://{server}/pixel")
        assert pixel["blob"].startswith("iVBOR")


async def contents(client: Talk, uri: str) -> list[Json]:
    """Read a resource."""
    result = await client.result("resources/read", {"uri": uri})
    found: list[Json] = result["contents"]
    return found


async def test_a_resource_of_a_template_is_read(connect: Connect, server: str) -> None:
    async with connect() as client:
        listed = (await client.result("resources/templates/list"))["resourceTemplates"]
        assert f"note://{server}/item/{{id}}" in [item["uriTemplate"] for item in listed]
        (item,) = await contents(client, f"note://{server}/item/7")
        assert item["text"] == "item 7"


async def test_an_unknown_resource_has_the_code_of_the_clients_era(
    connect: Connect, server: str, kind: tuple[str, str]
) -> None:
    async with connect() as client:
        for uri in (f"note://{server}/item/x/y", f"note://{server}/nothing"):
            fault = await client.fault("resources/read", {"uri": uri})
            assert fault["code"] == (-32602 if kind[0] == "modern" else -32002)


async def test_arguments_of_prompts_and_templates_are_completed(
    connect: Connect, server: str
) -> None:
    prompt = {"type": "ref/prompt", "name": f"{server}__greet"}
    template = {"type": "ref/resource", "uri": f"note://{server}/item/{{id}}"}
    async with connect() as client:
        for ref, argument, expected in (
            (prompt, {"name": "who", "value": "Al"}, ["Alan", "Alonzo"]),
            (template, {"name": "id", "value": "19"}, ["19"]),
        ):
            params = {"ref": ref, "argument": argument}
            result = await client.result("completion/complete", params)
            assert result["completion"]["values"] == expected


async def test_pages_of_apps_and_the_tools_that_show_them_arrive_unchanged(
    connect: Connect,
) -> None:
    async with connect() as client:
        (tool,) = of("clock", (await client.result("tools/list"))["tools"])
        shown = {"resourceUri": "ui://clock/face", "visibility": ["model", "app"]}
        assert tool["_meta"] == {"ui": shown}
        (page,) = await contents(client, "ui://clock/face")
        assert (page["mimeType"], page["text"]) == ("text/html;profile=mcp-app", "<p>12</p>")


async def test_extensions_of_servers_are_the_hubs_too(yard: RunningHub) -> None:
    async with talking(yard, "modern") as client:
        found = await client.result("server/discover")
        assert found["capabilities"]["extensions"] == {UI: {"mimeTypes": ["text/html"]}}


# Changes.


async def test_a_change_of_tools_is_told_and_listed(
    connect: Connect, server: str, kind: tuple[str, str]
) -> None:
    name = f"made_by_{'_'.join(kind)}"
    async with connect() as client:
        if not client.is_modern:
            await client.call(f"{server}__add_tool", {"name": name})
            await listed(client, {f"{server}__{name}"})
            return
        async with listening(client, toolsListChanged=True) as acknowledged:
            assert acknowledged["notifications"] == {"toolsListChanged": True}
            await client.call(f"{server}__add_tool", {"name": name})
            await listed(client, {f"{server}__{name}"})
            (note, *_) = await client.wait_heard(CHANGED)
            assert note["_meta"] == acknowledged["_meta"]


async def listed(client: Talk, wanted: set[str]) -> None:
    """Read the list of tools each time it is said to have changed, until these are in it."""
    told = 0
    while not wanted <= {tool["name"] for tool in (await client.result("tools/list"))["tools"]}:
        told += 1
        await client.wait_heard(CHANGED, told)


async def test_changes_that_come_together_are_told_together(yard: RunningHub) -> None:
    loop = asyncio.get_running_loop()
    async with talking(yard) as client:
        began = loop.time()
        for number in range(10):
            await client.call("old__add_tool", {"name": f"burst_{number}"})
            while f'"old__burst_{number}"' not in json.dumps(await client.result("tools/list")):
                pass  # each change is there before the next is made
        windows = (loop.time() - began) / COALESCED
        # One at once, one at the end of each window, and perhaps one of what was before.
        assert sum(note["method"] == CHANGED for note in client.heard) <= 2 + windows


@pytest.mark.parametrize("server", ["past", "present"])
@pytest.mark.parametrize("what", ["prompt", "resource"])
async def test_changes_of_prompts_and_resources_are_told_as_well(
    everything: RunningHub, kind: tuple[str, str], server: str, what: str
) -> None:
    changed = f"notifications/{what}s/list_changed"
    trigger = f"{server}__test_trigger_{what}_change"
    async with talking(everything, *kind) as client:
        if client.is_modern:
            async with listening(client, **{f"{what}sListChanged": True}):
                await client.call(trigger)
                await client.wait_heard(changed)
            assert {note["method"] for note in client.heard} == {changed, ACKNOWLEDGED}
        else:
            await client.call(trigger)
            await client.wait_heard(changed)


async def test_an_update_of_a_resource_reaches_who_follows_it(
    yard: RunningHub, connect: Connect, server: str
) -> None:
    uri = f"note://{server}/counter"
    async with connect() as client, talking(yard, name="other") as other:
        if client.is_modern:
            async with listening(client, resourceSubscriptions=[uri]) as acknowledged:
                assert acknowledged["notifications"] == {"resourceSubscriptions": [uri]}
                await touched(client, server, uri)
        else:
            await client.result("resources/subscribe", {"uri": uri})
            await touched(client, server, uri)
            await client.result("resources/unsubscribe", {"uri": uri})
        # Whoever does not follow it hears nothing, however late.
        await other.call(f"{server}__echo")
        assert [note for note in other.heard if note["method"] == UPDATED] == []


async def touched(client: Talk, server: str, uri: str) -> None:
    """Write a resource and hear of it; a modern server may yet have to be told."""
    if server.startswith("old"):
        await client.call(f"{server}__touch", {"uri": uri})
        assert (await client.wait_heard(UPDATED))[0]["uri"] == uri
        return
    async with asyncio.timeout(60):
        while not any(note["method"] == UPDATED for note in client.heard):
            await client.call(f"{server}__touch", {"uri": uri})
    (note, *_) = await client.wait_heard(UPDATED)
    assert note["uri"] == uri


@pytest.mark.parametrize("server", ["old", "oldweb"])
async def test_a_server_is_told_when_the_last_follower_leaves(
    yard: RunningHub, connect: Connect, server: str, kind: tuple[str, str]
) -> None:
    uri = f"note://{server}/item/{'-'.join(kind)}"
    async with connect() as client:
        if client.is_modern:
            async with listening(client, resourceSubscriptions=[uri]):
                await yard.happened(server, "subscribe", uri=uri)
        else:
            await client.result("resources/subscribe", {"uri": uri})
            await yard.happened(server, "subscribe", uri=uri)
    await yard.happened(server, "unsubscribe", uri=uri)


# What a server says while it works.


@pytest.mark.parametrize("token", ["mine-☃", 77])
async def test_progress_arrives_under_the_clients_own_token(
    connect: Connect, server: str, token: Any
) -> None:
    async with connect() as client:
        await client.call(f"{server}__progress", {"n": 3}, meta={"progressToken": token})
        notes = await client.wait_heard("notifications/progress", 3)
        assert [note["progressToken"] for note in notes] == [token] * 3
        assert [(note["progress"], note["message"]) for note in notes] == [
            (1, "1"),
            (2, "2"),
            (3, "3"),
        ]


async def test_log_messages_come_from_the_level_on_that_was_asked_for(
    connect: Connect, server: str
) -> None:
    async with connect() as client:
        marks = {META + "logLevel": "warning"} if client.is_modern else None
        if not client.is_modern:
            await client.result("logging/setLevel", {"level": "warning"})
        for level in ("info", "error"):
            await client.call(f"{server}__log", {"level": level, "text": level}, meta=marks)
        await client.wait_heard("notifications/message")
        assert [note["params"]["data"] for note in client.heard] == ["error"]


async def test_even_debug_messages_come_when_asked_for(connect: Connect, server: str) -> None:
    async with connect() as client:
        marks = {META + "logLevel": "debug"} if client.is_modern else None
        if not client.is_modern:
            await client.result("logging/setLevel", {"level": "debug"})
        await client.call(f"{server}__log", {"level": "debug", "text": "fine"}, meta=marks)
        (note,) = await client.wait_heard("notifications/message")
        assert (note["level"], note["data"]) == ("debug", "fine")


@pytest.mark.parametrize("door", ["line", "http"])
async def test_a_modern_client_that_names_no_level_hears_nothing(
    yard: RunningHub, server: str, door: str
) -> None:
    async with talking(yard, "modern", door) as client:
        await client.call(f"{server}__log", {"level": "emergency"})
        await client.call(f"{server}__progress", {"n": 1}, meta={"progressToken": 1})
        await client.wait_heard("notifications/progress")
        assert [note["method"] for note in client.heard] == ["notifications/progress"]


async def test_an_unknown_log_level_is_refused(yard: RunningHub) -> None:
    async with talking(yard) as client:
        assert (await client.fault("logging/setLevel", {"level": "loud"}))["code"] == -32602


@pytest.mark.parametrize("door", ["line", "http"])
@pytest.mark.parametrize("server", ["old", "oldweb", "oldsse"])
async def test_a_legacy_server_hears_that_roots_changed(
    yard: RunningHub, server: str, door: str
) -> None:
    changed = "notifications/roots/list_changed"
    before = sum(e["method"] == changed for e in yard.events(server, "notification"))
    async with talking(yard, "legacy", door) as client:
        await client.notify(changed)
        await yard.happened(server, "notification", before + 1, method=changed)


# Cancellation.


async def test_a_cancelled_call_is_cancelled_at_its_server(
    yard: RunningHub, connect: Connect, server: str
) -> None:
    async with connect() as client:
        before = len(yard.events(server, "cancelled"))
        message = client.message("tools/call", {"name": f"{server}__cancellable"})
        started = len(yard.events(server, "waiting"))
        waiting = client.group.create_task(client.exchange(message))
        await yard.happened(server, "waiting", started + 1)
        await client.cancel(message["id"], waiting)
        await yard.happened(server, "cancelled", before + 1)
        # The connection is as good as before.
        assert text_of(await client.call(f"{server}__echo", {"text": "on"})) == "on"


async def test_a_client_that_goes_away_stops_its_work(
    yard: RunningHub, connect: Connect, server: str
) -> None:
    before = len(yard.events(server, "cancelled"))
    started = len(yard.events(server, "waiting"))
    async with connect() as client:
        message = client.message("tools/call", {"name": f"{server}__cancellable"})
        waiting = client.group.create_task(client.exchange(message))
        await yard.happened(server, "waiting", started + 1)
        waiting.cancel()
    await yard.happened(server, "cancelled", before + 1)


# Questions of servers.

QUESTIONS = {
    "ask": "elicitation/create",
    "sample": "sampling/createMessage",
    "roots": "roots/list",
}


@pytest.mark.parametrize("tool", QUESTIONS)
async def test_a_servers_question_is_answered_by_the_client(
    connect: Connect, server: str, tool: str
) -> None:
    async with connect() as client:
        answer = json.loads(text_of(await client.call(f"{server}__{tool}")))
        assert answer == ANSWERS[QUESTIONS[tool]]
        (asked,) = client.asked
        assert asked["method"] == QUESTIONS[tool]


async def test_a_question_arrives_as_the_server_put_it(connect: Connect, server: str) -> None:
    async with connect() as client:
        await client.call(f"{server}__ask", {"question": "Who?"})
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = {"message": "Who?", "requestedSchema": {**schema, "required": ["name"]}}
        assert client.asked[0]["params"] == params


async def test_a_user_is_sent_to_a_page(connect: Connect, server: str) -> None:
    async with connect(answers={"elicitation/create": {"action": "accept"}}) as client:
        answer = json.loads(text_of(await client.call(f"{server}__ask", {"mode": "url"})))
        assert answer == {"action": "accept"}
        (asked,) = client.asked
        assert asked["params"]["url"] == "https://example.com/confirm"
        assert asked["params"]["elicitationId"] == "e1"


async def test_a_user_may_decline(connect: Connect, server: str) -> None:
    async with connect(answers={"elicitation/create": {"action": "decline"}}) as client:
        answer = json.loads(text_of(await client.call(f"{server}__ask")))
        assert answer == {"action": "decline"}


# Tasks of 2025-11-25.


@pytest.mark.parametrize("door", ["line", "http"])
@pytest.mark.parametrize("server", ["old", "oldweb"])
async def test_a_task_lives_from_call_to_result(yard: RunningHub, server: str, door: str) -> None:
    async with talking(yard, "legacy", door) as client:
        params = {"name": f"{server}__echo", "arguments": {"text": "later"}, "task": {"ttl": 60000}}
        task = (await client.result("tools/call", params))["task"]
        named = {"taskId": task["taskId"]}
        assert (await client.result("tasks/get", named))["status"] == "completed"
        assert text_of(await client.result("tasks/result", named)) == "later"
        listed = (await client.result("tasks/list"))["tasks"]
        assert [item["taskId"] for item in listed] == [task["taskId"]]
        assert (await client.result("tasks/cancel", named))["status"] == "cancelled"


async def test_a_task_is_unknown_to_other_clients(yard: RunningHub) -> None:
    async with talking(yard) as client, talking(yard, door="http") as other:
        params = {"name": "old__echo", "arguments": {"text": "mine"}, "task": {"ttl": 60000}}
        task = (await client.result("tools/call", params))["task"]
        assert (await other.fault("tasks/get", {"taskId": task["taskId"]}))["code"] == -32602
        assert (await other.result("tasks/list"))["tasks"] == []


async def test_tasks_are_declared_to_those_who_know_them(yard: RunningHub) -> None:
    async with talking(yard) as client:
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client.info}
        said = await client.result("initialize", asked)
        assert said["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    async with talking(yard, "modern") as client:
        assert "tasks" not in (await client.result("server/discover"))["capabilities"]
