from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from toolyard.console.exits import Exit


def test_list_reads_the_file_when_no_hub_runs(toolyard: Toolyard) -> None:
    toolyard("add", "notes", "--", "sh")
    toolyard("add", "docs", "--disabled", "--url", "https://example.com/mcp")

    servers = toolyard("list", "--json").json["servers"]

    assert [(each["name"], each["transport"], each["enabled"]) for each in servers] == [
        ("notes", "stdio", True),
        ("docs", "http", False),
    ]
    listed = toolyard("list")
    assert "disabled" in listed.out
    assert listed.err.startswith("note: no hub is running, so this list comes straight from /")


def test_list_names_the_example_until_there_is_a_server(toolyard: Toolyard) -> None:
    assert [each["name"] for each in toolyard("list", "--json").json["servers"]] == ["example"]


def test_list_asks_the_hub_unless_a_file_is_named(
    toolyard: Toolyard, hub: StandIn, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text('{"mcpServers": {"mine": {"command": "sh"}}}')

    assert [each["name"] for each in toolyard("list", "--json").json["servers"]] == ["files"]
    listed = toolyard("list", "--json", "--config", str(mine)).json
    assert [each["name"] for each in listed["servers"]] == ["mine"]
    told = toolyard("list", "--config", str(mine)).err
    assert (
        told
        == f"note: the running hub uses another file, so this list comes straight from {mine}\n"
    )


def test_list_shows_one_bad_entry_beside_the_good_ones(toolyard: Toolyard, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text('{"mcpServers": {"bad": {}, "good": {"command": "sh"}}}')

    done = toolyard("list", "--config", str(mine))

    assert done.code == Exit.OK
    assert "good" in done.out
    assert f"where: {mine}:1" in done.out


def test_a_file_that_is_no_json_is_one_error(toolyard: Toolyard, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("{nonsense")

    done = toolyard("list", "--config", str(mine))

    assert done.code == Exit.CONFIG
    assert len(done.err.splitlines()) == 2


def test_refresh_tells_the_hub(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("server", "refresh").code == Exit.OK
    assert hub.asked == [("/api/v1/refresh", {})]
