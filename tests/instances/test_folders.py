"""Servers that ask for folders outside of calls: each client's own, and nobody else's."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub
from tests.e2e.talk import ALL, Json, Talk, talking, text_of
from tests.instances.yard import AGENT, Company, company, is_alive

FOLDERS = Path(__file__).with_name("folders.py")
ENTRY: Json = {"command": sys.executable, "args": [str(FOLDERS)]}
WITHOUT = {key: value for key, value in ALL.items() if key != "roots"}


def root(name: str) -> str:
    return f"file:///{name}"


@asynccontextmanager
async def client(yard: Company, name: str, door: str = "line", **more: Any) -> AsyncIterator[Talk]:
    """A client of the whole yard, at work in a folder of its name."""
    hub = RunningHub(f"http://127.0.0.1:{yard.doors.port}", yard.doors.home, None)  # type: ignore[arg-type]
    answers = {"roots/list": {"roots": [{"uri": root(name)}]}}
    async with talking(hub, "legacy", door, name=name, answers=answers, **more) as talk:
        yield talk


async def told(talk: Talk) -> Json:
    """What the server was told that serves this client, and which process it is."""
    said: Json = json.loads(text_of(await talk.call("fs__folders")))
    return said


async def until_told(yard: Company, talk: Talk, *folders: str) -> Json:
    """Wait until the server has been told these."""

    async def holds() -> Json | None:
        said = await told(talk)
        return said if said["folders"] == list(folders) else None

    found: Json = await yard.doors.until(holds)
    return found


async def until_known(yard: Company) -> None:
    """Wait until the hub says how the server runs, and why."""

    async def shown() -> bool:
        return any("folders" in text for text in (await yard.doors.server("fs"))["asks"])

    await yard.doors.until(shown)


@pytest.mark.parametrize("door", ["line", "http"])
async def test_the_folders_of_each_client_reach_the_server_that_serves_it(
    home: Path, door: str
) -> None:
    async with company(home, {}, servers={"fs": ENTRY}) as yard:
        await until_known(yard)
        async with client(yard, "one", door) as one, client(yard, "two", door) as two:
            first, second = await told(one), await told(two)
            assert (first["folders"], second["folders"]) == ([root("one")], [root("two")])
            assert (await told(one))["pid"] == first["pid"] != second["pid"]
            async with client(yard, "three", door, capabilities=WITHOUT) as three:
                assert (await told(three))["folders"] == []
        assert {row["client"] for row in await yard.rows("fs")} == {"one", "two"}
    async with company(home, {}, servers={"fs": ENTRY}) as yard, client(yard, "four") as four:
        assert (await told(four))["folders"] == [root("four")], "what was seen is remembered"


async def test_a_server_that_reads_its_folders_slowly_has_read_them_before_the_first_call(
    home: Path,
) -> None:
    slow = {**ENTRY, "args": [*ENTRY["args"], "3"]}
    async with company(home, {}, servers={"fs": slow}) as yard:
        await until_known(yard)
        async with client(yard, "one") as one:
            assert (await told(one))["folders"] == [root("one")]


async def test_folders_that_change_are_asked_again_by_the_client_s_own_server_alone(
    home: Path,
) -> None:
    async with company(home, {}, servers={"fs": ENTRY}) as yard:
        await until_known(yard)
        async with client(yard, "one") as one, client(yard, "two") as two:
            await told(one), await told(two)
            one.answers = {"roots/list": {"roots": [{"uri": root("moved")}]}}
            await one.notify("notifications/roots/list_changed")
            await until_told(yard, one, root("moved"))
            assert (await told(two))["folders"] == [root("two")]


async def test_a_server_that_somebody_chose_to_share_is_told_the_folders_of_its_only_client(
    home: Path,
) -> None:
    listed = {AGENT: {"fs": {"server": "fs", "mode": "shared"}}}
    async with company(home, listed, servers={"fs": ENTRY}) as yard:
        await until_known(yard)
        answers = {"roots/list": {"roots": [{"uri": root("one")}]}}
        async with yard.client(answers=answers) as one:
            first = await until_told(yard, one, root("one"))
            async with yard.client(name="two") as two:
                assert (await told(two))["folders"] == [], "these are not its folders"
                assert not is_alive(first["pid"]), "an empty list does not make it forget"
                assert (await told(one))["folders"] == []


async def test_folders_that_are_asked_for_amid_a_call_are_not_told_to_the_next_client(
    home: Path,
) -> None:
    listed = {AGENT: {"fs": {"server": "fs", "mode": "shared"}}}
    answers = {"roots/list": {"roots": [{"uri": root("one")}]}}
    async with company(home, listed, servers={"fs": ENTRY}) as yard:
        await until_known(yard)
        async with yard.client(answers=answers) as one, asyncio.TaskGroup() as group:
            async with yard.client(name="zero"):
                waiting = {"name": "fs__folders", "arguments": {"wait": True}}
                token = {"progressToken": "one"}
                call = group.create_task(one.result("tools/call", waiting, meta=token))
                await one.wait_heard("notifications/progress")
            # The first client is alone now: the server hears of a change, and asks amid the call.
            assert json.loads(text_of(await call))["folders"] == [root("one")]
            async with yard.client(name="two") as two:
                assert (await told(two))["folders"] == []


async def test_a_client_without_a_session_never_meets_the_folders_of_another(home: Path) -> None:
    listed = {AGENT: {"fs": {"server": "fs", "mode": "shared"}}}
    async with company(home, listed, servers={"fs": ENTRY}) as yard:
        await until_known(yard)
        answers = {"roots/list": {"roots": [{"uri": root("one")}]}}
        async with yard.client(answers=answers) as one:
            first = await until_told(yard, one, root("one"))
            async with yard.client("modern", "http", name="two") as two:
                assert (await told(two))["folders"] == []
                assert not is_alive(first["pid"])


async def test_the_first_client_needs_no_second_try(home: Path) -> None:
    async with company(home, {}) as yard, client(yard, "one") as one:
        servers = json.dumps({"mcpServers": {"fs": ENTRY}})
        (home / "servers.json").write_text(servers)

        async def listed() -> bool:
            return "fs__folders" in {t["name"] for t in (await one.result("tools/list"))["tools"]}

        await yard.doors.until(listed)
        await until_told(yard, one, root("one"))
