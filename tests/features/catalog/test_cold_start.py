"""A hub that starts lists what the catalog has on file at once, and starts nothing for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.doors.doors import open_doors
from toolyard.features.catalog.store import Catalog

pytestmark = pytest.mark.slow

SERVERS, TOOLS = 30, 20


def stock(root: Path, mark: Path) -> None:
    """Add thirty servers with tools on file; each would leave a mark if it were started."""
    catalog = Catalog(root)
    for number in range(SERVERS):
        name = f"server{number:02}"
        tools = [
            {"name": f"tool_{each}", "description": "does it", "inputSchema": {"type": "object"}}
            for each in range(TOOLS)
        ]
        touch = f"open({str(mark / name)!r}, 'w')"
        runtime = {"command": sys.executable, "args": ["-c", touch]}
        definition = {"name": name, "title": name, "runtime": runtime, "tools": tools}
        catalog.put(json.dumps(definition).encode())
        catalog.add(name, {})


async def test_the_first_list_is_whole_and_no_process_was_started(home: Path) -> None:
    mark = home / "started"
    mark.mkdir()
    stock(home / "data" / "catalog", mark)

    async with open_doors(home) as doors:
        listed = await doors.tools()
        status = await doors.get("/api/v1/status")

    assert sum(name.startswith("server") for name in listed) == SERVERS * TOOLS
    states = {each["status"] for each in status["servers"] if each["source"] == "catalog"}
    assert states == {"known"}
    assert list(mark.iterdir()) == []
