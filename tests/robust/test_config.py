"""A servers file with mistakes, and one that changes under way."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Doors, declared, open_doors
from tests.e2e.hub import environment, stdio_stub, toolyard


def entries(home: Path, *names: str) -> dict[str, Any]:
    """Stubs with few tools, so that they start fast."""
    return {name: stdio_stub(name, home, "--only", "echo,where,cancellable,env") for name in names}


async def test_a_hub_with_a_broken_file_starts_and_says_where_it_is_broken(home: Path) -> None:
    async with open_doors(home, '{\n  "mcpServers": {\n    "a": {"command": }\n  }\n}\n') as doors:
        found = await doors.until(lambda: doors.problems())
        assert found[0]["subject"] == f"{home / 'servers.json'}:3"
        assert "line 3" in found[0]["text"]
        assert found[0]["hint"]
        assert "toolyard_status" in await doors.fault("nothing__here")


async def test_a_file_broken_while_the_hub_runs_stops_nothing(home: Path) -> None:
    async with open_doors(home, entries(home, "good")) as doors:
        await doors.settled()
        pid = await doors.text("good__where")
        (home / "servers.json").write_text('{"mcpServers": {')
        found = await doors.until(lambda: doors.problems())
        assert "servers.json" in found[0]["text"] and found[0]["hint"]
        assert await doors.text("good__where") == pid
        (home / "servers.json").write_text(declared(entries(home, "good")))

        async def is_clean() -> bool:
            return not await doors.problems()

        await doors.until(is_clean)
        assert await doors.text("good__where") == pid


BAD = {
    "no command": {},
    "command no text": {"command": 7},
    "args no list": {"command": "true", "args": "x"},
    "both": {"command": "true", "url": "http://127.0.0.1:1"},
    "a wrong type": {"type": "carrier-pigeon", "command": "true"},
    "an address that is none": {"url": "ftp://127.0.0.1/x"},
    "an unset variable": {"command": "true", "args": ["${SURELY_NOT_SET}"]},
    "an unset key": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${env:NOT_SET}"}},
    "no object": 7,
}


@pytest.mark.parametrize("entry", BAD.values(), ids=BAD)
async def test_one_bad_entry_is_one_problem_and_all_others_work(home: Path, entry: Any) -> None:
    servers = {**entries(home, "good"), "bad": entry}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        assert await doors.text("good__echo", text="hello") == "hello"
        found = await doors.problems()
        assert len(found) == 1, found
        assert found[0]["hint"]
        file, _, line = found[0]["subject"].rpartition(":")
        assert file == str(home / "servers.json")
        assert int(line) > declared(servers).split("\n").index('  "bad": ' + _opening(entry))
        assert "'bad'" in found[0]["text"]


def _opening(entry: Any) -> str:
    return "{" if entry and isinstance(entry, dict) else json.dumps(entry)


async def test_an_unset_variable_is_named_and_never_passed_on_as_it_stands(home: Path) -> None:
    servers = {"bad": {"command": "true", "env": {"KEY": "${SURELY_NOT_SET}"}}}
    async with open_doors(home, {**servers, **entries(home, "good")}) as doors:
        await doors.settled()
        assert "SURELY_NOT_SET" in (await doors.problems())[0]["text"]
        assert (await doors.server("bad"))["status"] != "ready"


async def test_a_change_is_applied_amid_calls_and_touches_nothing_else(
    home: Path,
) -> None:
    async with open_doors(home, entries(home, "kept", "gone")) as doors:
        await doors.settled()
        pid = await doors.text("kept__where")
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(doors.fault("kept__cancellable", ms=60_000)) for _ in range(20)
            ]
            (home / "servers.json").write_text(declared(entries(home, "kept", "new")))
            await doors.until(lambda: has_tools(doors, "new__echo", without="gone__echo"))
            assert not any(call.done() for call in calls)
            for call in calls:
                call.cancel()
        assert await doors.text("kept__where") == pid
        assert (await doors.server("kept"))["restarts"] == 0


async def has_tools(doors: Doors, name: str, without: str) -> bool:
    """Whether one tool has come and the other has gone."""
    listed = await doors.tools()
    return name in listed and without not in listed


async def test_a_changed_entry_gets_a_new_process(home: Path) -> None:
    async with open_doors(home, entries(home, "same", "other")) as doors:
        await doors.settled()
        before = json.loads(await doors.text("other__where"))["pid"]
        servers = entries(home, "same", "other")
        servers["other"]["env"] = {"FRESH": "yes"}
        (home / "servers.json").write_text(declared(servers))

        async def is_fresh() -> bool:
            said = await doors.run("other__env", name="FRESH")
            return "result" in said and said["result"]["content"][0]["text"] == "yes"

        await doors.until(is_fresh)
        assert json.loads(await doors.text("other__where"))["pid"] != before


def test_a_port_in_use_is_said_in_one_sentence_with_a_hint(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ended = subprocess.run(
            toolyard("up", "--port", str(port)),
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ended.returncode not in (0, 1)
    assert f"port {port}" in ended.stderr and "is in use" in ended.stderr
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_unknown_flag_is_answered_with_the_one_that_was_meant(home: Path) -> None:
    ended = subprocess.run(
        toolyard("up", "--prot", "1"), env=environment(home), capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "--port" in ended.stderr and "Traceback" not in ended.stderr
