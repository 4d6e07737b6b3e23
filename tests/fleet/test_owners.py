"""The process of a server runs at one of several hubs, and serves the clients of all."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.talk import Json, listening, text_of
from tests.fixtures.postgres import PostgresServer, postgres
from tests.fixtures.stub_run import recorded, stub_command
from tests.fleet.fleet import SharedHub, ask, running_shared_fleet, wandering

__all__ = ["postgres"]

UPDATED = "notifications/resources/updated"


def stub(name: str, record: Path, *words: str) -> Json:
    """The entry of a stub that all hubs have."""
    command, *args = stub_command("--name", name, "--record", str(record), *words)
    return {"command": command, "args": args}


@pytest.fixture(scope="module")
def fleet(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[SharedHub]]:
    """Three hubs with the servers `old` and `new`, one of each era."""
    record = tmp_path_factory.mktemp("new") / "new.jsonl"
    more = {"new": stub("new", record, "--era", "modern")}
    with running_shared_fleet(postgres.new_yard(), 3, more) as hubs:
        yield hubs


async def pid_at(hub: SharedHub, era: str = "legacy", server: str = "old") -> int:
    """The process that serves a client at a hub."""
    async with wandering(hub.hub, era) as client:
        return int(json.loads(text_of(await client.call(f"{server}__where")))["pid"])


def is_alive(pid: int) -> bool:
    """Tell whether there is such a process, and not only what is left of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_one_process_serves_the_clients_of_all_hubs(fleet: list[SharedHub]) -> None:
    for server, era in itertools.product(("old", "new"), ("legacy", "modern")):
        assert len({await pid_at(hub, era, server) for hub in fleet}) == 1
    starts = recorded(fleet[0].hub.record("old"), "start")
    assert sum(is_alive(start["pid"]) for start in starts) == 1


async def test_calls_of_many_clients_get_their_own_answers(fleet: list[SharedHub]) -> None:
    async def call(hub: SharedHub, era: str, number: int) -> None:
        async with wandering(hub.hub, era) as client:
            for round_ in range(20):
                text = f"{hub.name} {era} {number} {round_}"
                for server in ("old", "new"):
                    answer = await client.call(f"{server}__echo", {"text": text})
                    assert text_of(answer) == text

    async with asyncio.TaskGroup() as group:
        for hub, era, number in itertools.product(fleet, ("legacy", "modern"), range(3)):
            group.create_task(call(hub, era, number))


async def test_progress_comes_from_a_process_of_another_hub(fleet: list[SharedHub]) -> None:
    for hub, server in itertools.product(fleet, ("old", "new")):
        async with wandering(hub.hub) as client:
            params = {
                "name": f"{server}__progress",
                "arguments": {"n": 3},
                "_meta": {"progressToken": "mine"},
            }
            await client.result("tools/call", params)
            heard = await client.wait_heard("notifications/progress", 3)
            assert {notice["progressToken"] for notice in heard} == {"mine"}


async def test_a_process_of_another_hub_asks_the_client(fleet: list[SharedHub]) -> None:
    for hub, era in itertools.product(fleet, ("legacy", "modern")):
        async with wandering(hub.hub, era) as client:
            answer = json.loads(text_of(await client.call("old__ask")))
            assert answer["content"] == {"name": "Ada"}


async def test_a_call_is_cancelled_at_the_process_of_another_hub(fleet: list[SharedHub]) -> None:
    first = fleet[0].hub
    for hub in fleet:
        async with wandering(hub.hub) as client:
            before = len(first.events("old", "cancelled"))
            started = len(first.events("old", "waiting"))
            message = client.message("tools/call", {"name": "old__cancellable"})
            waiting = client.group.create_task(client.exchange(message))
            await first.happened("old", "waiting", started + 1)
            await client.notify("notifications/cancelled", {"requestId": message["id"]})
            await first.happened("old", "cancelled", before + 1)
            waiting.cancel()


async def test_changes_of_a_list_reach_the_clients_of_all_hubs(fleet: list[SharedHub]) -> None:
    for number, caller in enumerate(fleet):
        async with wandering(caller.hub) as client:
            for server in ("old", "new"):
                await client.call(f"{server}__add_tool", {"name": f"more{number}"})
                for hub in fleet:
                    await until_listed(hub, f"{server}__more{number}")


async def until_listed(hub: SharedHub, name: str, path: str = "") -> None:
    async with asyncio.timeout(60), wandering(hub.hub, path=path) as client:
        while True:
            tools = (await client.result("tools/list"))["tools"]
            if any(tool["name"] == name for tool in tools):
                return
            await asyncio.sleep(0.05)


async def test_a_resource_is_followed_at_the_process_of_another_hub(
    fleet: list[SharedHub],
) -> None:
    """A client that follows no longer does not end it for those of other hubs."""
    for server in ("old", "new"):
        uri = f"note://{server}/counter"
        async with (
            wandering(fleet[0].hub, "modern") as one,
            wandering(fleet[1].hub, "modern") as other,
            wandering(fleet[2].hub, "modern") as third,
            listening(other, resourceSubscriptions=[uri]),
        ):
            async with listening(third, resourceSubscriptions=[uri]):
                await one.call(f"{server}__touch", {"uri": uri})
                await third.wait_heard(UPDATED)
                await other.wait_heard(UPDATED)
            before = sum(message["method"] == UPDATED for message in other.heard)
            await one.call(f"{server}__touch", {"uri": uri})
            await other.wait_heard(UPDATED, before + 1)


async def test_every_hub_says_which_one_runs_a_server(fleet: list[SharedHub]) -> None:
    pid = await pid_at(fleet[0])
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    (owner,) = [hub.name for hub in fleet if str(hub.hub.process.pid) == parent]
    for hub in fleet:
        async with asyncio.timeout(60):
            while ask(hub.hub, "GET", "servers/old")["replica"] != owner:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        rows = ask(hub.hub, "GET", "replicas")["replicas"]
        assert [row["id"] for row in rows if "old@configured" in row["runs"]] == [owner]
        assert f"its process is at the replica {owner}" in hub.hub.run("server", "show", "old")
        assert "runs " in hub.hub.run("status").partition("replicas:")[2]


async def test_a_session_keeps_its_process_at_all_hubs(
    fleet: list[SharedHub], tmp_path: Path
) -> None:
    entry = {**stub("own", tmp_path / "own.jsonl", "--era", "legacy"), "mode": "per_session"}
    listed = {"enabled": True, "servers": {"own": entry}}
    ask(fleet[0].hub, "PUT", "agents/codex/config", listed)
    for hub in fleet:
        await until_listed(hub, "own__counter", "/a/codex")
    async with (
        wandering(fleet[0].hub, path="/a/codex") as one,
        wandering(fleet[1].hub, path="/a/codex") as other,
    ):
        for count, hub in enumerate(itertools.islice(itertools.cycle(fleet), 6), 1):
            one.go(hub.hub)
            assert text_of(await one.call("own__counter")) == str(count)
            answer = json.loads(text_of(await one.call("own__ask")))
            assert answer["content"] == {"name": "Ada"}
        assert text_of(await other.call("own__counter")) == "1"
