from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.stand_in import standing_in
from tests.features.catalog.registry import Shop, shop
from toolyard.command_line import run
from toolyard.console.exits import Exit
from toolyard.features.catalog.bundled_catalog import BUNDLED

pytestmark = pytest.mark.slow

Toolyard = Callable[..., tuple[int, Any, str]]
NO_HUB = "note: no hub is running; start one with: toolyard up --detach\n"


@pytest.fixture
def toolyard(capfd: pytest.CaptureFixture[str]) -> Toolyard:
    def call(*words: str) -> tuple[int, Any, str]:
        capfd.readouterr()
        code = run(["--json", "catalog", *words])
        said = capfd.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return call


@pytest.fixture
def root(home: Path) -> Path:
    return home / "data" / "toolyard" / "catalog"


def test_the_official_ones_are_offers_until_one_is_added(toolyard: Toolyard, root: Path) -> None:
    code, answer, _ = toolyard("list")

    assert code == Exit.OK
    assert len(answer["definitions"]) == len(list(BUNDLED.glob("*.json")))
    assert not any(each["added"] for each in answer["definitions"])
    assert toolyard("list", "--added")[1]["definitions"] == []

    code, answer, _ = toolyard("add", "time")

    assert (code, answer["launch"]) == (Exit.OK, "uvx mcp-server-time")
    assert [each["name"] for each in toolyard("list", "--added")[1]["definitions"]] == ["time"]
    assert json.loads((root / "added.json").read_text()) == {"servers": {"time": {"enabled": True}}}
    assert toolyard("remove", "time")[0] == Exit.OK
    assert toolyard("remove", "time")[0] == Exit.NOT_FOUND


def test_a_name_that_another_server_has_is_told(
    toolyard: Toolyard, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["add", "time", "--", "true"]) == Exit.OK

    _, answer, said = toolyard("add", "time")

    assert answer["alias"] == "time-catalog"
    assert "it is called 'time-catalog' in the yard, where 'time' is not free" in said
    run(["catalog", "add", "time"])
    assert "added 'time' as 'time-catalog': uvx" in capfd.readouterr().out
    assert toolyard("add", "fetch")[1]["alias"] == "fetch"


def test_what_an_added_server_lacks_is_said_at_once(toolyard: Toolyard, root: Path) -> None:
    code, _, said = toolyard("add", "brave-search")

    assert code == Exit.OK
    assert "BRAVE_API_KEY" in said
    assert "https://" in said

    code, answer, said = toolyard("add", "brave-search", "-e", "BRAVE_API_KEY=very-secret")

    assert (code, said) == (Exit.OK, NO_HUB)
    assert "very-secret" not in json.dumps(answer)
    assert toolyard("add", "time", "-e", "oops")[0] == Exit.USAGE


def test_a_wrong_name_is_answered_with_the_closest(toolyard: Toolyard) -> None:
    code, answer, _ = toolyard("show", "gihtub")

    assert code == Exit.NOT_FOUND
    assert "github" in answer["error"]["hint"]


def test_search_finds_by_what_a_server_does(toolyard: Toolyard) -> None:
    _, answer, _ = toolyard("search", "browser")

    names = [each["name"] for each in answer["definitions"]]
    assert {"playwright", "chrome-devtools"} <= set(names)
    assert "time" not in names


def test_search_finds_a_server_that_was_never_started_by_the_names_of_its_tools(
    toolyard: Toolyard,
) -> None:
    _, answer, _ = toolyard("search", "convert_time")
    assert answer["definitions"][0]["name"] == "time"
    _, shown, _ = toolyard("show", "time")
    assert (shown["verified_at"], shown["tools"]) == (None, 2)
    assert shown["tool_names"] == ["convert_time", "get_current_time"]


def test_a_definition_is_shown_with_what_it_starts_and_needs(toolyard: Toolyard) -> None:
    _, answer, _ = toolyard("show", "github")

    assert answer["launch"] == "https://api.githubcopilot.com/mcp/"
    assert [each["name"] for each in answer["variables"]] == ["GITHUB_TOKEN"]
    assert answer["file"].endswith("official/github.json")


def test_people_get_a_table_and_sentences(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["list"], ["show", "github"], ["search", "zzz"], ["validate"]):
        assert run(["catalog", *words]) == Exit.OK
    said = capfd.readouterr().out
    assert "needs:    GITHUB_TOKEN" in said
    assert "nothing in the catalog matches" in said
    assert "0 failed" in said


def test_all_that_we_ship_passes_the_strict_check(toolyard: Toolyard) -> None:
    code, answer, _ = toolyard("validate", "--strict", str(BUNDLED))

    failed = [each for each in answer["results"] if each["errors"] or each["advice"]]
    assert failed == []
    assert code == Exit.OK


def test_validate_names_each_file_and_mistake(toolyard: Toolyard, tmp_path: Path) -> None:
    good = {"name": "good", "runtime": {"command": "a"}, "tags": [1]}
    (tmp_path / "good.json").write_text(json.dumps(good))
    (tmp_path / "bad.json").write_text('{"name": "../x", "runtime": {"command": "a"}}')

    code, answer, _ = toolyard("validate", str(tmp_path), str(tmp_path / "none.json"))

    assert code == Exit.FAILED
    results = {Path(each["file"]).name: each for each in answer["results"]}
    assert "cannot name a server" in results["bad.json"]["errors"][0]
    assert results["none.json"]["errors"] == ["there is no such file"]
    assert results["good.json"]["errors"] == []
    assert any("tags.0" in text for text in results["good.json"]["advice"])
    assert answer["summary"]["files"] == 3
    assert toolyard("validate", str(tmp_path / "good.json"))[0] == Exit.OK
    assert toolyard("validate", "--strict", str(tmp_path / "good.json"))[0] == Exit.FAILED


def test_a_published_server_is_found_and_imported(toolyard: Toolyard, root: Path) -> None:
    with shop(Shop()) as base:
        _, found, _ = toolyard("search", "weather", "--registry", base)
        code, answer, _ = toolyard("import", "io.example/weather", "--registry", base)

    assert [each["server"]["name"] for each in found["servers"]] == ["io.example/weather"]
    assert (code, answer["launch"]) == (Exit.OK, "npx -y weather@1.0.0 ${CITY}")
    written = json.loads((root / "custom" / "weather.json").read_text())
    assert written["full_name"] == "io.example/weather"
    assert written["packages"][0]["identifier"] == "weather"
    assert written["runtime"]["command"] == "npx"
    assert toolyard("show", "io.example/weather")[1]["name"] == "weather"
    assert toolyard("remove", "weather", "--definition")[0] == Exit.OK
    assert not (root / "custom" / "weather.json").exists()


def test_a_running_hub_is_asked(toolyard: Toolyard) -> None:
    with standing_in() as hub:
        # The stand-in knows nothing of a catalog.
        assert toolyard("list", "--category", "search")[0] == Exit.NOT_FOUND
        assert toolyard("add", "time")[0] == Exit.NOT_FOUND

    asked = [path for path, _ in hub.asked]
    assert asked == ["/api/v1/catalog?category=search", "/api/v1/catalog/time"]


def test_shells_complete_the_names_of_definitions(toolyard: Toolyard) -> None:
    def complete(words: str, index: int) -> list[str]:
        env = {"_TOOLYARD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
        done = subprocess.run(
            [sys.executable, "-m", "toolyard"],
            env=os.environ | env,
            check=True,
            capture_output=True,
            text=True,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines() if line]

    assert complete("toolyard catalog add gi", 3) == ["git", "github", "gitlab"]
    assert complete("toolyard catalog remove ti", 3) == []
    toolyard("add", "time")
    assert complete("toolyard catalog remove ti", 3) == ["time"]


def test_an_import_never_takes_the_place_of_another(toolyard: Toolyard, root: Path) -> None:
    with shop(Shop()) as base:
        toolyard("import", "io.example/weather", "--registry", base)
        code, answer, _ = toolyard("import", "io.other/weather", "--registry", base)
        assert code == Exit.CONFIG
        assert "--as" in answer["error"]["hint"]
        code, answer, _ = toolyard(
            "import", "io.other/weather", "--registry", base, "--as", "other"
        )

    assert (code, answer["server"]) == (Exit.OK, "other")
