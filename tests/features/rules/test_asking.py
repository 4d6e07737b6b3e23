"""A yes lets one call run: the one that was asked about, in time, and once."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.control.company import Agent, make_token, send
from tests.doors.doors import declared, open_doors
from tests.e2e import scripted
from tests.features.rules.calling import (
    ECHO,
    NO,
    WAITING,
    Legacy,
    Modern,
    answer,
    none_waits,
    open_ruled,
    ran,
    text_of,
    waiting,
)

ASK = {"tools": ["s/echo"], "reason": "It echoes."}


async def test_a_modern_client_is_asked_and_calls_again(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Modern(Agent(doors))
        result = await client.call()
        question = result["inputRequests"]["approve"]["params"]
        assert "'echo' of 's'" in question["message"]
        assert "It echoes." in question["message"]
        assert '"hello"' in question["message"]
        assert ran(home) == []
        again = {"requestState": result["requestState"], "inputResponses": {"approve": NO}}
        assert "a person said no" in text_of(await client.call(more=again))
        assert ran(home) == []
        assert text_of(await client.call(more=await client.asked())) == "hello"
        assert len(ran(home)) == 1


async def test_an_empty_form_is_no_yes(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Modern(Agent(doors))
        for content in ({}, {"approve": False}, {"approve": "true"}):
            again = await client.asked()
            again["inputResponses"] = {"approve": {"action": "accept", "content": content}}
            assert "did not run" in text_of(await client.call(more=again))
        assert ran(home) == []


async def test_a_yes_is_used_once(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Modern(Agent(doors))
        again = await client.asked()
        assert text_of(await client.call(more=again)) == "hello"
        assert (await client.call(more=again))["resultType"] == "input_required"
        both = await client.asked()
        results = await asyncio.gather(client.call(more=both), client.call(more=both))
        assert sorted("content" in result for result in results) == [False, True]
        assert len(ran(home)) == 2


async def test_a_yes_is_for_the_arguments_that_were_shown(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Modern(Agent(doors))
        again = await client.asked()
        other = {"name": "s__echo", "arguments": {"text": "something else"}}
        assert (await client.call(other, again))["resultType"] == "input_required"
        assert ran(home) == []


async def test_a_yes_is_for_the_tool_that_was_shown(home: Path) -> None:
    rules = {"all": {"tools": ["*/echo"]}}
    async with open_ruled(home, **rules) as doors:
        client = Modern(Agent(doors))
        again = await client.asked()
        through = {
            "name": "toolyard_destroy",
            "arguments": {"server": "s", "tool": "echo", "arguments": {"text": "hello"}},
        }
        assert (
            text_of(await client.call(through, again)) == "hello"
        )  # the same call by another name
        again = await client.asked()
        env = {"name": "s__env", "arguments": {"name": "HOME"}}
        await client.call(env, again)
        assert [c for c in ran(home) if "echo" in json.dumps(c)][1:] == []


async def test_a_yes_expires(home: Path) -> None:
    async with open_ruled(home, echoes={**ASK, "wait": 1}) as doors:
        client = Modern(Agent(doors))
        again = await client.asked()
        await none_waits(doors)
        assert (await client.call(more=again))["resultType"] == "input_required"
        mute = Modern(Agent(doors), able={})
        assert "nobody said yes within 1 s" in text_of(await mute.call())
        assert ran(home) == []


async def test_a_yes_of_another_token_is_none(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        one = Modern(Agent(doors, token=await make_token(doors, "one")))
        two = Modern(Agent(doors, token=await make_token(doors, "two")))
        again = await one.asked()
        assert (await two.call(more=again))["resultType"] == "input_required"
        assert ran(home) == []
        assert text_of(await one.call(more=again)) == "hello"


async def test_a_legacy_client_is_asked_while_its_call_waits(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        for said, text in (({"approve": True}, "hello"), ({"approve": False}, "a person said no")):
            client = Legacy(Agent(doors))
            async with client.calling() as stream:
                await stream.head()
                question = await stream.event()
                assert question["method"] == "elicitation/create"
                await client.say(question, {"action": "accept", "content": said})
                assert text in text_of((await stream.event())["result"])
        assert len(ran(home)) == 1


@pytest.mark.parametrize(("word", "text"), [("yes", "hello"), ("no", "a person said no")])
async def test_a_client_that_cannot_ask_waits_for_the_page(
    home: Path, word: str, text: str
) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Modern(Agent(doors), able={})
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(client.call())
            (row,) = await waiting(doors)
            assert (row["server"], row["tool"], row["arguments"]) == (
                "s",
                "echo",
                {"text": "hello"},
            )
            assert (row["rule"], row["reason"], row["agent"]) == ("echoes", "It echoes.", "raw")
            assert row["since"] < row["expires"] <= row["since"] + 600
            assert ran(home) == []
            given = await answer(doors, row["id"], word)
            assert given.json() == {"id": row["id"], "server": "s", "tool": "echo", "answer": word}
        assert text in text_of(calling.result())
        assert (await answer(doors, row["id"], "yes")).status == 404
        assert len(ran(home)) == (word == "yes")


async def test_whoever_leaves_while_waiting_takes_the_call_along(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Legacy(Agent(doors), able={})
        async with client.calling():
            (row,) = await waiting(doors)
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
            await doors.post({**notice, "params": {"requestId": 7}}, client.head)
            await none_waits(doors)
        assert (await answer(doors, row["id"], "yes")).status == 404
        body = json.dumps({"server": "s", "tool": "echo", "arguments": {"text": "x"}}).encode()
        async with doors.connected() as raw:
            await raw.send(doors.request("POST", "/api/v1/call", body))
            await waiting(doors)
        await none_waits(doors)
        assert ran(home) == []


async def test_progress_tells_what_a_call_waits_for(home: Path) -> None:
    async with open_ruled(home, echoes=ASK) as doors:
        client = Legacy(Agent(doors), able={})
        async with client.calling({**ECHO, "_meta": {"progressToken": "t"}}) as stream:
            await stream.head()
            told = (await stream.event())["params"]
            (row,) = await waiting(doors)
            assert told["progressToken"] == "t"
            assert f"toolyard rule answer {row['id']} yes" in told["message"]
            await answer(doors, row["id"], "yes")
            assert text_of((await stream.event())["result"]) == "hello"


def shop(home: Path, text: str) -> str:
    """A servers file with one server, whose one tool is described so."""
    tool = {"name": "buy", "description": text, "inputSchema": {"type": "object"}}
    reply = {"content": [{"type": "text", "text": "bought"}]}
    replies = {"tools/list": json.dumps({"tools": [tool]}), "tools/call buy": json.dumps(reply)}
    path = home / f"shop-{len(text)}.json"
    path.write_text(json.dumps({"capabilities": {"tools": {}}, "replies": replies}))
    args = [scripted.__file__, str(path)]
    return declared({"shop": {"command": sys.executable, "args": args}})


async def test_a_yes_to_a_tool_that_has_changed_since_is_none(home: Path) -> None:
    (home / "rules.json").write_text(json.dumps({"buys": {"tools": ["shop"]}}))
    buy = {"name": "shop__buy", "arguments": {}}
    async with open_doors(home, shop(home, "Buys.")) as doors:
        await doors.settled()
        asking, mute = Modern(Agent(doors)), Modern(Agent(doors), able={})
        again = await asking.asked(buy)
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(mute.call(buy))
            rows = await waiting(doors, 2)
            (row,) = [row for row in rows if not row["in_client"]]
            (home / "servers.json").write_text(shop(home, "Buys, and tells everybody."))

            async def is_other() -> bool:
                changes = await send(doors, "GET", "/api/v1/servers/shop/changes")
                return changes.status == 200 and "tells everybody" in changes.body.decode()

            await doors.until(is_other)
            assert (await answer(doors, row["id"], "yes")).status == 200
        assert "has changed" in text_of(calling.result())
        assert (await send(doors, "POST", "/api/v1/servers/shop/approve", {})).status == 200

        async def is_listed() -> bool:
            return "shop__buy" in await doors.tools()

        await doors.until(is_listed)
        assert "has changed" in text_of(await asking.call(buy, again))
        assert (await doors.get(WAITING))["calls"] == []
        assert text_of(await asking.call(buy, await asking.asked(buy))) == "bought"
