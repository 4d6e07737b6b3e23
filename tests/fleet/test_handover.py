"""A hub leaves that runs a process: drained, killed, frozen or cut off from the database."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.talk import Json, text_of
from tests.fixtures.postgres import PostgresServer, SharedYard, postgres, shared_yard
from tests.fixtures.stub_run import recorded
from tests.fleet.fleet import SharedHub, Wanderer, running_shared_fleet, wandering

__all__ = ["postgres", "shared_yard"]

DRAIN_SECONDS = "2"
WHERE: Json = {"name": "old__where", "arguments": {}}


async def pid_of(client: Wanderer) -> int:
    """The process that serves a client."""
    return int(json.loads(text_of(await client.call("old__where")))["pid"])


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    """Tell whether there is such a process, and not only what is left of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def owner_and_others(hubs: list[SharedHub]) -> tuple[SharedHub, list[SharedHub]]:
    """The hub that runs the process, and those that do not."""
    async with wandering(hubs[0].hub) as client:
        parent = parent_of(await pid_of(client))
    owner = next(hub for hub in hubs if hub.hub.process.pid == parent)
    return owner, [hub for hub in hubs if hub is not owner]


class Load:
    """Clients that call all the time, and what went wrong with it."""

    def __init__(self) -> None:
        self.done = 0
        self.faults: list[Json] = []
        self.pids: set[int] = set()
        self.is_over = False

    async def call(self, client: Wanderer, name: str) -> None:
        """Call until it is over."""
        number = 0
        while not self.is_over:
            number += 1
            text = f"{name} {number}"
            params: Json = {"name": "old__echo", "arguments": {"text": text}}
            reply = await client.request("tools/call", params)
            if "result" not in reply:
                self.faults.append(reply)
            else:
                assert text_of(reply["result"]) == text
            reply = await client.request("tools/call", WHERE)
            if "result" in reply:
                self.pids.add(json.loads(text_of(reply["result"]))["pid"])
            else:
                self.faults.append(reply)
            self.done += 2

    async def reach(self, holds: Callable[[], bool], more: int = 0) -> None:
        """Wait until this holds, and then for so many calls more."""
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - other processes tell nobody
                await asyncio.sleep(0.01)
            aim = self.done + more
            while self.done < aim:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@asynccontextmanager
async def loaded(hubs: list[SharedHub]) -> AsyncIterator[Load]:
    """While inside, two clients of each era call at each of these hubs."""
    load = Load()
    async with asyncio.TaskGroup() as group:

        async def come(hub: SharedHub, era: str, number: int) -> None:
            async with wandering(hub.hub, era) as client:
                await load.call(client, f"{hub.name} {era} {number}")

        for hub in hubs:
            for era in ("legacy", "modern"):
                for number in range(2):
                    group.create_task(come(hub, era, number))
        try:
            await load.reach(lambda: load.done > 40)
            yield load
        finally:
            load.is_over = True


async def test_a_drained_hub_hands_its_process_over_and_no_call_is_lost(
    shared_yard: SharedYard,
) -> None:
    with running_shared_fleet(shared_yard, 3, TOOLYARD_DRAIN_DELAY=DRAIN_SECONDS) as hubs:
        owner, others = await owner_and_others(hubs)
        async with loaded(others) as load:
            (before,) = load.pids
            async with wandering(owner.hub) as client:
                owner.hub.process.send_signal(signal.SIGTERM)
                await load.reach(lambda: len(load.pids) == 2, more=40)
                assert not is_alive(before)
                # Its own clients are served until it has left.
                if owner.hub.process.poll() is None:
                    assert await pid_of(client) in load.pids
            assert await asyncio.to_thread(owner.hub.process.wait, 60) == 0
            await load.reach(lambda: True, more=40)
        assert load.faults == []
        assert len(load.pids) == 2


async def test_a_call_under_way_at_a_drained_hub_is_answered(shared_yard: SharedYard) -> None:
    with running_shared_fleet(shared_yard, 2) as hubs:
        owner, (other,) = await owner_and_others(hubs)
        async with wandering(other.hub) as client:
            waiting = client.group.create_task(client.call("old__cancellable", {"ms": 2000}))
            await hubs[0].hub.happened("old", "waiting", 1)
            owner.hub.process.send_signal(signal.SIGTERM)
            assert text_of(await waiting) == "nobody cancelled this"
            assert parent_of(await pid_of(client)) == other.hub.process.pid


async def test_the_process_of_a_hub_that_was_killed_is_started_at_another(
    shared_yard: SharedYard,
) -> None:
    with running_shared_fleet(shared_yard, 3) as hubs:
        owner, others = await owner_and_others(hubs)
        async with wandering(others[0].hub) as client, wandering(others[1].hub) as other:
            before = await pid_of(client)
            # With a call under way at each, both hubs have noticed the loss when these have failed.
            waiting = [
                one.group.create_task(
                    one.fault("tools/call", {"name": "old__cancellable", "arguments": {}})
                )
                for one in (client, other)
            ]
            await hubs[0].hub.happened("old", "waiting", 2)
            owner.hub.process.kill()
            for fault in await asyncio.gather(*waiting):
                assert "may have been carried out; look, then call again" in fault["message"]
            # Whoever calls now waits until the lease has run out, and gets the next process.
            pids = await asyncio.gather(pid_of(client), pid_of(other))
            assert len(set(pids)) == 1
            assert before not in pids
            assert not is_alive(before)
            assert parent_of(pids[0]) in {hub.hub.process.pid for hub in others}


async def test_a_hub_that_was_frozen_gives_up_the_process_that_it_lost(
    shared_yard: SharedYard,
) -> None:
    with running_shared_fleet(shared_yard, 2) as hubs:
        owner, (other,) = await owner_and_others(hubs)
        async with wandering(other.hub) as client:
            before = await pid_of(client)
            waiting = client.group.create_task(
                client.fault("tools/call", {"name": "old__cancellable", "arguments": {}})
            )
            await hubs[0].hub.happened("old", "waiting", 1)
            os.kill(owner.hub.process.pid, signal.SIGSTOP)
            try:
                assert "may have been carried out" in (await waiting)["message"]
                after = await pid_of(client)
                assert parent_of(after) == other.hub.process.pid
            finally:
                os.kill(owner.hub.process.pid, signal.SIGCONT)
            async with asyncio.timeout(60):
                while is_alive(before):  # noqa: ASYNC110 - a process tells nobody
                    await asyncio.sleep(0.05)
            async with wandering(owner.hub) as late:
                assert await pid_of(late) == after


async def test_hubs_serve_on_without_the_database_and_one_process_is_left_when_it_is_back(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> None:
    with running_shared_fleet(postgres.new_yard(), 2) as hubs:
        async with loaded(hubs) as load:
            await asyncio.to_thread(postgres.stop)
            try:
                # Nobody takes calls of another once it cannot be sure to be the owner.
                await load.reach(lambda: len(load.pids) == 2, more=40)
            finally:
                await asyncio.to_thread(postgres.start)
            await load.reach(lambda: len(living(hubs)) == 1, more=40)
        assert load.faults == []


def living(hubs: list[SharedHub]) -> list[int]:
    """The processes of the server that run."""
    starts = recorded(hubs[0].hub.record("old"), "start")
    return [start["pid"] for start in starts if is_alive(start["pid"])]
