from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn


def profile_file(home: Path, name: str) -> Path:
    return home / "config" / "toolyard" / "profiles" / f"{name}.json"


def test_a_profile_is_written_shown_and_removed(toolyard: Toolyard, home: Path) -> None:
    done = toolyard("profile", "set", "review", "--allow", "git", "--hide", "git/push")
    assert (done.code, "toolyard mcp --profile review" in done.out) == (0, True)
    assert json.loads(profile_file(home, "review").read_text()) == {
        "allow": ["git"],
        "hide": ["git/push"],
    }
    assert "review" in toolyard("profile", "list").out
    shown = toolyard("profile", "show", "review", "--json").json
    assert shown["hide"] == ["git/push"]
    assert toolyard("profile", "list", "--json").json == {"profiles": [shown]}
    assert toolyard("profile", "remove", "review").code == 0
    assert not profile_file(home, "review").exists()
    assert toolyard("profile", "show", "review").code == 4


def test_what_is_not_named_stays_as_it_is(toolyard: Toolyard, home: Path) -> None:
    toolyard("profile", "set", "x", "--allow", "git", "--rename", "git/log=history")
    toolyard("profile", "set", "x", "--hide", "git/push", "--expose", "search")
    said = json.loads(profile_file(home, "x").read_text())
    assert said == {
        "allow": ["git"],
        "hide": ["git/push"],
        "rename": {"git/log": "history"},
        "settings": {"expose": "search"},
    }
    toolyard("profile", "set", "x", "--separator", ".")
    said = json.loads(profile_file(home, "x").read_text())
    assert said["settings"] == {"separator": ".", "expose": "search"}
    toolyard("profile", "set", "x", "--fresh", "--allow", "files")
    assert json.loads(profile_file(home, "x").read_text()) == {"allow": ["files"]}


def test_variables_of_a_profile_are_written(toolyard: Toolyard, home: Path) -> None:
    assert toolyard("profile", "set", "x", "-e", "LEVEL=1").code == 0
    assert json.loads(profile_file(home, "x").read_text()) == {"environment": {"LEVEL": "1"}}


def test_a_profile_that_cannot_be_used_is_not_written(toolyard: Toolyard, home: Path) -> None:
    assert toolyard("profile", "set", "../x", "--allow", "git").code == 6
    assert toolyard("profile", "set", "x", "--rename", "git/log=bad name").code == 6
    assert toolyard("profile", "set", "x", "--rename", "git/log").code == 2
    assert not profile_file(home, "x").exists()


def test_a_running_hub_is_asked(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("profile", "list").code == 4  # the stand-in knows none of this
    assert [path for path, _ in hub.asked] == ["/api/v1/profiles"]
