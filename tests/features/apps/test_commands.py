from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from toolyard.console.exits import Exit

VARIANT = {
    "name": "dev",
    "port": 3400,
    "url": "http://127.0.0.1:3400/mcp",
    "status": "reconnecting",
    "tools": 12,
    "listening": False,
    "misses": 2,
    "conflict": None,
    "since": "2026-11-15T12:00:00+00:00",
}
APP: dict[str, Any] = {
    "name": "kunobi",
    "title": "Kunobi",
    "match": "kunobi",
    "path": "/mcp",
    "enabled": True,
    "interval_ms": 5000,
    "leaves_after": 3,
    "last_scan": "2026-11-15T12:00:05+00:00",
    "variants": [VARIANT],
    "own": False,
}


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "config" / "toolyard" / "apps"


def test_an_app_is_added_listed_and_removed(toolyard: Toolyard, folder: Path) -> None:
    words = ("--variant", "dev=4000", "--variant", "e2e=4100", "--match", "My App")
    done = toolyard("app", "add", "mine", *words, "--path", "/", "--title", "Mine")
    assert (done.code, done.err) == (Exit.OK, "")
    assert json.loads((folder / "mine.json").read_text()) == {
        "name": "mine",
        "title": "Mine",
        "match": "My App",
        "path": "/",
        "variants": {"dev": 4000, "e2e": 4100},
    }
    rows = [line.split() for line in toolyard("app", "list").out.splitlines()]
    assert ["mine", "e2e", "4100", "-", "-", "-"] in rows
    assert ["kunobi", "dev", "3400", "-", "-", "-"] in rows
    assert toolyard("app", "remove", "mine").code == Exit.OK
    assert not (folder / "mine.json").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("mine",), Exit.USAGE),
        (("mine", "--variant", "dev"), Exit.USAGE),
        (("mine", "--variant", "dev=1", "--variant", "dev=2"), Exit.USAGE),
        (("mine", "--variant", "dev=0"), Exit.CONFIG),
        (("mine", "--variant", "dev=65536"), Exit.CONFIG),
        (("mine", "--variant", "dev=x"), Exit.CONFIG),
        (("mine", "--variant", "a__b=1"), Exit.CONFIG),
        (("../mine", "--variant", "dev=1"), Exit.CONFIG),
        (("configured", "--variant", "dev=1"), Exit.CONFIG),
    ],
)
def test_what_cannot_be_an_app_is_refused_and_nothing_written(
    toolyard: Toolyard, folder: Path, words: tuple[str, ...], code: Exit
) -> None:
    done = toolyard("app", "add", *words)
    assert done.code == code
    assert "hint:" in done.err
    assert not folder.exists()


def test_an_app_of_mine_is_replaced_only_if_asked(toolyard: Toolyard) -> None:
    assert toolyard("app", "add", "mine", "--variant", "dev=1").code == Exit.OK
    assert toolyard("app", "add", "mine", "--variant", "dev=2").code == Exit.REFUSED
    assert toolyard("app", "add", "mine", "--variant", "dev=2", "--force").code == Exit.OK


def test_new_ports_for_a_shipped_app_keep_how_it_is_installed(
    toolyard: Toolyard, folder: Path
) -> None:
    assert toolyard("app", "add", "kunobi", "--variant", "dev=4400").code == Exit.OK
    written = json.loads((folder / "kunobi.json").read_text())
    assert (written["variants"], written["environment"]) == ({"dev": 4400}, "KUNOBI")
    assert len(written["installs"]) == 5


def test_a_shipped_app_cannot_be_removed_but_left_alone(toolyard: Toolyard) -> None:
    done = toolyard("app", "remove", "kunobi")
    assert done.code == Exit.REFUSED
    assert "TOOLYARD_KUNOBI_SCAN_ENABLED=false" in done.err
    assert toolyard("app", "remove", "nothing").code == Exit.NOT_FOUND


def test_a_file_that_cannot_be_read_is_replaced_only_if_asked(
    toolyard: Toolyard, folder: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "mine.json").write_text('{"name": "mine", ')
    assert toolyard("app", "add", "mine", "--variant", "dev=1").code == Exit.REFUSED
    assert toolyard("app", "add", "mine", "--variant", "dev=1", "--force").code == Exit.OK


def test_the_hub_is_asked_for_its_apps_if_it_runs(toolyard: Toolyard, hub: StandIn) -> None:
    hub.apps = [APP]
    assert toolyard("app", "list", "--json").json["apps"] == [APP]
    row = toolyard("app", "list").out.splitlines()[1]
    assert row.split() == ["kunobi", "dev", "3400", "reconnecting", "12", "2"]


def test_the_doctor_tells_what_is_scanned_and_whom_it_waits_for(
    toolyard: Toolyard, hub: StandIn
) -> None:
    hub.status["apps"] = [APP]
    said = toolyard("doctor").out
    assert "app 'kunobi' looks at ports 3400 every 5000 ms, last at 2026-11-15T12:00:05" in said
    assert "variant 'dev': reconnecting since 2026-11-15T12:00:00" in said
    assert "variant 'dev': missed 2 times in a row" in said
