"""Limits let as many calls run as they say, whoever makes them and however often they come in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import Agent, make_token, send, servers
from tests.doors.doors import Json, call, mirrored, modern, open_doors
from tests.features.limits.limiting import (
    LIMITS,
    outcomes,
    post_call,
    put_limit,
    ran,
    recording,
    rush,
    uses,
)
from tests.features.members.team import Person, open_team
from tests.features.members.test_tokens import own_token
from tests.fixtures.signing_issuer import SigningIssuer, signing


@pytest.fixture
def issuer() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


async def test_of_a_thousand_calls_exactly_a_hundred_run(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "hundred", calls=100, seconds=3600, server="one")
        answers = await rush([Agent(doors)], 1000)
        assert outcomes(answers) == {200: 100, 429: 900}
        assert ran(home) == 100
        refused = [answer for answer in answers if answer.status == 429]
        for answer in refused:
            fault = answer.json()["error"]
            wait = fault["data"]["retryAfter"]
            assert 0 < wait <= 3660 and answer.headers["retry-after"] == str(wait)
            assert fault["data"]["limit"] == "hundred"
            assert "the limit 'hundred' allows 100 calls in 3600 s" in fault["message"]
            assert f"try again in {wait} s" in fault["message"]
        (use,) = await uses(doors)
        assert use["used"] == use["allowed"] == 100 and 0 < use["resets_in"] <= 3660
        # Raised, it goes on from what was used.
        await put_limit(doors, "hundred", calls=103, seconds=3600, server="one")
        assert outcomes(await rush([Agent(doors)], 10)) == {200: 3, 429: 7}
        assert ran(home) == 103


async def test_a_legacy_client_is_refused_with_the_status_it_expects(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "one-call", calls=1, tool="echo")
        agent = Agent(doors)
        session = await agent.initialize()
        order = call("tools/call", {"name": "one__echo", "arguments": {}})
        assert "result" in (await agent.post(order, session)).json()
        refused = await agent.post(order, session)
        assert refused.status == 200
        assert refused.json()["error"]["data"]["retryAfter"] == int(refused.headers["retry-after"])
        # Other tools go on.
        other = call("tools/call", {"name": "one__env", "arguments": {"name": "HOME"}})
        assert "result" in (await agent.post(other, session)).json()
        # By the stable entry and over REST it is the same call.
        stable = await agent.stable("one", "echo", text="x")
        tried = await send(doors, "POST", "/api/v1/call", {"server": "one", "tool": "echo"})
        for result in (stable, tried.json()):
            text = result["content"][0]["text"]
            assert result["isError"] and "'one-call' allows 1 call in 60 s" in text
            assert "try again in" in text
        assert ran(home) == 2


async def test_a_member_has_one_count_in_all_sessions_and_with_all_tokens(
    home: Path, issuer: SigningIssuer
) -> None:
    async with open_team(home, issuer, {**servers(), "one": recording(home)}) as doors:
        ann = Person(doors, issuer, "ann", scope="toolyard:own")
        bob = Person(doors, issuer, "bob")
        for person in (ann, bob):
            assert "one__echo" in await person.tools()
        await put_limit(doors, "each", member="*", calls=12, seconds=3600)
        tokens = [await own_token(ann, name) for name in ("laptop", "phone")]
        ways = [ann, *(Agent(doors, token=token) for token in tokens)]
        assert outcomes(await rush(ways, 60)) == {200: 12, 429: 48}
        session = await ann.initialize()
        order = call("tools/call", {"name": "one__echo", "arguments": {}})
        assert "error" in (await ann.post(order, session)).json()
        assert outcomes(await rush([bob], 20)) == {200: 12, 429: 8}
        # The hub's owner is no member.
        assert outcomes(await rush([Agent(doors)], 5)) == {200: 5}
        assert ran(home) == 29
        assert sorted(use["used"] for use in await uses(doors)) == [12, 12]


async def test_tokens_and_tools_are_counted_each_by_itself(home: Path) -> None:
    async with open_doors(home, {"one": recording(home), "two": recording(home, "two")}) as doors:
        await doors.settled()
        await put_limit(doors, "ci", token="ci", calls=3)
        ci = Agent(doors, token=await make_token(doors, "ci"))
        other = Agent(doors, token=await make_token(doors, "other"))
        assert outcomes(await rush([ci], 8)) == {200: 3, 429: 5}
        assert outcomes(await rush([other], 8)) == {200: 8}
        assert (await send(doors, "DELETE", f"{LIMITS}/ci")).status == 200
        assert outcomes(await rush([ci], 8)) == {200: 8}
        await put_limit(doors, "each-tool", tool="*", calls=2)
        for tool in ("one__echo", "two__echo"):
            assert outcomes(await rush([ci, other], 6, tool)) == {200: 2, 429: 4}
        subjects = {use["subject"] for use in await uses(doors)}
        assert subjects == {"tool echo of one@configured", "tool echo of two@configured"}


async def test_an_agent_is_counted_by_its_name(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "agents", agent="*", server="*", calls=2)
        agent = Agent(doors)
        assert outcomes(await rush([agent], 4)) == {200: 2, 429: 2}
        session = await agent.initialize()  # by another name
        order = call("tools/call", {"name": "one__echo", "arguments": {}})
        answers = [(await agent.post(order, session)).json() for _ in range(3)]
        assert ["result" in answer for answer in answers] == [True, True, False]
        assert {use["subject"] for use in await uses(doors)} == {
            "agent raw, one@configured",
            "agent agent, one@configured",
        }


async def test_bytes_of_arguments_and_results_count(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "traffic", bytes=10_000, seconds=3600)
        agent = Agent(doors)
        statuses = [(await post_call(agent, "one__payload", kib=4)).status for _ in range(5)]
        # The third finds 8 kB used, which is less; the fourth finds more than 10.
        assert statuses == [200, 200, 200, 429, 429]
        refused = await post_call(agent, "one__echo", text="x")
        assert "allows 10000 bytes in 3600 s" in refused.json()["error"]["message"]
        (use,) = await uses(doors)
        assert use["figure"] == "bytes" and use["used"] > 12_000 and ran(home) == 3


async def test_so_many_calls_are_under_way_and_no_more(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "two", concurrent=2)
        agent = Agent(doors)
        async with asyncio.TaskGroup() as group:
            long = [group.create_task(post_call(agent, "one__sleep", ms=600_000)) for _ in "ab"]

            async def are_used() -> bool:
                return [use["used"] for use in await uses(doors)] == [2]

            await doors.until(are_used)
            refused = await post_call(agent)
            assert refused.status == 429 and refused.headers["retry-after"] == "1"
            assert "allows 2 calls at a time" in refused.json()["error"]["message"]
            for task in long:
                task.cancel()

        async def is_free() -> bool:
            return not await uses(doors)

        await doors.until(is_free)
        assert outcomes(await rush([agent], 1)) == {200: 1}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('{\n "a": {"calls": 5}\n "b"}', {"one__echo", "one__env"}),
        (json.dumps({"a": {"calls": 5, "server": 7}}), {"one__echo", "one__env"}),
        (json.dumps({"a": {"calls": "many", "tool": "env"}}), {"one__env"}),
        (json.dumps({"a": {"cals": 5, "tool": "echo"}}), {"one__echo"}),
        (json.dumps({"a": {"calls": -5, "token": "ci"}}), set[str]()),
    ],
    ids=["file", "unknown-reach", "figure", "misspelt", "of-others"],
)
async def test_a_limit_that_cannot_be_read_is_closed(
    home: Path, text: str, refused: set[str]
) -> None:
    (home / "limits.json").write_text(text)
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        (problem,) = [p for p in await doors.problems() if p["code"] == "limits-file"]
        assert "limits.json" in problem["text"] and problem["hint"]
        for tool in ("one__echo", "one__env"):
            answer = await doors.run(tool, name="HOME", text="x")
            assert ("error" in answer) is (tool in refused), answer
            if tool in refused:
                assert "limits.json" in answer["error"]["message"]
        assert "one__echo" in await doors.tools()
        ci = Agent(doors, token=await make_token(doors, "ci"))
        if not refused:
            assert "limits.json" in (await ci.call("one__echo"))["error"]["message"]
        (home / "limits.json").write_text("{}")

        async def is_open() -> bool:
            answers = [await who.call("one__echo") for who in (ci, Agent(doors))]
            codes = [problem["code"] for problem in await doors.problems()]
            return "limits-file" not in codes and all("result" in answer for answer in answers)

        assert await doors.until(is_open)


async def test_limits_stand_while_their_file_cannot_be_read(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "three", calls=3, seconds=3600)
        (home / "limits.json").write_text("{")

        async def is_told() -> bool:
            return "limits-file" in [p["code"] for p in await doors.problems()]

        await doors.until(is_told)
        assert outcomes(await rush([Agent(doors)], 6)) == {200: 3, 429: 3}


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_an_answer_to_a_question_is_no_further_call(home: Path, era: str) -> None:
    async with open_doors(home, {"one": recording(home, "one", "--era", era)}) as doors:
        await doors.settled()
        await put_limit(doors, "two-calls", calls=2, seconds=3600)
        agent = Agent(doors)

        async def ask(**more: Any) -> Json:
            params = {"name": "one__ask", "arguments": {}, **more}
            message = modern("tools/call", params, clientCapabilities={"elicitation": {}})
            head = {**mirrored(message), "Accept": "application/json"}
            answer: Json = (await agent.post(message, head)).json()
            return answer

        asked = (await ask())["result"]
        assert asked["resultType"] == "input_required", asked
        said = {"action": "accept", "content": {"name": "Ann"}}
        round_ = {
            "inputResponses": dict.fromkeys(asked["inputRequests"], said),
            "requestState": asked["requestState"],
        }
        answered = await ask(**round_)
        assert "Ann" in answered["result"]["content"][0]["text"], answered
        assert (await uses(doors))[0]["used"] == 1
        # The same state again, and one that was made up, are calls of their own.
        await ask(**round_)
        assert (await uses(doors))[0]["used"] == 2
        refused = await ask(**{**round_, "requestState": "invented"})
        assert "'two-calls' allows 2 calls" in refused["error"]["message"]


async def test_limits_need_a_figure_and_name_what_is_there(home: Path) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        orders: list[tuple[Json, int, str]] = [
            ({"name": "x"}, 422, "limits nothing"),
            ({"name": "x y", "calls": 1}, 422, "cannot name a limit"),
            ({"name": "x", "calls": 1, "member": "*", "token": "*"}, 422, "or about a token"),
            ({"name": "x", "instances": 1}, 422, "for a member or a token"),
            ({"name": "x", "calls": 1, "server": "oen"}, 404, "oen"),
        ]
        for order, status, word in orders:
            answer = await send(doors, "POST", LIMITS, order)
            assert answer.status == status and word in answer.body.decode(), answer
        assert (await send(doors, "DELETE", f"{LIMITS}/none")).status == 404
        await put_limit(doors, "x", calls=1, server="one")
        (row,) = (await doors.get(LIMITS))["limits"]
        assert row["server"] == "one@configured" and row["seconds"] == 60.0


async def test_a_limit_that_was_changed_shows_its_new_figure_before_the_next_call(
    home: Path,
) -> None:
    async with open_doors(home, {"one": recording(home)}) as doors:
        await doors.settled()
        await put_limit(doors, "x", calls=1)
        await post_call(Agent(doors), text="x")
        await put_limit(doors, "x", calls=5)
        (use,) = await uses(doors)
        assert (use["used"], use["allowed"]) == (1, 5)
