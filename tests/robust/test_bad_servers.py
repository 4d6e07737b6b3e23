"""Servers that misbehave in every way we know: each costs itself, and nobody else."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from tests.doors.doors import Doors, open_doors
from tests.e2e.hub import running_hub, stdio_stub
from tests.e2e.talk import talking, text_of
from tests.fixtures.stub_run import recorded
from toolyard.links.patience import Patience

FEW = ("--tools-only", "--only", "echo,sleep,counter,where,payload,log,add_tool,cancellable")
MIB = 1 << 20
SHORT = 4.0
"""Seconds in which a good server starts on any machine, and that a test can wait for."""


@asynccontextmanager
async def beside(
    home: Path, *flags: str, timeout: float = 60.0, **changes: Any
) -> AsyncIterator[Doors]:
    """A hub in front of `good`, and of `bad` with these flags and this time for a call."""
    bad = {**stdio_stub("bad", home, *FEW, *flags), "timeout": timeout}
    servers = {"good": stdio_stub("good", home, *FEW), "bad": bad}
    async with open_doors(home, servers, **changes) as doors:
        await doors.until(lambda: is_ready(doors, "good"))
        yield doors
        assert await doors.text("good__echo", text="still here") == "still here"
        assert (await doors.server("good"))["restarts"] == 0


async def is_ready(doors: Doors, name: str) -> bool:
    """Whether a server is ready."""
    return bool((await doors.server(name))["status"] == "ready")


async def trouble(doors: Doors) -> dict[str, str]:
    """The problem of the bad server, once there is one."""

    async def look() -> Any:
        return (await doors.server("bad"))["problem"]

    found: dict[str, str] = await doors.until(look)
    assert found["hint"] and "doctor" not in found["hint"]  # which is who shows it
    return found


REFUSES = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        error = {"code": 0, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}), flush=True)
"""


async def test_a_failure_that_says_nothing_has_a_hint_that_leads_on(home: Path) -> None:
    program = home / "refuses.py"
    program.write_text(REFUSES)
    servers = {"bad": {"command": sys.executable, "args": [str(program)]}}
    async with open_doors(home, servers) as doors:
        assert (await trouble(doors))["hint"] == "look at its log: toolyard logs bad"


async def test_text_on_stdout_is_overlooked(home: Path) -> None:
    async with beside(home, "--banner") as doors:
        await doors.until(lambda: is_ready(doors, "bad"))
        answers = [await doors.text("bad__counter") for _ in range(50)]
        assert answers == [str(n) for n in range(1, 51)]


async def test_answers_with_ids_nobody_used_reach_nobody(home: Path) -> None:
    async with beside(home, "--wrong-ids", start_timeout=SHORT) as doors:
        assert f"did not answer within {SHORT:g} s of its start" in (await trouble(doors))["text"]
        assert not any(name.startswith("bad__") for name in await doors.tools())


async def test_a_second_answer_is_dropped(home: Path) -> None:
    async with beside(home, "--twice") as doors:
        await doors.until(lambda: is_ready(doors, "bad"))
        said = await asyncio.gather(*(doors.text("bad__echo", text=str(n)) for n in range(50)))
        assert said == [str(n) for n in range(50)]


async def test_a_server_that_never_answers_its_start_is_given_up(home: Path) -> None:
    async with beside(home, "--hang", "all", start_timeout=SHORT) as doors:
        assert f"did not answer within {SHORT:g} s of its start" in (await trouble(doors))["text"]


async def test_a_server_that_never_reads_is_given_up(home: Path) -> None:
    async with beside(home, "--never-reads", start_timeout=SHORT) as doors:
        assert "did not answer" in (await trouble(doors))["text"]


async def test_a_call_that_is_never_answered_ends_with_its_time(home: Path) -> None:
    async with beside(home, "--hang", "call", timeout=0.6) as doors:
        await doors.until(lambda: is_ready(doors, "bad"))
        assert "did not answer tools/call within 0.6 s" in await doors.fault("bad__echo")


async def test_a_server_that_exits_at_once_is_named_with_its_code_and_last_words(
    home: Path,
) -> None:
    async with beside(home, "--exit-at-once", "3") as doors:
        found = await trouble(doors)
        assert "exited with code 3" in found["text"]
        assert "told to exit at once" in found["text"] + found["hint"]
        log = (await doors.ask("GET", "/api/v1/servers/bad/log")).body
        assert b"told to exit at once" in log


async def test_a_crash_in_a_call_is_told_at_once_with_the_last_words(home: Path) -> None:
    async with beside(home, "--crash-on", "call") as doors:
        await doors.until(lambda: is_ready(doors, "bad"))
        said = await doors.fault("bad__echo")
        assert "'bad' exited with code 70" in said
        assert "stub: crashes on call" in said
        log = (await doors.ask("GET", "/api/v1/servers/bad/log")).body
        assert b"stub: crashes on call" in log


async def test_a_flood_on_stderr_delays_no_answer_for_good(home: Path) -> None:
    async with beside(home, "--stderr-flood", "50") as doors:
        times = await timed(doors, 20)
        await doors.until(lambda: is_ready(doors, "bad"), 60)
        assert await doors.text("bad__echo", text="after all") == "after all"
        assert median(times) < 2.0
        log = (await doors.ask("GET", "/api/v1/servers/bad/log")).body
        assert 0 < len(log) <= 256 * 1024 + 200


async def timed(doors: Doors, count: int) -> list[float]:
    """How long calls to the good server take, one after the other."""
    loop = asyncio.get_running_loop()
    times = []
    for _ in range(count):
        began = loop.time()
        await doors.text("good__echo", text="x")
        times.append(loop.time() - began)
    return times


async def test_a_flood_of_notifications_delays_nobody(home: Path) -> None:
    async with beside(home, "--flood", "100000") as doors:
        times = await timed(doors, 30)
        await doors.until(lambda: is_ready(doors, "bad"), 60)
        assert await doors.text("bad__echo", text="at last") == "at last"
        print(f"slowest call beside the flood: {max(times) * 1000:.0f} ms")
        assert median(times) < 2.0


async def test_a_server_whose_list_changes_all_the_time_makes_few_notifications(
    home: Path,
) -> None:
    async with beside(home) as doors, doors.connected() as raw:
        await doors.until(lambda: is_ready(doors, "bad"))
        session = await doors.initialize()
        listen = {"Accept": "text/event-stream", **session}
        await raw.send(doors.request("GET", "/mcp", headers=listen))
        assert (await raw.head())[0] == 200
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(150):
            await doors.text("bad__add_tool", name=f"more_{number}")
        took = loop.time() - began

        async def is_listed() -> bool:
            return "bad__more_149" in await doors.tools()

        await doors.until(is_listed)
        heard = 0
        while not heard or raw.reader._buffer:  # type: ignore[attr-defined]
            message = await raw.event()
            heard += message["method"] == "notifications/tools/list_changed"
        assert 1 <= heard <= 2 + took / 0.25


async def test_a_line_of_128_mb_costs_only_its_server(
    home: Path, record_property: Callable[[str, object], None]
) -> None:
    servers = {
        "good": stdio_stub("good", home, *FEW),
        "bad": stdio_stub("bad", home, *FEW, "--huge-line", "128"),
    }
    with running_hub(servers) as hub:
        process = psutil.Process(hub.process.pid)
        async with talking(hub) as good, talking(hub, "modern", "http") as bad:
            await good.call("good__echo", {"text": "warm"})
            before, most = process.memory_info().rss, 0
            waiting = asyncio.ensure_future(bad.fault("tools/call", {"name": "bad__echo"}))  # noqa: TID251
            loop, times = asyncio.get_running_loop(), []
            while not waiting.done():
                began = loop.time()
                assert text_of(await good.call("good__echo", {"text": "x"})) == "x"
                times.append(loop.time() - began)
                most = max(most, process.memory_info().rss)
                await asyncio.sleep(0.002)
            fault = await waiting
        assert "more than 16777216 bytes" in fault["message"]
        grown = (most - before) / MIB
        told = f"beside a line of 128 MB: {len(times)} calls answered, +{grown:.0f} MB"
        record_property("figure", told)
        assert median(times) < 2.0
        assert grown < 64


@pytest.mark.parametrize("kib", [63, 64, 65, 1024, 15 * 1024])
async def test_large_answers_pass_whole(home: Path, kib: int) -> None:
    async with beside(home) as doors:
        assert len(await doors.text("good__payload", kib=kib)) == kib * 1024


@pytest.mark.parametrize("pause", [0.01, 600.0])
async def test_a_server_that_exits_is_tried_again_after_a_pause_and_by_a_call_at_once(
    home: Path, pause: float
) -> None:
    patience = Patience(first_pause=pause, longest_pause=pause)
    async with beside(home, "--exit-at-once", "1", patience=patience) as doors:
        assert "exited with code 1" in (await trouble(doors))["text"]
        before = starts(home)
        if pause < 1:

            async def is_tried_again() -> bool:
                return starts(home) > before + 4

            await doors.until(is_tried_again)
        else:
            order = {"server": "bad", "tool": "x"}
            assert "exited with code 1" in str(await doors.run("toolyard_destroy", **order))
            assert starts(home) > before


def starts(home: Path) -> int:
    """How often the bad server was started."""
    return len(recorded(home / "bad.jsonl", "start"))


async def test_an_error_to_a_client_shows_no_path_and_no_code_of_ours(home: Path) -> None:
    async with beside(home, "--crash-on", "call") as doors:
        await doors.until(lambda: is_ready(doors, "bad"))
        said = json.dumps(await doors.run("bad__echo"))
        assert "Traceback" not in said
        assert not re.search(r"/(tmp|home|usr|root)/", said)
