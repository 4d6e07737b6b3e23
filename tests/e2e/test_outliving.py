"""`toolyard mcp` outlives the hub: its client notices a changed list, and nothing else."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.entries import Background, EntryTalk, attached, background, until
from tests.e2e.hub import entry, stdio_stub
from tests.e2e.talk import ACKNOWLEDGED, Json, text_of

LISTS = [f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")]
GATED = Path(__file__).with_name("gated.py")
DYING = Path(__file__).with_name("dying_hub.py")
NOTE = "note://stub/counter"


def stub(home: Path) -> dict[str, Any]:
    return {"stub": stdio_stub("stub", home, "--era", "legacy")}


@pytest.fixture(scope="module")
def yard() -> Iterator[Background]:
    """One home for all: whatever a test does to the hub, the next client starts another."""
    with background(stub) as yard:
        yield yard


async def hears_of_lists(talk: EntryTalk) -> None:
    for method in LISTS:
        await talk.wait_heard(method)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_client_works_on_after_the_hub_was_ended(
    yard: Background, number: signal.Signals
) -> None:
    async with attached(yard) as one, attached(yard) as two:
        before = await yard.kill(number)
        if number == signal.SIGKILL:
            # What is dying may still take a call. A second hub says that the first is gone: it
            # has the lock, which the kernel takes from a process with all its connections.
            await until(lambda: yard.state is not None and yard.state.pid != before)

        for talk in (one, two):
            assert text_of(await talk.call("stub__echo", {"text": "still here"})) == "still here"
            await hears_of_lists(talk)

        assert yard.pid != before


async def test_what_was_under_way_is_answered_once_with_an_error(yard: Background) -> None:
    async with attached(yard) as talk:
        before = len(yard.events("stub", "waiting"))
        waiting = [
            talk.group.create_task(talk.request("tools/call", {"name": "stub__cancellable"}))
            for _ in range(20)
        ]
        await until(lambda: len(yard.events("stub", "waiting")) == before + 20)

        await yard.kill()

        for answer in await asyncio.gather(*waiting):
            assert "whether it was carried out is not known" in answer["error"]["message"]
        assert talk.waiting == {}
        assert text_of(await talk.call("stub__echo", {"text": "on"})) == "on"


async def test_lists_that_were_under_way_are_asked_again(yard: Background) -> None:
    async with attached(yard) as talk:
        waiting = [talk.group.create_task(talk.result("tools/list")) for _ in range(50)]
        await yard.kill()

        for listed in await asyncio.gather(*waiting):
            assert "stub__echo" in [tool["name"] for tool in listed["tools"]]


async def test_the_next_hub_knows_what_the_client_told_the_one_before(yard: Background) -> None:
    async with attached(yard) as talk:
        await talk.result("resources/subscribe", {"uri": NOTE})
        await talk.result("logging/setLevel", {"level": "error"})
        before = len(yard.events("stub", "subscribe"))
        await yard.kill()
        await until(lambda: len(yard.events("stub", "subscribe")) > before)

        assert "Ada" in text_of(await talk.call("stub__ask"))  # it knows what the client can do
        await talk.call("stub__touch", {"uri": NOTE})
        assert await talk.wait_heard("notifications/resources/updated") == [{"uri": NOTE}]
        await talk.call("stub__log", {"level": "info"})
        assert not [said for said in talk.heard if said["method"] == "notifications/message"]


async def test_a_modern_client_listens_on(yard: Background) -> None:
    async with attached(yard, "modern") as talk:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [NOTE]}
        message = talk.message("subscriptions/listen", {"notifications": wanted})
        listening = talk.group.create_task(talk.exchange(message))
        await talk.wait_heard(ACKNOWLEDGED)

        killed = await yard.kill()
        before = len(yard.events("stub", "subscribe"))
        await until(lambda: yard.state is not None and yard.state.pid != killed)
        changed = (await talk.wait_heard(LISTS[0]))[-1]
        assert changed["_meta"]["io.modelcontextprotocol/subscriptionId"] == message["id"]
        await until(lambda: len(yard.events("stub", "subscribe")) > before)
        await talk.call("stub__touch", {"uri": NOTE})
        await talk.wait_heard("notifications/resources/updated")

        heard = [said["method"] for said in talk.heard]
        assert heard.count(ACKNOWLEDGED) == 1
        assert not set(heard) & set(LISTS[1:])
        await talk.cancel(message["id"], listening)


async def test_an_answer_to_the_question_of_a_hub_that_ended_goes_nowhere(
    yard: Background,
) -> None:
    async with attached(yard, answers={"elicitation/create": {"action": "decline"}}) as talk:
        held: list[Json] = []
        reply = talk.say

        async def keep(message: Json) -> None:
            if "result" in message:
                held.append(message)
            else:
                await reply(message)

        talk.say = keep  # type: ignore[method-assign]
        asking = talk.group.create_task(talk.request("tools/call", {"name": "stub__ask"}))
        await until(lambda: held)
        await yard.kill()
        assert "error" in await asking
        assert await talk.wait_heard("notifications/cancelled")
        await hears_of_lists(talk)

        (late,) = held
        talk.answers = {"elicitation/create": {"action": "accept", "content": {"name": "Bob"}}}
        asking = talk.group.create_task(talk.request("tools/call", {"name": "stub__ask"}))
        await until(lambda: len(held) == 2)
        assert held[1]["id"] != late["id"]
        await reply(late)
        await reply(held[1])

        assert "Bob" in text_of((await asking)["result"])


async def test_nothing_is_given_to_a_hub_that_is_dying(yard: Background) -> None:
    yard.run("down")
    got = yard.home / "got.txt"
    dying = await asyncio.create_subprocess_exec(
        *(sys.executable, str(DYING), str(yard.home / "run" / "hub.sock"), str(got)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert dying.stdout
    await dying.stdout.readline()

    async with attached(yard) as talk:
        await hears_of_lists(talk)
        assert text_of(await talk.call("stub__echo", {"text": "by the next"})) == "by the next"

    assert await dying.wait() == 0
    assert got.read_text() == ""


async def test_a_hub_that_was_stopped_stays_so_until_it_is_needed(yard: Background) -> None:
    async with attached(yard) as talk:
        yard.run("down")
        assert await talk.result("ping") == {}
        await talk.notify("notifications/roots/list_changed")
        assert yard.state is None

        assert text_of(await talk.call("stub__echo", {"text": "again"})) == "again"
        assert yard.state is not None


async def test_a_hub_that_is_started_again_is_found_by_idle_clients(yard: Background) -> None:
    async with attached(yard) as talk:
        yard.run("down")
        yard.run("up", "--detach")
        await hears_of_lists(talk)


async def test_a_hub_that_cannot_be_started_is_an_answer_and_not_the_end(yard: Background) -> None:
    async with attached(yard) as talk:
        yard.run("down")
        with socket.create_server(("127.0.0.1", int(yard.env["TOOLYARD_PORT"]))):
            fault = await talk.fault("tools/list")
        assert "there is no hub" in fault["message"]
        assert "is in use" in fault["message"]

        yard.run("up", "--detach")
        await hears_of_lists(talk)
        assert (await talk.result("tools/list"))["tools"]


async def test_a_restart_with_1000_calls_under_way_answers_every_one_of_them() -> None:
    def gates(home: Path) -> dict[str, Any]:
        places = [home / f"gate{n}" for n in range(4)]
        for place in places:
            place.mkdir()
        return {p.name: entry([sys.executable, str(GATED), str(p)]) for p in places}

    with background(gates) as yard:
        places = [yard.home / f"gate{n}" for n in range(4)]
        async with AsyncExitStack() as stack:
            talks = [await stack.enter_async_context(attached(yard)) for _ in range(5)]
            before = yard.pid
            calls = [
                talk.group.create_task(talk.request("tools/call", {"name": f"{place.name}__wait"}))
                for talk in talks
                for place in places
                for _ in range(50)
            ]
            await until(lambda: sum(int((p / "waiting").read_text()) for p in places) == 1000)

            restart = talks[0].group.create_task(asyncio.to_thread(yard.run, "restart"))
            await until(lambda: not (yard.home / "run" / "hub.sock").exists())
            late = [talk.group.create_task(talk.result("tools/list")) for talk in talks]
            for place in places:
                (place / "open").touch()

            for answer in await asyncio.gather(*calls):
                assert "result" in answer, answer
            for listed in await asyncio.gather(*late):
                assert len([t for t in listed["tools"] if t["name"].startswith("gate")]) == 4
            await restart
            assert yard.pid != before
            for talk in talks:
                await hears_of_lists(talk)
                assert talk.process.returncode is None
                assert talk.waiting == {}
