"""A new feature is one folder and one line: every door knows it then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.reference import commands_page
from tests.doors.doors import NOBODY, open_doors
from tests.house import notes
from toolyard.command_line import run
from toolyard.doors.cli.entry import make_root
from toolyard.features import FEATURES

WITH_NOTES = (*FEATURES, notes.FEATURE)


async def test_the_hub_answers_its_operations_and_shows_its_report(home: Path) -> None:
    async with open_doors(home, NOBODY, features=WITH_NOTES) as doors:
        pinned = await doors.ask("POST", "/api/v1/notes", b'{"text": "buy milk"}')
        assert pinned.json() == {"name": "buy milk", "noticed": True, "done": True}
        assert (await doors.ask("GET", "/api/v1/notes")).json() == {"notes": ["buy milk"]}
        assert "buy milk" in [problem["text"] for problem in await doors.problems()]
        document = (await doors.ask("GET", "/api/v1/openapi.json")).json()
        assert document["paths"]["/api/v1/notes"]["post"]["summary"] == "Pin a note to the wall"


def test_its_command_works_without_a_hub(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = make_root(WITH_NOTES)
    assert run(["note", "buy milk"], root) == 0
    capfd.readouterr()

    assert run(["note", "--json"], root) == 0
    assert json.loads(capfd.readouterr().out) == {"notes": ["buy milk"]}


def test_its_command_has_its_place_in_the_reference() -> None:
    page = commands_page(make_root(WITH_NOTES))

    assert "\n## note\n" in page
    assert "Without TEXT, show what hangs there." in page
