"""Questions of a shared server: put to the client whose call raised them, or to nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import make_token
from tests.e2e.talk import Json, Talk, text_of
from tests.instances.storm import crowd
from tests.instances.yard import AGENT, Company, company

ARGUMENTS = {"who": "me", "n": 1}
WINDOWS = 8
ROUNDS = 5
DOORS = [("modern", "http"), ("modern", "line"), ("legacy", "http"), ("legacy", "line")]


def shared(era: str = "legacy") -> Json:
    """A list with one server that all share."""
    return {AGENT: {"crowd": {**crowd(era), "mode": "shared"}}}


class Window:
    """One of many clients that call themselves alike; what it answers tells it from the others."""

    def __init__(self, talk: Talk, mark: str) -> None:
        self.talk = talk
        self.mark = mark
        self.strange: list[Json] = []
        """Questions that were meant for others."""
        talk.reply_to = self.reply  # type: ignore[method-assign]

    def reply(self, question: Json) -> Json:
        """What its person says; a question of another is noted."""
        if self.mark not in json.dumps(question["params"]):
            self.strange.append(question)
        if question["method"] == "sampling/createMessage":
            content = {"type": "text", "text": self.mark}
            return {"role": "assistant", "model": "m", "content": content}
        return {"action": "accept", "content": {"name": self.mark}}

    async def ask(self, kind: str = "elicitation", **more: Any) -> str:
        """Call a tool that asks; what it was told."""
        arguments = {"who": self.mark, "kind": kind, **more}
        return text_of(await self.talk.call("crowd__ask", arguments))


@asynccontextmanager
async def windows(yard: Company, era: str, door: str) -> AsyncIterator[list[Window]]:
    """Windows of one agent: one token, one name, one version."""
    async with AsyncExitStack() as stack:
        talks = [await stack.enter_async_context(yard.client(era, door)) for _ in range(WINDOWS)]
        yield [Window(talk, f"window-{number}") for number, talk in enumerate(talks)]


@pytest.mark.parametrize("kind", ["elicitation", "sampling"])
@pytest.mark.parametrize(("era", "door"), DOORS)
async def test_windows_of_one_agent_are_never_asked_each_other_s_questions(
    home: Path, era: str, door: str, kind: str
) -> None:
    async with company(home, shared()) as yard, windows(yard, era, door) as all_:
        for _ in range(ROUNDS):
            told = await asyncio.gather(*(window.ask(kind) for window in all_))
            for window, said in zip(all_, told, strict=True):
                assert said == "refused" or window.mark in said
        assert [window.strange for window in all_] == [[]] * WINDOWS


@pytest.mark.parametrize(("era", "door"), DOORS)
async def test_a_second_question_and_a_log_line_never_reach_a_client_that_called_meanwhile(
    home: Path, era: str, door: str
) -> None:
    async with (
        company(home, shared()) as yard,
        yard.client("legacy", "line", name="one") as one,
        yard.client(era, door, name="two") as two,
    ):
        first, second = Window(one, "first"), Window(two, "second")
        called = asyncio.Event()

        async def hold_back(question: Json) -> None:
            """Answer the first question only once the other has called."""
            if "id" in question and not called.is_set():
                called.set()
                calling.append(two.group.create_task(second.ask(times=2, log=True)))
                await until_waiting(yard)
            await Talk.take(one, question)

        calling: list[asyncio.Task[str]] = []
        one.take = hold_back  # type: ignore[method-assign,assignment]
        assert "first" in await first.ask(times=2, log=True)
        assert "second" in await calling[0]
        assert (first.strange, second.strange) == ([], [])
        for talk, mark in ((one, "first"), (two, "second")):
            lines = [m["params"]["data"] for m in talk.heard if m["method"].endswith("/message")]
            assert all(mark in line for line in lines)


async def until_waiting(yard: Company) -> None:
    """Wait until two calls are at the server, or on their way to it."""

    async def holds() -> bool:
        return [row["calls"] for row in await yard.rows("crowd", "shared")] == [2]

    await yard.doors.until(holds)


@pytest.mark.parametrize(("era", "door"), DOORS)
async def test_once_a_server_was_seen_to_ask_all_its_users_at_once_are_asked_and_answered(
    home: Path, era: str, door: str
) -> None:
    async with company(home, shared()) as yard, windows(yard, era, door) as all_:
        assert all_[0].mark in await all_[0].ask()
        await ask_all(all_)
        await told_in_status(yard)
    async with company(home, {}) as yard, windows(yard, era, door) as all_:
        await ask_all(all_)
        (row,) = await yard.rows("crowd", "shared")
        assert row["unattributed"] == 0


async def ask_all(all_: list[Window]) -> None:
    """Every window is asked, several times at once, and each gets its own answers."""
    for kind in ("elicitation", "sampling", "elicitation"):
        told = await asyncio.gather(*(window.ask(kind) for window in all_))
        assert [window.mark in said for window, said in zip(all_, told, strict=True)] == (
            [True] * WINDOWS
        )
    assert [window.strange for window in all_] == [[]] * WINDOWS


async def told_in_status(yard: Company) -> None:
    """Wait until whoever looks is told how the server is called now, and why."""

    async def shown() -> bool:
        return any("one at a time" in text for text in (await yard.doors.server("crowd"))["asks"])

    async def explained() -> bool:
        story = await yard.doors.get(f"/api/v1/why?name=crowd&agent={AGENT}")
        return any("elicitation/create" in step["text"] for step in story["steps"])

    await yard.doors.until(shown)
    await yard.doors.until(explained)


async def test_calls_of_one_session_still_run_side_by_side_at_a_server_that_asks(
    home: Path,
) -> None:
    async with company(home, shared()) as yard, yard.client() as talk:
        await Window(talk, "mine").ask()
        waiting = [talk.message("tools/call", {"name": "crowd__wait", "arguments": {}})]
        task = talk.group.create_task(talk.exchange(waiting[0]))
        assert text_of(await talk.call("crowd__echo", {"who": "a", "n": 1})) == "a 1"
        await talk.cancel(waiting[0]["id"], task)


async def test_a_call_whose_turn_does_not_come_in_time_is_told_the_way_out(home: Path) -> None:
    listed = {AGENT: {"crowd": {"server": "crowd", "mode": "shared"}}}
    servers = {"crowd": {**crowd("legacy"), "timeout": 2}}
    async with (
        company(home, listed, servers=servers) as yard,
        yard.client(name="one") as one,
        yard.client("modern", "http", name="two") as two,
    ):
        async with thinking(one):
            fault = await two.fault("tools/call", {"name": "crowd__echo", "arguments": {}})
        assert '"mode": "per_session"' in fault["message"]
        assert "no turn came within 2 s" in fault["message"]


@asynccontextmanager
async def thinking(talk: Talk) -> AsyncIterator[asyncio.Task[Json]]:
    """While a person who was asked has not answered yet; gives the call that asks."""
    asked, answered = asyncio.Event(), asyncio.Event()

    async def think(question: Json) -> None:
        asked.set()
        await answered.wait()
        await Talk.take(talk, question)

    talk.take = think  # type: ignore[method-assign,assignment]
    message = talk.message("tools/call", {"name": "crowd__ask", "arguments": {"who": "me"}})
    calling = talk.group.create_task(talk.exchange(message))
    async with asyncio.timeout(60):
        await asked.wait()
    yield calling
    answered.set()
    await calling


async def test_a_client_that_calls_again_to_answer_a_question_does_not_wait_for_itself(
    home: Path,
) -> None:
    async with (
        company(home, shared()) as yard,
        yard.client(name="one") as one,
        yard.client("modern", "http", name="two") as two,
    ):
        done = asyncio.Event()

        async def look_up(question: Json) -> None:
            """A model that is asked calls a tool of the same server, and then answers."""
            calls.append(two.group.create_task(two.call("crowd__echo", {"who": "two", "n": 1})))
            await until_waiting(yard)
            nested = one.message("tools/call", {"name": "crowd__echo", "arguments": ARGUMENTS})
            one.group.create_task(answer_after(nested, question))

        async def answer_after(nested: Json, question: Json) -> None:
            said = (await one.exchange(nested))["result"]
            assert text_of(said) == "me 1"
            done.set()
            await Talk.take(one, question)

        calls: list[asyncio.Task[Json]] = []
        one.take = look_up  # type: ignore[method-assign,assignment]
        assert "Ada" in text_of(await one.call("crowd__ask", ARGUMENTS))
        assert done.is_set()
        assert text_of(await calls[0]) == "two 1"


async def test_a_parked_question_is_answered_with_its_handle_and_its_token_alone(
    home: Path,
) -> None:
    async with (
        company(home, shared()) as yard,
        yard.client("modern", "http") as one,
        yard.client("modern", "http") as alike,
        yard.client("modern", "http") as stranger,
    ):
        token = await make_token(yard.doors, "stranger", agent=AGENT)
        stranger.http.headers["Authorization"] = f"Bearer {token}"  # type: ignore[attr-defined]
        params = {"name": "crowd__ask", "arguments": ARGUMENTS}
        asked = await one.result("tools/call", params)
        (key,) = asked["inputRequests"]
        answer = {"action": "accept", "content": {"name": "Eve"}}
        reply = {**params, "inputResponses": {key: answer}, "requestState": asked["requestState"]}
        assert (await stranger.fault("tools/call", reply))["code"] == -32602
        guess = {**reply, "requestState": "x" * len(asked["requestState"])}
        assert (await alike.fault("tools/call", guess))["code"] == -32602
        without = {key: value for key, value in reply.items() if key != "requestState"}
        later = alike.group.create_task(alike.result("tools/call", without))
        await until_waiting(yard)
        assert "Eve" in text_of(await one.result("tools/call", reply))
        assert (await later)["resultType"] == "input_required", "it is asked for itself"


async def test_where_nobody_chose_a_mode_a_server_that_asks_runs_for_each_session(
    home: Path,
) -> None:
    listed = {AGENT: {"crowd": {**crowd("legacy"), "mode": "auto"}}}
    async with company(home, listed) as yard, yard.client() as talk:
        assert "Ada" in text_of(await talk.call("crowd__ask", ARGUMENTS))

        async def explained() -> bool:
            story = await yard.doors.get(f"/api/v1/why?name=crowd&agent={AGENT}")
            return any(
                step["text"].startswith("per_session: it asks (elicitation/create)")
                for step in story["steps"]
            )

        await yard.doors.until(explained)
