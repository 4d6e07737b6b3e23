"""Hubs that share a key and a database: what a session is at one, it is at the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Doors, Raw, call, open_doors
from tests.fixtures.postgres import SharedYard
from tests.fixtures.stub_run import stub_command
from toolyard.app.fleet import announced_address
from toolyard.app.listening import bind_all
from toolyard.core.errors import ConfigError
from toolyard.relay.session_notes import NO_NOTE, SessionNote
from toolyard.relay.shared_notes import merged
from toolyard.settings import read_settings

KEY = "fake-key-for-these-tests-alone-0123456789"
URI, OTHER = "note://old/counter", "note://old/readme"
Headers = dict[str, str]


@asynccontextmanager
async def two_hubs(home: Path, yard: SharedYard) -> AsyncIterator[tuple[Doors, Doors]]:
    """Hubs called `a` and `b` in front of a stub, each with a home of its own."""
    command, *args = stub_command("--name", "old", "--era", "legacy")
    entry = {"command": command, "args": args}
    shared = {**yard.settings, "key": (KEY,)}
    for name in ("a", "b"):
        (home / name).mkdir()
    async with (
        open_doors(home / "a", replica="a", **shared) as one,
        open_doors(home / "b", replica="b", **shared) as other,
    ):
        body = json.dumps({"name": "old", "entry": entry}).encode()
        assert (await one.ask("POST", "/api/v1/servers", body)).status < 300

        for hub in (one, other):

            async def has_tool(hub: Doors = hub) -> bool:
                return "old__log" in await hub.tools()

            await hub.until(has_tool, 60)
        yield one, other


async def ask(hub: Doors, session: Headers, method: str, **params: Any) -> Any:
    """Send a request that must succeed, without a stream; its result."""
    answer = await hub.post(call(method, params), {**session, "Accept": "application/json"})
    assert answer.status == 200, answer
    return answer.json()["result"]


async def run(hub: Doors, session: Headers, tool: str, **arguments: Any) -> bytes:
    """Call a tool; all that is said before its result, and that."""
    message = call("tools/call", {"name": f"old__{tool}", "arguments": arguments})
    return (await hub.post(message, {**session, "Accept": "text/event-stream"})).body


async def test_a_session_that_was_ended_at_one_hub_is_over_at_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        used, unused = await a.initialize(), await a.initialize()
        assert (await b.post(call("ping"), used)).status == 200
        for session in (used, unused):
            assert (await a.ask("DELETE", "/mcp", headers=session)).status == 200
        for session in (used, unused):

            async def is_over(session: Headers = session) -> bool:
                return (await b.post(call("ping"), session)).status == 404

            await b.until(is_over, 60)


async def test_a_log_level_set_at_one_hub_holds_at_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        session = await a.initialize()
        await ask(b, session, "ping")
        await ask(a, session, "logging/setLevel", level="error")

        async def is_quiet() -> bool:
            return b"notifications/message" not in await run(b, session, "log", level="info")

        await b.until(is_quiet, 60)
        assert b"notifications/message" in await run(b, session, "log", level="error")


async def test_what_was_wished_at_one_hub_is_known_when_the_session_comes_to_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):

        async def is_noted() -> bool:
            session = await a.initialize()
            await ask(a, session, "logging/setLevel", level="error")
            # It is written at once, but not before the answer.
            return b"notifications/message" not in await run(b, session, "log", level="info")

        await b.until(is_noted, 60)


async def test_the_hub_that_is_listened_to_tells_of_what_is_followed_at_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b), b.connected() as raw:
        session = await a.initialize()
        await listen(b, raw, session)
        for uri in (URI, OTHER):
            await ask(a, session, "resources/subscribe", uri=uri)
        await ask(b, session, "resources/unsubscribe", uri=OTHER)
        async with asyncio.TaskGroup() as group:
            event = group.create_task(raw.event())

            async def is_told() -> bool:
                await run(b, session, "touch", uri=URI)
                return event.done()

            await b.until(is_told, 60)
        assert event.result()["params"] == {"uri": URI}


async def listen(hub: Doors, raw: Raw, session: Headers) -> None:
    headers = {"Accept": "text/event-stream", **session}
    await raw.send(hub.request("GET", "/mcp", headers=headers))
    assert (await raw.head())[0] == 200


async def test_hubs_name_those_that_live(home: Path, shared_yard: SharedYard) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        for hub, own in ((a, "a"), (b, "b")):

            async def rows(hub: Doors = hub) -> Any:
                rows = (await hub.ask("GET", "/api/v1/replicas")).json()["replicas"]
                return rows if len(rows) == 2 else None

            listed = await hub.until(rows, 60)
            assert [(row["id"], row["own"]) for row in listed] == [
                ("a", own == "a"),
                ("b", own == "b"),
            ]
            assert not any(row["draining"] for row in listed)


NOTE = SessionNote("info", ("a://1", "a://2"))


@pytest.mark.parametrize(
    ("before", "wanted", "stored", "expected"),
    [
        (NO_NOTE, NOTE, NO_NOTE, NOTE),
        (NO_NOTE, SessionNote("error"), NOTE, SessionNote("error", NOTE.watched)),
        (
            NO_NOTE,
            SessionNote(None, ("a://3",)),
            NOTE,
            SessionNote("info", (*NOTE.watched, "a://3")),
        ),
        (NOTE, SessionNote("info", ("a://2",)), NOTE, SessionNote("info", ("a://2",))),
        (
            SessionNote("info", ("a://1",)),
            SessionNote("info"),
            NOTE,
            SessionNote("info", ("a://2",)),
        ),
    ],
)
def test_what_a_hub_did_not_change_stays_as_another_has_noted_it(
    before: SessionNote, wanted: SessionNote, stored: SessionNote, expected: SessionNote
) -> None:
    assert merged(before, wanted, stored) == expected


@pytest.mark.parametrize("given", [{}, {"KEY": KEY}, {"DATABASE": "postgresql://nobody@none/none"}])
async def test_a_door_for_peers_needs_a_key_and_a_database(
    home: Path, given: dict[str, str]
) -> None:
    variables = {f"TOOLYARD_{name}": value for name, value in given.items()}
    env = {"TOOLYARD_HOME": str(home), "TOOLYARD_PEER_PORT": "7422", **variables}
    with pytest.raises(ConfigError, match="needs TOOLYARD_KEY and TOOLYARD_DATABASE"):
        bind_all(read_settings({}, env))


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, ""),
        ({"PEER_ADDRESS": "hub-1:7422"}, ""),
        ({"PEER_PORT": "7422"}, "127.0.0.1:7422"),
        ({"PEER_PORT": "7422", "PEER_HOST": "::1"}, "[::1]:7422"),
        ({"PEER_PORT": "7422", "PEER_ADDRESS": "hub-1:80"}, "hub-1:80"),
    ],
)
def test_others_are_told_where_the_door_for_peers_is(
    home: Path, given: dict[str, str], address: str
) -> None:
    variables = {f"TOOLYARD_{name}": value for name, value in given.items()}
    env = {"TOOLYARD_HOME": str(home), **variables}
    assert announced_address(read_settings({}, env)) == address
