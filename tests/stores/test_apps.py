"""The folder of definitions, and what comes with us."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolyard.core.apps import App
from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.stores.apps import AppsFolder

MINE = App("mine", "mine", (("dev", 4000),), title="Mine")


@pytest.fixture
def folder(tmp_path: Path) -> AppsFolder:
    return AppsFolder(tmp_path / "apps")


def test_kunobi_comes_with_us_as_it_was_designed(folder: AppsFolder) -> None:
    (app,) = folder.load().apps
    assert (app.name, app.title, app.match, app.path) == ("kunobi", "Kunobi", "kunobi", "/mcp")
    assert app.prefix == "KUNOBI"
    ports = {"legacy": 3030, "stable": 3200, "unstable": 3300, "dev": 3400}
    assert dict(app.variants) == {**ports, "local": 3500, "e2e": 3600}
    labels = ["Kunobi", "Kunobi Dev", "Kunobi Unstable", "Kunobi E2E", "Kunobi Local"]
    assert [install.label for install in app.installs] == labels
    for install in app.installs:
        assert all(install.places_on(each) for each in ("linux", "macos", "windows"))
    assert app.installs[1].launch_on("macos") == ("open", "-a", "{place}")


def test_a_definition_is_written_found_and_removed(folder: AppsFolder) -> None:
    before = folder.mark()
    path = folder.put(MINE)
    assert path.name == "mine.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.mark() != before
    assert MINE in folder.load().apps
    folder.remove("mine")
    assert MINE not in folder.load().apps


def test_only_the_users_own_can_be_removed(folder: AppsFolder) -> None:
    folder.put(MINE)
    with pytest.raises(UnknownNameError) as caught:
        folder.remove("kunobi")
    assert "mine" in caught.value.hint


def test_a_users_definition_takes_the_place_of_a_shipped_one(folder: AppsFolder) -> None:
    folder.put(App("kunobi", "kunobi", (("dev", 4000),)))
    (app,) = folder.load().apps
    assert app.variants == (("dev", 4000),)


def test_one_bad_file_is_one_problem_and_costs_nobody_else(folder: AppsFolder) -> None:
    folder.put(MINE)
    (folder.folder / "broken.json").write_text('{"name": "broken", ')
    (folder.folder / "other.json").write_text('{"name": "another", "variants": {"a": 1}}')
    (folder.folder / "empty.json").write_text("")
    (folder.folder / "wide.json").write_text('{"name": "wide", "variants": {"a": 99999}}')
    loaded = folder.load()
    assert [app.name for app in loaded.apps] == ["kunobi", "mine"]
    assert [Path(p.subject).stem for p in loaded.problems] == ["broken", "empty", "other", "wide"]
    assert all(p.code == "app-file" and p.hint for p in loaded.problems)


def test_comments_and_trailing_commas_are_fine(folder: AppsFolder) -> None:
    folder.folder.mkdir()
    text = '{"name": "mine", /* ours */ "variants": {"dev": 4000,},}'
    (folder.folder / "mine.json").write_text(text)
    assert MINE in folder.load().apps


def test_what_cannot_be_an_app_is_not_written(folder: AppsFolder) -> None:
    with pytest.raises(ConfigError):
        folder.put(App("../up", "x", (("dev", 4000),)))
    with pytest.raises(ConfigError):
        folder.put(App("mine", "x", (("dev", 0),), title="Mine"))
    assert not folder.folder.exists()
