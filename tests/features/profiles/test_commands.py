from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from toolyard.stores.tokens import TokensFile


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
    assert toolyard("profile", "show", "review", "--json").json["hide"] == ["git/push"]
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
    assert toolyard("token", "list").code == 4
    assert [path for path, _ in hub.asked] == ["/api/v1/profiles", "/api/v1/tokens"]


def test_a_token_is_made_listed_and_revoked(toolyard: Toolyard, home: Path) -> None:
    made = toolyard("token", "create", "cursor", "--servers", "git, files")
    token = made.out.strip()
    assert made.code == 0 and "not shown again" in made.err
    kept = TokensFile(home / "state" / "toolyard" / "tokens.json")
    found = kept.find(token.encode())
    assert found is not None and found.servers == {"git", "files"}
    (row,) = toolyard("token", "list", "--json").json["tokens"]
    assert (row["name"], row["servers"]) == ("cursor", ["files", "git"])
    assert toolyard("token", "revoke", "cursor").code == 0
    assert kept.find(token.encode()) is None
    assert toolyard("token", "revoke", "cursor").code == 4


def test_the_token_of_a_run_is_listed_with_its_executor(toolyard: Toolyard, home: Path) -> None:
    kept = TokensFile(home / "state" / "toolyard" / "tokens.json")
    kept.create("run-1", frozenset(), "", "codex", "docker")
    (row,) = toolyard("token", "list", "--json").json["tokens"]
    assert (row["agent"], row["executor"]) == ("codex", "docker")
    assert "docker" in toolyard("token", "list").out


def test_a_token_of_nothing_is_a_slip(toolyard: Toolyard) -> None:
    assert toolyard("token", "create", "x", "--servers", " , ").code == 2
    assert toolyard("token", "create", "x", "--profile", "nothing").code == 4
    assert toolyard("token", "create", "-x", "--servers", "a").code == 2
    assert toolyard("token", "create", "control").code == 6
