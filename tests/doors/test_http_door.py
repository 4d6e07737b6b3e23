"""The MCP door over HTTP: messages that make no sense, sessions, and the modern ladder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import (
    INITIALIZE,
    META,
    MODERN,
    TOKEN,
    Doors,
    Json,
    call,
    mirrored,
    modern,
    open_doors,
)

STREAM = {"Accept": "text/event-stream"}


def nested(depth: int) -> bytes:
    """A request that nests so deep."""
    inside = b"[" * (depth - 2) + b"]" * (depth - 2)
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}' % inside


# What is no message.


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"17", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (nested(65), -32600),
        (b"[" * 100_000, -32700),
    ],
)
async def test_what_is_no_request_gets_the_right_error(
    doors: Doors, body: bytes, code: int
) -> None:
    answer = await doors.post(body, await doors.initialize())
    assert (answer.status, answer.code) == (400, code)


async def test_64_levels_are_deep_enough_for_anybody(doors: Doors) -> None:
    assert (await doors.post(nested(64), await doors.initialize())).json()["result"] == {}


async def test_an_unknown_method_is_named_in_both_eras(doors: Doors) -> None:
    old = await doors.post(call("no/such"), await doors.initialize())
    assert (old.status, old.code) == (200, -32601)
    message = modern("no/such")
    new = await doors.post(message, mirrored(message))
    assert (new.status, new.code) == (404, -32601)
    assert "no/such" in new.json()["error"]["message"]


# Sessions.


async def test_without_a_session_nothing_is_served(doors: Doors) -> None:
    for message in (
        call("ping"),
        call("tools/list"),
        {"jsonrpc": "2.0", "method": "notifications/x"},
    ):
        assert (await doors.post(message)).status == 400
    assert (await doors.ask("GET", "/mcp", headers=STREAM)).status == 400
    assert (await doors.ask("DELETE", "/mcp")).status == 400


async def test_an_unknown_session_is_not_found(doors: Doors) -> None:
    guess = {"Mcp-Session-Id": "guess"}
    assert (await doors.post(call("ping"), guess)).status == 404
    assert (await doors.ask("GET", "/mcp", headers={**STREAM, **guess})).status == 404
    assert (await doors.ask("DELETE", "/mcp", headers=guess)).status == 404


async def test_a_deleted_session_is_over(doors: Doors) -> None:
    session = await doors.initialize()
    assert (await doors.ask("DELETE", "/mcp", headers=session)).status == 200
    assert (await doors.post(call("ping"), session)).status == 404
    assert (await doors.ask("DELETE", "/mcp", headers=session)).status == 404


async def test_session_ids_cannot_be_guessed(doors: Doors) -> None:
    ids = {(await doors.initialize())["Mcp-Session-Id"] for _ in range(50)}
    assert len(ids) == 50
    assert all(len(each) >= 32 for each in ids)


async def test_notifications_and_answers_are_taken_without_a_body(doors: Doors) -> None:
    session = await doors.initialize()
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 7},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}},
    ):
        answer = await doors.post(message, session)
        assert (answer.status, answer.body) == (202, b"")


async def test_a_second_stream_takes_the_place_of_the_first(doors: Doors) -> None:
    session = await doors.initialize()
    listen = doors.request("GET", "/mcp", headers={**STREAM, **session})
    async with doors.connected() as first, doors.connected() as second:
        await first.send(listen)
        status, headers = await first.head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        await second.send(listen)
        assert (await second.head())[0] == 200
        async with asyncio.timeout(60):
            assert [chunk async for chunk in first.chunks()] == []
        assert (await doors.post(call("ping"), session)).status == 200


async def test_a_stream_needs_a_client_that_takes_events(doors: Doors) -> None:
    session = await doors.initialize()
    answer = await doors.ask("GET", "/mcp", headers={**session, "Accept": "application/json"})
    assert answer.status == 406


async def test_a_stream_is_not_resumed_as_if_nothing_had_been_missed(doors: Doors) -> None:
    session = await doors.initialize()
    answer = await doors.ask("GET", "/mcp", headers={**session, **STREAM, "Last-Event-ID": "7"})
    assert (answer.status, answer.code) == (400, -32600)
    assert "Last-Event-ID" in answer.json()["error"]["message"]


async def test_one_session_too_many_ends_the_one_silent_for_longest(home: Path) -> None:
    async with open_doors(home, session_limit=3) as doors:
        first, second, third = [await doors.initialize() for _ in range(3)]
        assert (await doors.post(call("ping"), first)).status == 200
        fourth = await doors.initialize()
        states = [(await doors.post(call("ping"), each)).status for each in (first, second, third)]
        assert states == [200, 404, 200]
        assert (await doors.post(call("ping"), fourth)).status == 200


async def test_sessions_that_listen_are_not_ended_for_new_ones(home: Path) -> None:
    async with open_doors(home, session_limit=1) as doors, doors.connected() as raw:
        session = await doors.initialize()
        await raw.send(doors.request("GET", "/mcp", headers={**STREAM, **session}))
        assert (await raw.head())[0] == 200
        refused = await doors.post(call("initialize", INITIALIZE))
        assert refused.status == 503
        assert "sessions are open" in refused.json()["error"]["message"]
        assert (await doors.post(call("ping"), session)).status == 200


async def test_an_abandoned_session_is_forgotten_and_a_listening_one_is_not(home: Path) -> None:
    # Long enough for a busy machine to begin a session and listen to it.
    async with open_doors(home, session_idle=1.5) as doors, doors.connected() as raw:
        kept = await doors.initialize()
        await raw.send(doors.request("GET", "/mcp", headers={**STREAM, **kept}))
        assert (await raw.head())[0] == 200
        left = await doors.initialize()
        for _ in range(6):
            await asyncio.sleep(2)  # asking keeps a session, so it must be left alone
            gone = (await doors.post(call("ping"), left)).status == 404
            if gone:
                break
        assert gone
        assert (await doors.post(call("ping"), kept)).status == 200


async def test_a_modern_request_needs_no_session_and_has_no_stream(doors: Doors) -> None:
    message = modern("server/discover")
    answer = await doors.post(message, mirrored(message))
    assert answer.json()["result"]["supportedVersions"] == [MODERN]
    assert "mcp-session-id" not in answer.headers
    for method in ("GET", "DELETE"):
        refused = await doors.ask(method, "/mcp", headers={"MCP-Protocol-Version": MODERN})
        assert (refused.status, refused.headers["allow"]) == (405, "POST")


# The modern ladder.

LISTED = modern("tools/list")
CALLED = modern("tools/call", {"name": "toolyard_status", "arguments": {}})
LADDER: list[tuple[str, Json, dict[str, str], int]] = [
    ("no envelope", call("tools/list"), mirrored(LISTED), -32602),
    ("no version", modern("tools/list", protocolVersion=None), mirrored(LISTED), -32602),
    ("no capabilities", modern("tools/list", clientCapabilities=None), mirrored(LISTED), -32602),
    ("version no text", modern("tools/list", protocolVersion=7), mirrored(LISTED), -32602),
    ("meta no object", call("tools/list", {"_meta": 7}), mirrored(LISTED), -32602),
    (
        "versions differ",
        LISTED,
        mirrored(LISTED, **{"MCP-Protocol-Version": "2099-01-01"}),
        -32020,
    ),
    ("methods differ", LISTED, mirrored(LISTED, **{"Mcp-Method": "prompts/list"}), -32020),
    ("methods differ in case", LISTED, mirrored(LISTED, **{"Mcp-Method": "Tools/List"}), -32020),
    ("no method", LISTED, {"MCP-Protocol-Version": MODERN}, -32020),
    ("names differ", CALLED, mirrored(CALLED, **{"Mcp-Name": "toolyard_tools"}), -32020),
    ("no name", CALLED, {**mirrored(LISTED), "Mcp-Method": "tools/call"}, -32020),
    ("method twice", LISTED, mirrored(LISTED, **{"mcp-method": "tools/list"}), -32020),
    ("name twice", CALLED, mirrored(CALLED, **{"mcp-name": "toolyard_status"}), -32020),
    ("version twice", LISTED, mirrored(LISTED, **{"mcp-protocol-version": MODERN}), -32020),
    (
        "a version of the future",
        modern("tools/list", protocolVersion="2099-01-01"),
        mirrored(LISTED, **{"MCP-Protocol-Version": "2099-01-01"}),
        -32022,
    ),
]


@pytest.mark.parametrize(
    ("message", "headers", "code"), [rung[1:] for rung in LADDER], ids=[rung[0] for rung in LADDER]
)
async def test_a_modern_request_that_breaks_a_rule_is_refused(
    doors: Doors, message: Json, headers: dict[str, str], code: int
) -> None:
    answer = await doors.post(message, headers)
    assert (answer.status, answer.code, answer.json()["id"]) == (400, code, 1)


async def test_a_name_that_is_no_text_is_refused_as_an_error_of_the_request(doors: Doors) -> None:
    body = json.dumps(CALLED).encode().replace(b"toolyard_status", b"\xff")
    answer = await doors.post(body, mirrored(CALLED))
    assert (answer.status, answer.code, answer.json()["id"]) == (400, -32602, 1)


async def test_an_unknown_version_is_told_which_there_are(doors: Doors) -> None:
    message = modern("tools/list", protocolVersion="2099-01-01")
    said = await doors.post(message, mirrored(message, **{"MCP-Protocol-Version": "2099-01-01"}))
    assert said.json()["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


async def test_a_modern_request_that_keeps_all_rules_is_served(doors: Doors) -> None:
    for message in (LISTED, CALLED):
        answer = await doors.post(message, mirrored(message))
        assert answer.status == 200
        assert answer.json()["result"]["resultType"] == "complete"


async def test_a_stream_of_changes_begins_with_what_is_honoured(doors: Doors) -> None:
    wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["no://such"]}}
    message: dict[str, Any] = modern("subscriptions/listen", wanted)
    async with doors.connected() as raw:
        body = doors.request("POST", "/mcp", json.dumps(message).encode(), mirrored(message))
        await raw.send(body)
        assert (await raw.head())[0] == 200
        first = await raw.event()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {"toolsListChanged": True}
    assert first["params"]["_meta"] == {META + "subscriptionId": 1}


async def test_the_token_appears_in_no_answer_and_no_file_but_its_own(doors: Doors) -> None:
    seen = [await doors.ask("GET", path) for path in ("/", "/api/v1/status", "/nothing")]
    seen.append(await doors.post(call("ping", {"x": TOKEN[:5]})))
    assert all(TOKEN.encode() not in answer.body for answer in seen)
    kept = [p for p in doors.home.rglob("*") if p.is_file() and TOKEN.encode() in p.read_bytes()]
    assert all(path.name == "token" for path in kept)
