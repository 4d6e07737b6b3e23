"""Rules are written, listed and removed, and hold from the next call on."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import Agent, put_profile, send
from tests.doors.doors import TOKEN, Doors, open_doors
from tests.features.rules.calling import Modern, open_ruled, ran, text_of, waiting
from tests.features.tokens.test_doors import hinted_server

RULES = "/api/v1/rules"


async def put(doors: Doors, name: str, **fields: Any) -> None:
    answer = await send(doors, "PUT", f"{RULES}/{name}", fields)
    assert answer.status == 200 and answer.json()["noticed"], answer


async def test_a_rule_is_written_holds_and_is_removed(home: Path) -> None:
    async with open_ruled(home) as doors:
        client = Modern(Agent(doors))
        assert text_of(await client.call()) == "hello"
        test = {"path": "text", "glob": "hel*"}
        await put(doors, "no", says="refuse", tools=["s"], arguments=[test], reason="Too loud.")
        assert text_of(await client.call()).startswith("rule 'no' refuses this call")
        other = {"name": "s__echo", "arguments": {"text": "bye"}}
        assert text_of(await client.call(other)) == "bye"
        (row,) = (await doors.get(RULES))["rules"]
        assert (row["name"], row["says"], row["arguments"]) == ("no", "refuse", [test])
        assert json.loads((home / "rules.json").read_text())["no"]["reason"] == "Too loud."
        assert (await send(doors, "DELETE", f"{RULES}/nope")).status == 404
        assert (await send(doors, "DELETE", f"{RULES}/no")).json()["noticed"]
        assert text_of(await client.call()) == "hello"
        assert len(ran(home)) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"says": "perhaps"},
        {"tier": "harmless"},
        {"tool": ["s"]},
        {"wait": 0},
        {"arguments": [{"path": "x"}]},
        {"arguments": [{"path": "x", "glob": "y", "equals": 1}]},
        {"arguments": [{"path": "x..y", "glob": "y"}]},
    ],
)
async def test_a_rule_that_would_not_be_read_is_not_written(home: Path, fields: Any) -> None:
    async with open_doors(home) as doors:
        answer = await send(doors, "PUT", f"{RULES}/r", fields)
        assert answer.status in (400, 422), answer
        assert (await doors.get(RULES))["rules"] == []


async def test_a_tier_takes_tools_that_do_more_harm_and_goes_by_marks(home: Path) -> None:
    async with open_doors(home, {"h": hinted_server(home)}) as doors:
        await doors.settled()
        await put(doors, "careful", says="refuse", tier="write")
        agent = Agent(doors)

        async def refused() -> set[str]:
            names = ("look", "put", "wipe", "odd")
            answers = {name: str(await agent.call(f"h__{name}")) for name in names}
            return {name for name, answer in answers.items() if "refuses this call" in answer}

        assert await refused() == {"put", "wipe", "odd"}
        mark = {"server": "h", "tool": "put", "tier": "read"}
        assert (await send(doors, "POST", "/api/v1/marks", mark)).json()["noticed"]
        assert await refused() == {"wipe", "odd"}


async def test_no_other_way_to_a_tool_leads_past_a_rule(home: Path) -> None:
    async with open_ruled(home, no={"says": "refuse", "tools": ["s/echo"]}) as doors:
        await put_profile(
            doors, "p", allow=["s"], rename={"s/echo": "say"}, describe={"s/echo": "x"}
        )
        body = {"server": "s", "tool": "echo", "arguments": {"text": "x"}}
        answers = [
            await Agent(doors).stable("s", "echo", text="x"),
            await Agent(doors, "/mcp/p/p").call("say", text="x"),
            await Agent(doors, "/mcp/s/s").call("echo", text="x"),
            (await send(doors, "POST", "/api/v1/call", body)).json(),
            (await send(doors, "POST", "/api/v1/calls", body)).body,
        ]
        assert ["refuses this call" in str(answer) for answer in answers] == [True] * 5
        assert ran(home) == []


DAMAGED = {"echoes": {"says": "perhaps", "tools": ["s/echo"]}}


async def test_a_damaged_rule_closes_what_it_was_about_and_nothing_else(home: Path) -> None:
    (home / "rules.json").write_text(json.dumps(DAMAGED, indent=1))
    async with open_ruled(home, **DAMAGED) as doors:
        (home / "rules.json").write_text(json.dumps(DAMAGED, indent=1))
        agent = Agent(doors)
        told = str(await agent.call("s__echo", text="x"))
        assert "'echoes' is damaged" in told
        assert "rules.json" in told
        assert "refused" not in str(await agent.call("s__env", name="HOME"))

        async def problem() -> Any:
            rows = [row for row in await doors.problems() if row["code"] == "rules-file"]
            return rows if rows and rows[0]["subject"].endswith("rules.json:2") else None

        (row,) = await doors.until(problem)
        assert "s/echo" in row["text"]
        assert row["hint"]
        (listed,) = (await doors.get(RULES))["rules"]
        assert listed["fault"]
        assert len(ran(home)) == 1
        await put(doors, "echoes", tools=["s/env"])
        assert "error" not in await agent.call("s__echo", text="x")
        assert await doors.problems() == []


async def test_a_damaged_file_closes_all_until_it_is_corrected(home: Path) -> None:
    async with open_ruled(home) as doors:
        agent = Agent(doors)
        (home / "rules.json").write_text('{"a": {},\n "b": ')

        async def is_closed() -> bool:
            return "cannot be read" in str(await agent.call("s__env", name="HOME"))

        await doors.until(is_closed)
        (row,) = [row for row in await doors.problems() if row["code"] == "rules-file"]
        assert "rules.json:2" in row["subject"]
        before = len(ran(home))
        await agent.call("s__echo", text="x")
        assert len(ran(home)) == before
        (home / "rules.json").write_text("{}")

        async def is_open() -> bool:
            return "error" not in (said := await agent.call("s__echo", text="x")) and (
                text_of(said["result"]) == "x"
            )

        await doors.until(is_open)


async def test_a_name_that_stands_there_twice_is_told_and_costs_no_rule(home: Path) -> None:
    no = {"says": "refuse", "tools": ["s/echo"]}
    async with open_ruled(home, no=no) as doors:
        twice = f'{{"no": {json.dumps(no)},\n "no": {json.dumps({**no, "tools": ["s/env"]})}}}'
        (home / "rules.json").write_text(twice)

        async def problem() -> Any:
            return [row for row in await doors.problems() if row["code"] == "rules-file"]

        (row,) = await doors.until(problem)
        assert "'no' stands there twice" in row["text"]
        assert row["subject"].endswith("rules.json:2")
        assert "refuses this call" in str(await Agent(doors).call("s__echo", text="x"))
        assert (home / "rules.json").read_text() == twice


async def test_rules_that_were_read_stay_in_force_while_their_file_is_damaged(home: Path) -> None:
    async with open_ruled(home, no={"says": "refuse", "tools": ["s/echo"]}) as doors:
        (home / "rules.json").write_text("{")

        async def is_told() -> bool:
            return "rules-file" in [row["code"] for row in await doors.problems()]

        await doors.until(is_told)
        assert "rule 'no' refuses" in str(await Agent(doors).call("s__echo", text="x"))
        assert "error" not in await Agent(doors).call("s__env", name="HOME")


async def toolyard(home: Path, *words: str) -> str:
    """Run the command line; what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolyard", *words),
        stdout=asyncio.subprocess.PIPE,
        env={"TOOLYARD_HOME": str(home), "TOOLYARD_TOKEN": TOKEN, "HOME": str(home)},
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    return out.decode()


async def test_calls_are_answered_on_the_command_line(home: Path) -> None:
    async with open_ruled(home, echoes={"tools": ["s/echo"]}) as doors:
        client = Modern(Agent(doors), able={})
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(client.call())
            (row,) = await waiting(doors)
            listed = json.loads(await toolyard(home, "approve", "--json"))
            assert listed["calls"] == [row]
            assert row["id"] in await toolyard(home, "rule", "waiting")
            assert "runs now" in await toolyard(home, "approve", "--call", row["id"])
        assert text_of(calling.result()) == "hello"
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(client.call())
            (row,) = await waiting(doors)
            said = json.loads(await toolyard(home, "rule", "answer", row["id"], "no", "--json"))
            assert said["answer"] == "no"
        assert "a person said no" in text_of(calling.result())
        assert len(ran(home)) == 1
