"""Clients that go away in a call: their work stops at the server, and nobody else's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Doors, Json, call, mirrored, modern
from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub
from tests.e2e.talk import talking, text_of
from tests.fixtures.stub_run import running_http_stub

FEW = ("--tools-only", "--only", "echo,sleep,cancellable,progress")
SERVERS = ("old", "new", "oldweb", "newweb")
CALL: Json = {"arguments": {"ms": 20_000}}


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """A hub in front of a server of every kind."""
    with new_home() as home:

        def web(name: str, era: str) -> Any:
            record = ("--record", str(home / f"{name}.jsonl"))
            return running_http_stub("--name", name, "--era", era, *record, *FEW)

        with web("oldweb", "legacy") as old, web("newweb", "modern") as new:
            servers: Json = {"oldweb": {"url": old}, "newweb": {"url": new}}
            servers["old"] = stdio_stub("old", home, "--era", "legacy", *FEW)
            servers["new"] = stdio_stub("new", home, "--era", "modern", *FEW)
            with running_hub(servers, home=home) as running:
                yield running


@pytest.fixture
def doors(hub: RunningHub) -> Doors:
    """Its HTTP door, for raw clients."""
    return Doors(int(hub.url.rsplit(":", 1)[1]), hub.home)


async def started(hub: RunningHub, server: str, count: int) -> None:
    """Wait until one more call has reached the server."""
    await hub.happened(server, "waiting", count)


async def stopped(hub: RunningHub, server: str, count: int) -> None:
    """Wait until the server has heard that the call is off."""
    await hub.happened(server, "cancelled", count)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_modern_client_that_hangs_up_stops_its_call(
    hub: RunningHub, doors: Doors, server: str
) -> None:
    before = len(hub.events(server, "waiting"))
    gone = len(hub.events(server, "cancelled"))
    message = modern("tools/call", {"name": f"{server}__cancellable", **CALL})
    async with doors.connected() as raw:
        body = json.dumps(message).encode()
        await raw.send(doors.request("POST", "/mcp", body, mirrored(message)))
        await started(hub, server, before + 1)
    await stopped(hub, server, gone + 1)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_legacy_client_that_vanishes_stops_all_its_calls(
    hub: RunningHub, doors: Doors, server: str
) -> None:
    before, gone = len(hub.events(server, "waiting")), len(hub.events(server, "cancelled"))
    session = await doors.initialize()
    message = call("tools/call", {"name": f"{server}__cancellable", **CALL})
    async with doors.connected() as stream, doors.connected() as one, doors.connected() as two:
        listen = {"Accept": "text/event-stream", **session}
        await stream.send(doors.request("GET", "/mcp", headers=listen))
        assert (await stream.head())[0] == 200
        for number, raw in enumerate((one, two)):
            body = json.dumps({**message, "id": number}).encode()
            await raw.send(doors.request("POST", "/mcp", body, session))
        await started(hub, server, before + 2)
    await stopped(hub, server, gone + 2)


async def test_a_legacy_client_that_loses_one_connection_keeps_its_call(
    hub: RunningHub, doors: Doors
) -> None:
    gone = len(hub.events("old", "cancelled"))
    before = len(hub.events("old", "waiting"))
    session = await doors.initialize()
    message = call("tools/call", {"name": "old__cancellable", "arguments": {"ms": 20_000}}, 7)
    async with doors.connected() as stream:
        listen = {"Accept": "text/event-stream", **session}
        await stream.send(doors.request("GET", "/mcp", headers=listen))
        assert (await stream.head())[0] == 200
        async with doors.connected() as raw:
            body = json.dumps(message).encode()
            await raw.send(doors.request("POST", "/mcp", body, session))
            await started(hub, "old", before + 1)
        assert (await doors.post(call("ping"), session)).status == 200
        assert len(hub.events("old", "cancelled")) == gone
        # It can still be taken back by name.
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        await doors.post({**notice, "params": {"requestId": 7}}, session)
        await stopped(hub, "old", gone + 1)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_client_on_the_line_that_vanishes_stops_its_calls(
    hub: RunningHub, server: str
) -> None:
    before, gone = len(hub.events(server, "waiting")), len(hub.events(server, "cancelled"))
    _, writer = await asyncio.open_unix_connection(hub.socket)
    for message in (
        call("initialize", {}, "init"),
        call("tools/call", {"name": f"{server}__cancellable", **CALL}, 0),
        {**modern("tools/call", {"name": f"{server}__cancellable", **CALL}), "id": 1},
    ):
        writer.write(json.dumps(message).encode() + b"\n")
    await started(hub, server, before + 2)
    writer.close()
    await writer.wait_closed()
    await stopped(hub, server, gone + 2)


async def test_the_call_of_another_client_with_the_same_id_goes_on(hub: RunningHub) -> None:
    before, gone = len(hub.events("old", "waiting")), len(hub.events("old", "cancelled"))
    async with talking(hub) as stays:
        reader, writer = await asyncio.open_unix_connection(hub.socket)
        first = call("initialize", {}, 1)
        second = call("tools/call", {"name": "old__cancellable", "arguments": {"ms": 20_000}}, 99)
        writer.write(json.dumps(first).encode() + b"\n" + json.dumps(second).encode() + b"\n")
        await reader.readline()
        staying = stays.group.create_task(
            stays.result(
                "tools/call", {"name": "old__cancellable", "arguments": {"ms": 700}}, number=99
            )
        )
        await started(hub, "old", before + 2)
        writer.close()
        await writer.wait_closed()
        await stopped(hub, "old", gone + 1)
        assert text_of(await staying) == "nobody cancelled this"
    assert len(hub.events("old", "cancelled")) == gone + 1


async def test_an_answer_that_comes_too_late_is_dropped(home: Path) -> None:
    servers = {"late": stdio_stub("late", home, *FEW)}
    with running_hub(servers, env={"TOOLYARD_CALL_TIMEOUT": "0.3"}) as hub:
        async with talking(hub) as client:
            slow = {"name": "late__sleep", "arguments": {"ms": 400}}
            async with asyncio.TaskGroup() as group:
                faults = [group.create_task(client.fault("tools/call", slow)) for _ in range(20)]
            assert all("did not answer" in task.result()["message"] for task in faults)
            # The late answers, if the server sends them, would come now; each reaches nobody.
            for number in range(30):
                said = await client.call("late__echo", {"text": str(number)})
                assert text_of(said) == str(number)
