"""A hub of this version beside one of the next, whose tables have one step more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors.doors import Doors, open_doors
from tests.e2e.hub import address_of, environment, new_home, stop
from tests.fixtures.hubs import names, order, sees, send, stub
from tests.fixtures.ports import free_port
from tests.fixtures.postgres import SharedYard
from toolyard.records.postgres.schema import STEPS

pytestmark = pytest.mark.slow

NEXT_VERSION = """
import sys
from toolyard.records.postgres import schema
step = schema.SchemaStep("CREATE TABLE of_the_next_version (one int)", least=int(sys.argv.pop(1)))
schema.STEPS = (*schema.STEPS, step)
from toolyard.command_line import run
sys.exit(run(sys.argv[1:]))
"""


@contextmanager
def hub_of_the_next_version(yard: SharedYard, least: int) -> Iterator[Doors]:
    """Start a hub that knows one step more, and lets in hubs that know `least` of them."""
    with new_home() as home:
        env = {**environment(home), **yard.environment}
        argv = [sys.executable, "-c", NEXT_VERSION, str(least), "up", "--port", str(free_port())]
        with open(home / "hub.err", "w") as errors:
            process = subprocess.Popen(
                argv,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            yield Doors(int(address_of(process, home).rpartition(":")[2]), home)
        finally:
            stop(process)


async def serves(hub: Doors, tool: str) -> None:
    async def has_tool() -> bool:
        return tool in await hub.tools()

    await hub.until(has_tool, 60)
    assert await hub.text(tool, text="hello") == "hello"


async def test_hubs_of_two_versions_serve_and_take_orders_side_by_side(
    home: Path, shared_yard: SharedYard
) -> None:
    (home / "old").mkdir()
    (home / "again").mkdir()
    async with open_doors(home / "old", **shared_yard.settings) as old:
        await order(old, "POST", "/servers", {"name": "one", "entry": stub("one")})
        with hub_of_the_next_version(shared_yard, least=1) as new:
            await serves(new, "one__echo")
            await order(new, "PUT", "/profiles/few", {"allow": ["one"]})
            await order(old, "PUT", "/profiles/more", {"allow": ["one"]})
            await serves(old, "one__echo")
            for hub in (old, new):
                await sees(
                    hub, "/profiles", lambda answer: {"few", "more"} <= names("profiles")(answer)
                )
                await sees(hub, "/history", lambda answer: len(answer["calls"]) == 2)
            # One of this version that starts only now finds the newer tables.
            async with open_doors(home / "again", **shared_yard.settings) as again:
                await serves(again, "one__echo")
                await order(again, "DELETE", "/profiles/few")
                await sees(new, "/profiles", lambda answer: "few" not in names("profiles")(answer))


async def test_a_hub_that_the_tables_left_behind_says_so_and_takes_no_orders(
    home: Path, shared_yard: SharedYard
) -> None:
    with hub_of_the_next_version(shared_yard, least=len(STEPS) + 1) as new:
        await order(new, "PUT", "/profiles/few", {"allow": ["one"]})
        async with open_doors(home, **shared_yard.settings) as old:
            await sees(old, "/status", lambda s: any("newer" in p["text"] for p in s["problems"]))
            answer = await send(old, "PUT", "/profiles/more", {"allow": ["one"]})
            assert answer.status >= 500 and "newer toolyard" in answer.body.decode()
        assert names("profiles")(await order(new, "GET", "/profiles")) == {"few"}
