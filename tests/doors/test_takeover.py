"""A session that is not here any more is taken up again where its client left off."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.doors.doors import Doors, Raw, call, open_doors
from tests.fixtures.stub_run import recorded, stub_command

KEY = "fake-key-for-these-tests-alone-0123456789"
STREAM = {"Accept": "text/event-stream"}
URI, OTHER = "note://old/counter", "note://old/readme"
Headers = dict[str, str]


@pytest_asyncio.fixture
async def doors(home: Path) -> AsyncIterator[Doors]:
    """A hub with a key and room for one session: whoever comes takes the place of the last."""
    record = ("--record", str(home / "old.jsonl"), "--record-all")
    command, *args = stub_command("--name", "old", "--era", "legacy", *record)
    servers = {"old": {"command": command, "args": args}}
    async with open_doors(home, servers, key=(KEY,), session_limit=1) as opened:
        await opened.settled()
        yield opened


async def ask(doors: Doors, session: Headers, method: str, **params: Any) -> Any:
    """Send a request that must succeed, without a stream; its result."""
    answer = await doors.post(call(method, params), {**session, "Accept": "application/json"})
    assert answer.status == 200, answer
    return answer.json()["result"]


async def run(doors: Doors, session: Headers, tool: str, **arguments: Any) -> str:
    result = await ask(doors, session, "tools/call", name=f"old__{tool}", arguments=arguments)
    text: str = result["content"][0]["text"]
    return text


async def listen(doors: Doors, raw: Raw, session: Headers) -> None:
    await raw.send(doors.request("GET", "/mcp", headers={**STREAM, **session}))
    assert (await raw.head())[0] == 200


async def test_a_session_comes_back_after_another_took_its_place(doors: Doors) -> None:
    first, second = await doors.initialize(), await doors.initialize()
    for session in (first, second, first):
        assert await run(doors, session, "echo", text="hi") == "hi"


async def test_a_session_that_was_ended_does_not_come_back(doors: Doors) -> None:
    first = await doors.initialize()
    assert (await doors.ask("DELETE", "/mcp", headers=first)).status == 200
    await doors.initialize()
    assert (await doors.post(call("ping"), first)).status == 404


async def test_a_session_can_be_ended_where_it_is_not_known(doors: Doors) -> None:
    first = await doors.initialize()
    await doors.initialize()
    assert (await doors.ask("DELETE", "/mcp", headers=first)).status == 200
    assert (await doors.post(call("ping"), first)).status == 404


async def test_a_session_does_not_come_back_while_there_is_no_room(doors: Doors) -> None:
    first, second = await doors.initialize(), await doors.initialize()
    async with doors.connected() as raw:
        await listen(doors, raw, second)
        refused = await doors.post(call("ping"), first)
        assert (refused.status, refused.json()["id"]) == (503, 1)
        assert "sessions are open" in refused.json()["error"]["message"]


async def test_a_log_level_is_as_it_was(doors: Doors) -> None:
    first = await doors.initialize()
    await ask(doors, first, "logging/setLevel", level="error")
    await ask(doors, await doors.initialize(), "logging/setLevel", level="debug")
    async with doors.connected() as raw:
        for level in ("info", "error"):
            params = {"name": "old__log", "arguments": {"level": level}}
            await raw.send(doors.request("POST", "/mcp", jsoned(call("tools/call", params)), first))
            answer = await raw.answer()
            assert (b"notifications/message" in answer.body) is (level == "error")


async def test_what_was_followed_is_followed_again_and_nothing_else(doors: Doors) -> None:
    first = await doors.initialize()
    for uri in (OTHER, URI):
        await ask(doors, first, "resources/subscribe", uri=uri)
    await ask(doors, first, "resources/unsubscribe", uri=OTHER)
    await doors.initialize()
    async with doors.connected() as raw:
        await listen(doors, raw, first)

        async def is_followed() -> bool:
            return subscriptions(doors).count(URI) == 2

        await doors.until(is_followed)
        assert subscriptions(doors).count(OTHER) == 1
        await run(doors, first, "touch", uri=URI)
        assert (await raw.event())["params"] == {"uri": URI}


def subscriptions(doors: Doors) -> list[str]:
    """The URIs that the server was asked to tell of, so far."""
    messages = [event["message"] for event in recorded(doors.home / "old.jsonl", "message")]
    asked = [message for message in messages if message.get("method") == "resources/subscribe"]
    return [message["params"]["uri"] for message in asked]


async def test_revoking_a_token_ends_its_sessions_for_good(home: Path) -> None:
    async with open_doors(home, key=(KEY,)) as doors:
        token = await new_token(doors)
        bearer = {"Authorization": f"Bearer {token}"}
        opened = await doors.post(call("initialize", {}), bearer)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert (await doors.ask("DELETE", "/api/v1/tokens/ci")).status == 200
        assert (await doors.post(call("ping"), {**bearer, **session})).status == 401
        again = {"Authorization": f"Bearer {await new_token(doors)}"}
        assert (await doors.post(call("ping"), {**again, **session})).status == 404


async def new_token(doors: Doors) -> str:
    made = await doors.ask("POST", "/api/v1/tokens", jsoned({"name": "ci"}))
    token: str = made.json()["token"]
    return token


def jsoned(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("key", ["", KEY])
async def test_the_library_that_seals_is_loaded_with_a_key_alone(home: Path, key: str) -> None:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BUILD),
        env={**os.environ, "TOOLYARD_HOME": str(home), "TOOLYARD_KEY": key},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await program.communicate()
    assert out.decode().strip() == str(bool(key))


BUILD = """
import asyncio, os, sys
from toolyard.app import House
from toolyard.links.patience import Patience
from toolyard.settings import read_settings

async def main():
    House(read_settings({}, os.environ), Patience())

asyncio.run(main())
print("cryptography" in sys.modules)
"""
