"""The official Inspector lists and calls through both doors, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.hub import TOKEN, RunningHub, toolyard

PATIENCE = 60.0
ECHO = ("--tool-arg", "text=hi")
CALLS = [
    ("tools/list",),
    ("tools/call", "--tool-name", "old__echo", *ECHO),
    ("tools/call", "--tool-name", "newweb__echo", *ECHO),
]


pytestmark = pytest.mark.timeout(600)  # the first time, the Inspector is fetched


@pytest.fixture(scope="session")
def inspector(node24: ModuleType) -> list[str]:
    """The command of the Inspector."""
    return [str(node24.node()), str(node24.INSPECTOR), "--cli"]


def target(hub: RunningHub, door: str) -> list[str]:
    """What the Inspector is told to connect to."""
    if door == "http":
        return [hub.mcp, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"]
    # It gives its children next to nothing of its environment.
    found = [f"TOOLYARD_HOME={hub.home}", f"PYTHONPATH={hub.env['PYTHONPATH']}"]
    command, *words = toolyard("mcp")
    return [command, *(part for pair in found for part in ("-e", pair)), *words]


async def inspect(command: list[str], home: Path) -> Any:
    """Run the Inspector; what it prints."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(out)


@pytest.mark.parametrize("door", ["line", "http"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls(
    yard: RunningHub, inspector: list[str], home: Path, era: str, door: str
) -> None:
    common = [*inspector, *target(yard, door), "--protocol-era", era, "--method"]
    results = await asyncio.gather(*(inspect([*common, *words], home) for words in CALLS))
    listed, old, new = results
    assert {"old__echo", "newweb__echo"} <= {tool["name"] for tool in listed["tools"]}
    assert old["content"] == new["content"] == [{"type": "text", "text": "hi"}]


async def test_the_hubs_own_tools_have_schemas_that_every_model_takes(
    inspector: list[str], home: Path
) -> None:
    """With the bundled example behind it, so that its schemas are looked at too."""
    command, *words = toolyard("mcp", "--standalone")
    source = str(Path(__file__).parents[2] / "src")
    place = ["-e", f"TOOLYARD_HOME={home}", "-e", f"PYTHONPATH={source}"]
    asked = ["--method", "tools/list", "--strict"]
    result = await inspect([*inspector, command, *place, *words, *asked], home)
    assert "toolyard_destroy" in [tool["name"] for tool in result["tools"]]
