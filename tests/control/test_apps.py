"""Programs of apps: which are on this machine, and one started from the control API."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.hub import free_port
from tests.surfaces.doors import Answer, Doors, open_doors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its programs are for Linux")


def define(home: Path) -> Path:
    """Define an app with one program that is here and one that is not; give what it writes."""
    mark = home / "launched"
    program = home / "studio"
    program.write_text(f"#!/bin/sh\necho yes > {mark}\n")
    program.chmod(0o755)
    installs = [
        {"label": "Studio", "places": {"linux": [str(program)]}, "launch": {"linux": ["{place}"]}},
        {"label": "Studio Dev", "places": {"linux": ["/none/at/all"]}},
    ]
    app = {"name": "studio", "variants": {"dev": free_port()}, "installs": installs}
    (home / "apps").mkdir()
    (home / "apps" / "studio.json").write_text(json.dumps(app))
    return mark


async def ask_for(doors: Doors, label: str, app: str = "studio") -> Answer:
    body = json.dumps({"label": label}).encode()
    return await doors.ask("POST", f"/api/v1/apps/{app}/launch", body)


async def test_a_program_that_is_here_is_listed_and_started(home: Path) -> None:
    mark = define(home)
    async with open_doors(home) as doors:
        listed = (await doors.get("/api/v1/apps/studio/installed"))["installed"]
        assert [each["label"] for each in listed] == ["Studio"]
        assert listed[0]["command"] == [str(home / "studio")]
        assert not mark.exists()

        assert (await ask_for(doors, "Studio")).status == 200

        async def is_launched() -> bool:
            return mark.exists()

        await doors.until(is_launched)


async def test_a_program_that_is_not_here_is_not_started(home: Path) -> None:
    define(home)
    async with open_doors(home) as doors:
        answer = await ask_for(doors, "Studio Dev")
        assert answer.status == 422
        assert "there are: Studio" in answer.json()["hint"]
        assert (await ask_for(doors, "Studio", "nothing")).status == 404
