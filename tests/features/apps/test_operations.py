"""Programs of apps: which are on this machine, and one started from the control API."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.doors.doors import Answer, Doors, open_doors
from tests.fixtures.ports import free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its programs are for Linux")


def define(home: Path) -> Path:
    """Define an app with one program that is here and one that is not; give what it writes."""
    mark = home / "launched"
    program = home / "studio"
    program.write_text(f"#!/bin/sh\nenv > {mark}.part && mv {mark}.part {mark}\n")
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


async def test_a_program_that_is_here_is_listed_and_started_without_our_secrets(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for secret in ("TOOLYARD_TOKEN", "TOOLYARD_KEY", "PGPASSWORD"):
        monkeypatch.setenv(secret, "hush-0123456789-0123456789-0123456789")
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
        assert "hush" not in mark.read_text()


async def test_a_program_that_is_not_here_is_not_started(home: Path) -> None:
    define(home)
    async with open_doors(home) as doors:
        answer = await ask_for(doors, "Studio Dev")
        assert answer.status == 422
        assert "there are: Studio" in answer.json()["hint"]
        assert (await ask_for(doors, "Studio", "nothing")).status == 404


async def test_an_app_is_defined_changed_and_taken_away(home: Path) -> None:
    define(home)
    async with open_doors(home) as doors:

        async def put(name: str, **said: object) -> Answer:
            return await doors.ask("PUT", f"/api/v1/apps/{name}", json.dumps(said).encode())

        assert (await put("atelier", variants={"dev": free_port()}, match="at")).json()["noticed"]
        found = await doors.get("/api/v1/apps/atelier")
        assert (found["own"], found["match"], found["path"]) == (True, "at", "/mcp")

        assert (await put("studio", variants={"new": free_port()})).json()["noticed"]
        assert [v["name"] for v in (await doors.get("/api/v1/apps/studio"))["variants"]] == ["new"]
        # Its programs are not lost by what a form cannot say.
        assert (await doors.get("/api/v1/apps/studio/installed"))["installed"]

        assert (await doors.ask("DELETE", "/api/v1/apps/atelier")).json()["noticed"]
        assert (await doors.ask("GET", "/api/v1/apps/atelier")).status == 404
        assert (await doors.ask("DELETE", "/api/v1/apps/atelier")).status == 404


async def test_an_app_that_cannot_be_is_refused_with_a_reason(home: Path) -> None:
    async with open_doors(home) as doors:
        for name, variants in (("Bad Name", {"a": 1}), ("twins", {"a": 1, "b": 1}), ("none", {})):
            body = json.dumps({"variants": variants}).encode()
            answer = await doors.ask("PUT", f"/api/v1/apps/{name}".replace(" ", "%20"), body)
            assert answer.status == 422 and answer.json()["hint"]
        (shipped,) = (await doors.get("/api/v1/apps"))["apps"]
        answer = await doors.ask("DELETE", f"/api/v1/apps/{shipped['name']}")
        assert answer.status == 409 and not shipped["own"]
