from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn


def kept(home: Path) -> Path:
    return home / "config" / "toolyard" / "passports.json"


def test_the_table_is_shown_without_a_hub(toolyard: Toolyard) -> None:
    done = toolyard("clients", "quirks")
    assert done.code == 0
    assert "codex" in done.out
    rows = toolyard("clients", "quirks", "--json").json["passports"]
    codex = next(row for row in rows if row["name"] == "codex")
    assert (codex["longest_name"], codex["overridden"]) == (49, [])


def test_what_is_said_otherwise_is_written_marked_and_taken_back(
    toolyard: Toolyard, home: Path
) -> None:
    assert toolyard("clients", "quirks", "set", "codex", "longest_name=60", "relists=yes").code == 0
    assert toolyard("clients", "quirks", "set", "codex", "largest_result=0").code == 0
    assert json.loads(kept(home).read_text()) == {
        "codex": {"relists": True, "longest_name": 60, "largest_result": 0}
    }
    line = next(each for each in toolyard("clients", "quirks").out.splitlines() if "codex" in each)
    assert [word for word in line.split() if "*" in word] == ["yes*", "60*", "none*"]
    assert toolyard("clients", "quirks", "reset", "codex").code == 0
    assert json.loads(kept(home).read_text()) == {}
    assert toolyard("clients", "quirks", "reset", "codex").code == 4


def test_what_cannot_be_meant_is_not_written(toolyard: Toolyard, home: Path) -> None:
    assert toolyard("clients", "quirks", "set", "codex", "longest_name=7").code == 6
    assert toolyard("clients", "quirks", "set", "codex", "longest=60").code == 6
    assert toolyard("clients", "quirks", "set", "codex", "longest_name").code == 2
    assert toolyard("clients", "quirks", "set", "codex").code == 2
    assert not kept(home).exists()


def test_entries_under_a_former_id_are_those_of_the_client(toolyard: Toolyard, home: Path) -> None:
    file = kept(home)
    file.parent.mkdir(parents=True)
    file.write_text(
        """{
  // mine
  "my-editor": {"relists": false},
  "gemini-cli": {"longest_name": 40, "most_tools": 30},
  "gemini": {"longest_name": 45},
  "qwen-code": {"largest_result": 5000},
  "copilot-cli": {"relists": true}
}
"""
    )

    rows = {row["name"]: row for row in toolyard("clients", "quirks", "--json").json["passports"]}

    assert (rows["gemini"]["longest_name"], rows["gemini"]["most_tools"]) == (45, 30)
    assert rows["qwen"]["largest_result"] == 5000
    assert rows["copilot"]["overridden"] == ["relists"]
    assert rows.keys() & {"gemini-cli", "qwen-code", "copilot-cli"} == set()
    text = file.read_text()
    assert "// mine" in text and '"my-editor": {"relists": false}' in text
    toolyard("clients", "quirks", "set", "gemini", "most_tools=20")
    toolyard("clients", "quirks", "reset", "qwen")
    rows = {row["name"]: row for row in toolyard("clients", "quirks", "--json").json["passports"]}
    assert (rows["gemini"]["longest_name"], rows["gemini"]["most_tools"]) == (45, 20)
    assert rows["qwen"]["overridden"] == []


def test_a_running_hub_is_asked(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("clients", "quirks").code == 4  # the stand-in knows none of this
