"""The folder of definitions, and what comes with us."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolyard.core.apps import App
from toolyard.core.errors import ConfigError, NotOursError, UnknownNameError
from toolyard.features.apps.store import AppRecords, defined_apps, open_apps
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces

MINE = App("mine", "mine", (("dev", 4000),), title="Mine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "apps"


@pytest.fixture
def records(folder: Path) -> AppRecords:
    return open_apps(RecordPlaces(Follower()), folder)


def test_kunobi_comes_with_us_as_it_was_designed(records: AppRecords) -> None:
    (app,) = defined_apps(records).apps.values()
    assert (app.name, app.title, app.match, app.path) == ("kunobi", "Kunobi", "kunobi", "/mcp")
    assert app.prefix == "KUNOBI"
    ports = {"legacy": 3030, "stable": 3200, "unstable": 3300, "dev": 3400}
    assert dict(app.variants) == {**ports, "local": 3500, "e2e": 3600}
    labels = ["Kunobi", "Kunobi Dev", "Kunobi Unstable", "Kunobi E2E", "Kunobi Local"]
    assert [install.label for install in app.installs] == labels
    for install in app.installs:
        assert all(install.places_on(each) for each in ("linux", "macos", "windows"))
    assert app.installs[1].launch_on("macos") == ("open", "-a", "{place}")


def test_a_definition_is_written_found_and_removed(records: AppRecords, folder: Path) -> None:
    records.write("mine", MINE)
    path = folder / "mine.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert defined_apps(records).apps["mine"] == MINE
    records.remove("mine")
    assert "mine" not in defined_apps(records).apps and not path.exists()


def test_only_the_users_own_can_be_removed(records: AppRecords) -> None:
    records.write("mine", MINE)
    with pytest.raises(UnknownNameError) as caught:
        records.remove("nothing")
    assert "mine" in caught.value.hint
    with pytest.raises(NotOursError) as refused:
        records.remove("kunobi")
    assert "TOOLYARD_KUNOBI_SCAN_ENABLED=false" in refused.value.hint


def test_a_users_definition_takes_the_place_of_a_shipped_one(records: AppRecords) -> None:
    records.write("kunobi", App("kunobi", "kunobi", (("dev", 4000),)))
    (app,) = defined_apps(records).apps.values()
    assert app.variants == (("dev", 4000),)


def test_one_bad_file_is_one_problem_and_costs_nobody_else(
    records: AppRecords, folder: Path
) -> None:
    records.write("mine", MINE)
    (folder / "broken.json").write_text('{"name": "broken", ')
    (folder / "other.json").write_text('{"name": "another", "variants": {"a": 1}}')
    (folder / "empty.json").write_text("")
    (folder / "wide.json").write_text('{"name": "wide", "variants": {"a": 99999}}')
    defined = defined_apps(records)
    assert list(defined.apps) == ["kunobi", "mine"]
    problems = defined.kept.problems
    assert [Path(p.subject).stem for p in problems] == ["broken", "empty", "other", "wide"]
    assert all(p.code == "app-file" and p.hint for p in problems)


def test_comments_and_trailing_commas_are_fine(records: AppRecords, folder: Path) -> None:
    folder.mkdir()
    text = '{"name": "mine", /* ours */ "variants": {"dev": 4000,},}'
    (folder / "mine.json").write_text(text)
    assert defined_apps(records).apps["mine"] == MINE


def test_what_cannot_be_an_app_is_not_written(records: AppRecords, folder: Path) -> None:
    with pytest.raises(ConfigError):
        records.write("../up", App("../up", "x", (("dev", 4000),)))
    with pytest.raises(ConfigError):
        records.write("mine", App("mine", "x", (("dev", 0),), title="Mine"))
    assert not folder.exists()
