"""The control API: servers written down and switched, revisions, events, and the rest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import Agent, entry, open_yard, put_profile, send
from tests.doors.doors import INITIALIZE, Answer, Doors, Raw, call, open_doors

JSON = "application/json"


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


async def names(doors: Doors) -> set[str]:
    """The servers there are."""
    listed = (await send(doors, "GET", "/api/v1/servers")).json()["servers"]
    return {each["alias"] for each in listed}


async def order(doors: Doors, alias: str, what: str, **head: str) -> Any:
    """Give an order about a server; the answer."""
    return await send(doors, "POST", f"/api/v1/servers/{alias}/{what}", **head)


# Servers.


async def test_a_server_is_added_changed_and_removed(yard: Doors) -> None:
    new = {"name": "three", "entry": entry("three", "--tools", "1", "--only", "echo")}
    added = await send(yard, "POST", "/api/v1/servers", new)
    assert (added.status, added.json()["noticed"]) == (201, True)
    assert await names(yard) == {"one", "two", "three"}
    again = await send(yard, "POST", "/api/v1/servers", new)
    assert again.status == 409

    changed = await send(
        yard, "PUT", "/api/v1/servers/three", {"command": "true", "title": "Three"}
    )
    assert (changed.status, changed.json()["noticed"]) == (200, True)
    row = (await send(yard, "GET", "/api/v1/servers/three")).json()
    assert row["launch"]["command"] == ["true"]

    removed = await send(yard, "DELETE", "/api/v1/servers/three")
    assert (removed.status, removed.json()["noticed"]) == (200, True)
    assert await names(yard) == {"one", "two"}
    assert "three" not in (yard.home / "servers.json").read_text()


async def test_a_server_is_edited_and_copied_without_its_secrets_being_told(yard: Doors) -> None:
    secrets = {"TOKEN": "fake-token", "MODE": "${MODE:-x}"}
    own: dict[str, Any] = {"command": "true", "env": secrets, "disabled": True}
    new = {"name": "own", "entry": own}
    assert (await send(yard, "POST", "/api/v1/servers", new)).status == 201
    shown = (await send(yard, "GET", "/api/v1/servers/own/entry")).json()
    assert "fake-token" not in json.dumps(shown)
    assert shown["name"] == "own"

    edited = {**shown["entry"], "command": "false"}
    assert (await send(yard, "PUT", "/api/v1/servers/own", edited)).status == 200
    copy = {"name": "copy", "entry": shown["entry"], "like": "own"}
    assert (await send(yard, "POST", "/api/v1/servers", copy)).status == 201
    servers = json.loads((yard.home / "servers.json").read_text())["mcpServers"]
    assert servers["own"] == {**own, "command": "false"}
    assert servers["copy"] == own

    alone = await send(yard, "POST", "/api/v1/servers", {**copy, "name": "third", "like": ""})
    assert (alone.status, "no hidden value" in alone.json()["title"]) == (422, True)


async def test_a_removed_server_is_put_back_byte_for_byte(yard: Doors) -> None:
    file = yard.home / "servers.json"
    before = file.read_bytes()
    assert (await send(yard, "DELETE", "/api/v1/servers/one")).status == 200
    restored = await order(yard, "one", "restore")
    assert (restored.status, restored.json()["noticed"]) == (200, True)
    assert file.read_bytes() == before
    assert (await order(yard, "one", "restore")).status == 404


async def test_what_others_wrote_since_survives_an_undo(yard: Doors) -> None:
    await send(yard, "DELETE", "/api/v1/servers/one")
    mine = {"name": "mine", "entry": {"command": "true", "disabled": True}}
    await send(yard, "POST", "/api/v1/servers", mine)
    assert (await order(yard, "one", "restore")).status == 200
    assert await names(yard) == {"one", "two", "mine"}

    await send(yard, "DELETE", "/api/v1/servers/one")
    await send(yard, "POST", "/api/v1/servers", {**mine, "name": "one"})
    assert (await order(yard, "one", "restore")).status == 409


async def test_a_server_keeps_its_executor_unless_told_otherwise(yard: Doors) -> None:
    async def change(**entry: Any) -> Any:
        changed = await send(yard, "PUT", "/api/v1/servers/far", {"command": "true", **entry})
        assert (changed.status, changed.json()["noticed"]) == (200, True), changed.json()
        return json.loads((yard.home / "servers.json").read_text())["mcpServers"]["far"]

    new = {"name": "far", "entry": {"command": "sh", "executor": "box", "title": "Far"}}
    assert (await send(yard, "POST", "/api/v1/servers", new)).status == 201

    assert await change() == {"command": "true", "executor": "box", "title": "Far"}
    placed = {"name": "engine", "image": "mcp/time"}
    assert (await change(executor=placed))["executor"] == placed
    assert await change(executor=None, title=None) == {"command": "true"}


@pytest.mark.parametrize("key", ["type", "transport"])
@pytest.mark.parametrize(
    ("spelled", "kind"), [("streamableHttp", "http"), ("remote", "http"), ("sse", "sse")]
)
async def test_a_server_is_added_in_any_spelling_of_its_transport(
    yard: Doors, key: str, spelled: str, kind: str
) -> None:
    new = {"name": "web", "entry": {key: spelled, "url": "http://127.0.0.1:9/mcp"}}
    added = await send(yard, "POST", "/api/v1/servers", new)
    assert (added.status, added.json()["noticed"]) == (201, True)
    row = (await send(yard, "GET", "/api/v1/servers/web")).json()
    assert row["transport"] == kind


GOOD: list[Any] = [
    {"transport": "local", "command": ["c", 1], "environment": {"X-Y": True}},
    {"httpUrl": "HTTP://h/mcp", "url": "ftp://old", "command": None},
    {"type": "", "command": "", "serverUrl": " ${BASE}/mcp ", "headers": {"X": 1}},
]
BAD: list[tuple[Any, str]] = [
    ({}, "command"),
    ({"command": "c", "url": "http://h"}, "type"),
    ({"transport": "ws", "url": "http://h"}, "transport"),
    ({"type": "http", "command": "c"}, "url"),
    ({"url": "http://[::1/mcp"}, "url"),
    ({"url": "http://h", "headers": {"a b": "c"}}, "headers"),
    ({"command": "c", "env": {"A=B": "c"}}, "env"),
    ({"command": "c", "args": [None]}, "args"),
    ({"command": "c", "evn": {}}, "evn"),
    ([], ""),
]


async def test_every_door_of_the_api_says_the_same_of_an_endpoint(yard: Doors) -> None:
    async def answers(said: Any) -> list[Answer]:
        new = said | {"disabled": True} if isinstance(said, dict) else said
        listed = {"enabled": False, "servers": {"web": said}}
        added = await send(yard, "POST", "/api/v1/servers", {"name": "web", "entry": new})
        if added.status == 201:
            # An agent's list may have had the name first, and keeps it.
            alias = added.json()["alias"]
            assert (await send(yard, "DELETE", f"/api/v1/servers/{alias}")).status == 200
        return [
            added,
            await send(yard, "PUT", "/api/v1/servers/two", new),
            await send(yard, "PUT", "/api/v1/agents/codex/config", listed),
            await send(yard, "POST", "/api/mcp-config?agent=cursor", listed),
        ]

    for said in GOOD:
        assert [answer.status for answer in await answers(said)] == [201, 200, 200, 200], said
    for said, field in BAD:
        refused = await answers(said)
        assert [answer.status for answer in refused] == [422, 422, 422, 400], said
        faults = [answer.json()["errors"][0] for answer in refused]
        assert {fault["field"] for fault in faults} == {field}
        assert len({(fault["text"], bool(fault["hint"])) for fault in faults}) == 1, faults


async def test_how_a_server_is_started_is_told_without_passwords(yard: Doors) -> None:
    words = ["--token", "t1", "mysql://me:pw@h/x", "plain-word-2026-11-16"]
    for name, said in {
        "cmd": {"command": "true", "args": words},
        "web": {"url": "http://me:pw@127.0.0.1:9/mcp?api_key=q1&a=1"},
    }.items():
        await send(yard, "POST", "/api/v1/servers", {"name": name, "entry": said})

    command = (await send(yard, "GET", "/api/v1/servers/cmd")).json()["launch"]["command"]
    assert command[1:] == ["--token", "[secret]", "mysql://me:[secret]@h/x", words[-1]]
    url = (await send(yard, "GET", "/api/v1/servers/web")).json()["launch"]["url"]
    assert url == "http://me:[secret]@127.0.0.1:9/mcp?api_key=[secret]&a=1"


async def test_a_server_is_switched_off_and_on(yard: Doors) -> None:
    assert (await order(yard, "two", "disable")).json()["noticed"]
    assert not (await send(yard, "GET", "/api/v1/servers/two")).json()["enabled"]
    assert not any(tool.startswith("two__") for tool in await Agent(yard).tools())
    assert (await order(yard, "two", "enable")).json()["noticed"]

    async def is_back() -> bool:
        return "two__echo" in await Agent(yard).tools()

    await yard.until(is_back)


async def test_a_server_is_started_rested_and_restarted(yard: Doors) -> None:
    first = (await order(yard, "two", "activate")).json()
    assert (first["status"], first["offers"]["tools"]) == ("ready", ["echo", "tool_0", "tool_1"])
    second = (await order(yard, "two", "restart")).json()
    assert second["status"] == "ready"
    assert 0 != second["pid"] != first["pid"]
    assert (await order(yard, "two", "deactivate")).status == 200

    async def rests() -> bool:
        return (await send(yard, "GET", "/api/v1/servers/two")).json()["status"] == "idle"

    await yard.until(rests)


async def test_secrets_of_a_server_are_not_shown(home: Path) -> None:
    servers = {"web": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "hush"}}}
    servers["cli"] = {"command": "true", "env": {"KEY": "hush"}, "disabled": True}  # type: ignore[dict-item]
    async with open_doors(home, servers) as doors:
        web = await send(doors, "GET", "/api/v1/servers/web")
        cli = await send(doors, "GET", "/api/v1/servers/cli")
        assert web.json()["launch"]["headers"] == ["Authorization"]
        assert cli.json()["launch"]["env"] == ["KEY"]
        assert b"hush" not in web.body + cli.body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "../x", "entry": {"command": "true"}}, 422),
        ({"name": "x", "entry": {}}, 422),
        ({"name": "x", "entry": {"command": "true", "url": "http://x"}}, 422),
        ({"name": "x", "entry": {"command": 1}}, 422),
        ({"name": "x", "entry": {"command": "true", "comand": "x"}}, 422),
        ({"name": "x"}, 422),
        ([], 422),
    ],
)
async def test_a_server_that_cannot_be_used_is_not_written(
    yard: Doors, body: Any, status: int
) -> None:
    before = (yard.home / "servers.json").read_text()
    answer = await send(yard, "POST", "/api/v1/servers", body)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert (yard.home / "servers.json").read_text() == before


async def test_what_others_declare_is_not_ours_to_change(home: Path) -> None:
    async with open_doors(home, "{}") as doors:
        await doors.settled()
        listed = (await send(doors, "GET", "/api/v1/servers")).json()["servers"]
        (bundled,) = [each["alias"] for each in listed if each["source"] == "bundled"]
        answer = await send(doors, "DELETE", f"/api/v1/servers/{bundled}")
        assert answer.status == 409
        assert "'bundled' declares it" in answer.json()["title"]


async def test_unknown_servers_are_answered_with_those_there_are(yard: Doors) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/restart"), ("POST", "/enable")):
        answer = await send(yard, method, f"/api/v1/servers/onne{path}")
        assert answer.status == 404
        assert "one" in answer.json()["hint"]


# Revisions.


async def test_the_revision_is_the_etag_and_guards_changes(yard: Doors) -> None:
    seen = await send(yard, "GET", "/api/v1/servers")
    tag = seen.headers["etag"]
    assert tag == f'"{seen.json()["revision"]}"'
    assert (await order(yard, "two", "disable", If_Match=tag)).status == 200
    refused = await order(yard, "two", "enable", If_Match=tag)
    assert refused.status == 412
    assert "the picture has changed" in refused.json()["title"]
    assert not (await send(yard, "GET", "/api/v1/servers/two")).json()["enabled"]
    now = (await send(yard, "GET", "/api/v1/status")).headers["etag"]
    assert now != tag
    assert (await order(yard, "two", "enable", If_Match=f'"0", {now}')).status == 200
    assert (await order(yard, "two", "enable", If_Match="*")).status == 200


@pytest.mark.parametrize("tag", ['"0"', "nonsense", 'W/"999999"'])
async def test_a_profile_is_not_written_over_what_was_not_seen(yard: Doors, tag: str) -> None:
    answer = await send(yard, "PUT", "/api/v1/profiles/x", {}, If_Match=tag)
    assert answer.status == 412
    assert (await send(yard, "GET", "/api/v1/profiles/x")).status == 404


async def test_wrong_input_is_wrong_whatever_was_seen(yard: Doors) -> None:
    one, old = "/api/v1/servers/one", '"0"'
    wrong, right = {"command": "x", "headers": "none"}, {"command": "x"}
    assert (await send(yard, "PUT", one, wrong, If_Match=old)).status == 422
    assert (await send(yard, "PUT", one, right, If_Match=old)).status == 412
    for described, status in ((wrong, 422), (right, 412)):
        new = {"name": "new", "entry": described}
        assert (await send(yard, "POST", "/api/v1/servers", new, If_Match=old)).status == status
    assert (await send(yard, "GET", "/api/v1/servers/new")).status == 404


# Events.


async def picture(raw: Raw) -> dict[str, Any]:
    """The next picture of the stream."""
    return await raw.event()


async def test_every_new_picture_is_told(yard: Doors) -> None:
    async with yard.connected() as raw:
        await raw.send(yard.request("GET", "/api/v1/events"))
        status, head = await raw.head()
        assert (status, head["content-type"].split(";")[0]) == (200, "text/event-stream")
        first = await picture(raw)
        assert set(first["servers"]) == {"one", "two"}
        await put_profile(yard, "mine")
        while (now := await picture(raw))["profiles"] != ["mine"]:
            pass
        assert now["revision"] > first["revision"]


async def test_a_stream_goes_on_after_what_was_seen_last(yard: Doors) -> None:
    now = (await send(yard, "GET", "/api/v1/servers")).json()["revision"]
    async with yard.connected() as raw:
        head = {"Last-Event-ID": str(now)}
        await raw.send(yard.request("GET", "/api/v1/events", headers=head))
        await raw.head()
        await put_profile(yard, "mine")
        assert (await picture(raw))["revision"] > now


async def test_who_comes_is_told_before_its_first_call(yard: Doors) -> None:
    async with yard.connected() as raw:
        await raw.send(yard.request("GET", "/api/v1/events"))
        await raw.head()
        await picture(raw)
        assert (await yard.post(call("initialize", INITIALIZE))).status == 200
        while "sessions" not in (said := await raw.event()):
            pass
        assert said == {"sessions": 1}


async def test_an_open_stream_does_not_hold_up_the_end_of_the_hub(home: Path) -> None:
    async with open_yard(home) as doors, doors.connected() as raw, doors.connected() as log:
        await raw.send(doors.request("GET", "/api/v1/events"))
        await log.send(doors.request("GET", "/api/v1/servers/one/log?follow=1"))
        await raw.head()
        await send(doors, "POST", "/api/v1/stop")
        await raw.rest()


async def test_the_head_of_a_stream_is_no_stream(yard: Doors) -> None:
    answer = await yard.ask("HEAD", "/api/v1/events")
    assert answer.status == 200


# Saved inputs.


async def test_inputs_are_saved_used_and_deleted(yard: Doors) -> None:
    path = "/api/v1/tools/one/echo/inputs"
    saved = {"name": "greeting", "arguments": {"text": "hello"}}
    assert (await send(yard, "PUT", path, saved)).status == 200
    assert (await send(yard, "GET", path)).json()["inputs"] == [saved]
    call = {"server": "one", "tool": "echo", "input": "greeting"}
    said = (await send(yard, "POST", "/api/v1/call", call)).json()
    assert said["content"][0]["text"] == "hello"
    over = {**call, "arguments": {"text": "mine"}}
    assert (await send(yard, "POST", "/api/v1/call", over)).json()["content"][0]["text"] == "mine"
    assert (yard.home / "state" / "inputs.json").stat().st_mode & 0o777 == 0o600
    assert (await send(yard, "DELETE", f"{path}?name=other")).status == 404
    assert (await send(yard, "DELETE", f"{path}?name=greeting")).status == 200
    assert (await send(yard, "GET", path)).json()["inputs"] == []
    assert (await send(yard, "POST", "/api/v1/call", call)).status == 404


# Reading.


async def test_settings_say_where_they_come_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLYARD_PAGE_SIZE", "77")
    async with open_doors(home, page_size=77, call_timeout=9.0) as doors:
        listed = (await send(doors, "GET", "/api/v1/settings")).json()["settings"]
        found = {each["name"]: (each["value"], each["origin"]) for each in listed}
        assert found["page_size"] == (77, "environment")
        assert found["call_timeout"] == (9.0, "flag")
        assert found["expose"] == ("all", "default")
        assert found["token"][0] is None


async def test_problems_apps_and_announced_can_be_read(yard: Doors) -> None:
    (yard.home / "profiles").mkdir()
    (yard.home / "profiles" / "x.json").write_text("[]")

    async def is_told() -> bool:
        problems = (await send(yard, "GET", "/api/v1/problems")).json()["problems"]
        return "profile-file" in {each["code"] for each in problems}

    await yard.until(is_told)
    assert (await send(yard, "GET", "/api/v1/announced")).json()["servers"] == []
    apps = (await send(yard, "GET", "/api/v1/apps")).json()["apps"]
    for app in apps:
        one = await send(yard, "GET", f"/api/v1/apps/{app['name']}")
        assert one.json()["title"] == app["title"]
    assert (await send(yard, "POST", "/api/v1/apps/nothing/scan")).status == 404


async def test_other_methods_are_told_which_there_are(yard: Doors) -> None:
    answer = await send(yard, "PATCH", "/api/v1/profiles/x")
    assert answer.status == 405
    assert {way.strip() for way in answer.headers["allow"].split(",")} == {
        *("GET", "HEAD", "PUT", "DELETE")
    }


async def test_the_file_that_was_written_is_one_people_can_read(yard: Doors) -> None:
    await put_profile(yard, "mine", allow=["one"])
    text = (yard.home / "profiles" / "mine.json").read_text()
    assert json.loads(text) == {"allow": ["one"]}
    assert text.startswith("{\n")


async def test_a_call_that_the_server_refuses_says_so(yard: Doors) -> None:
    new = {"name": "odd", "entry": entry("odd", "--only", "error")}
    assert (await send(yard, "POST", "/api/v1/servers", new)).status == 201

    answer = await send(yard, "POST", "/api/v1/call", {"server": "odd", "tool": "error"})

    assert answer.status == 502
    assert "'odd' refused the call" in answer.json()["title"]
