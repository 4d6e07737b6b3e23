"""`import --from` takes servers and profiles of another hub in, and says what it left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.keyrings import InMemory
from toolyard.console.exits import Exit
from toolyard.core.profiles import Profile
from toolyard.features.clients.peers.planning import plan_import
from toolyard.features.clients.peers.table import find_peer, read_peer

FILES = Path(__file__).parent / "files"


def servers(toolyard: Toolyard) -> set[str]:
    rows = toolyard("list", "--json").json["servers"]
    return {row["name"] for row in rows if row["source"] == "configured"}


def profiles(toolyard: Toolyard) -> dict[str, list[str]]:
    rows = toolyard("profile", "list", "--json").json["profiles"]
    return {row["name"]: row.get("allow", []) for row in rows}


def test_a_dry_run_shows_all_and_writes_nothing(toolyard: Toolyard, home: Path) -> None:
    done = toolyard("import", "--from", "mcpproxy", str(FILES / "mcpproxy.json"), "--dry-run")

    assert done.code == 0
    assert "notes-server" in done.out and "profile 'writing'" in done.out
    assert "'boxed' loses its restrictions: isolation" in done.out
    assert "not imported from mcpproxy: profiles.careful, listen, api_key" in done.out
    assert "fake-key" not in done.out + done.err
    assert servers(toolyard) == set() and profiles(toolyard) == {}


def test_servers_and_profiles_come_in_and_a_second_time_nothing_is_new(
    toolyard: Toolyard, home: Path
) -> None:
    words = ("import", "--from", "mcpproxy", str(FILES / "mcpproxy.json"), "--yes")
    done = toolyard(*words)

    assert done.code == 0 and "imported 3 servers and 3 profiles" in done.out
    assert "toolyard secret set notes-token" in done.out
    assert "add --yes-unrestricted" in done.err
    assert servers(toolyard) == {"notes", "weather", "strange"}
    assert profiles(toolyard) == {
        "writing": ["notes", "weather/forecast", "weather/radar"],
        "sky": ["weather/forecast", "weather/radar"],
        "mcpproxy": ["notes", "weather/forecast", "weather/radar", "strange", "boxed"],
    }
    shown = toolyard("profile", "show", "mcpproxy", "--json").json
    assert shown["hide"] == ["notes/delete_note"]

    again = toolyard(*words, "--yes-unrestricted", "--json").json

    assert [row["name"] for row in again["servers"] if row["taken"]] == ["boxed"]
    assert all(row["present"] and not row["taken"] for row in again["profiles"])


def test_without_a_terminal_somebody_must_have_said_yes(toolyard: Toolyard, home: Path) -> None:
    done = toolyard("import", "--from", "litellm", str(FILES / "litellm.yaml"))

    assert done.code == Exit.USAGE and "--yes" in done.err
    assert servers(toolyard) == set()


def test_without_a_file_the_usual_place_is_read(toolyard: Toolyard, home: Path) -> None:
    folder = home / ".docker" / "mcp"
    shutil.copytree(FILES / "docker", folder)

    done = toolyard("import", "--from", "docker", "--yes", "--json").json

    assert [row["name"] for row in done["servers"]] == ["shelf", "maps"]
    assert done["servers"][0]["secrets_needed"] == ["shelf.api_key"]
    assert any("sha256:" in word for word in done["servers"][0]["runs"])
    assert {"key": "{{shelf.language}}", "opens": False} in done["servers"][0]["not_taken"]


def test_a_place_without_a_file_is_named(toolyard: Toolyard, home: Path) -> None:
    done = toolyard("import", "--from", "mcpm", "--dry-run")

    assert done.code == Exit.CONFIG
    assert "~/.config/mcpm/servers.json" in done.err and "--from mcpm FILE" in done.err


def test_an_unknown_hub_is_answered_with_those_that_are_known(
    toolyard: Toolyard, home: Path
) -> None:
    done = toolyard("import", "--from", "mcp-proxy")

    assert done.code == Exit.NOT_FOUND and "mcpproxy" in done.err


def test_secrets_move_into_the_store_and_are_found_there_again(
    toolyard: Toolyard, home: Path, tmp_path: Path, a_keyring: InMemory
) -> None:
    path = tmp_path / "servers.json"
    entry = {"name": "a", "url": "https://a.example.com/mcp"}
    headers = {"Authorization": "Bearer ghp_fakefakefakefakefakefakefakefake0000"}
    path.write_text(json.dumps({"a": entry | {"headers": headers}}))
    words = ("import", "--from", "mcpm", str(path))

    tried = toolyard(*words, "--dry-run")
    assert "would move secrets of 'a'" in tried.out and "ghp_" not in tried.out
    assert a_keyring.kept == {}

    done = toolyard(*words, "--yes")
    assert done.code == 0 and "ghp_" not in done.out + done.err
    assert "ghp_" not in (home / "config" / "toolyard" / "servers.json").read_text()
    assert "ghp_" in " ".join(a_keyring.kept.values())
    assert "are in the yard already" in toolyard(*words, "--yes").out


@pytest.mark.parametrize("is_same", [True, False])
def test_a_profile_that_is_there_is_never_overwritten(is_same: bool) -> None:
    files = read_peer(find_peer("mcpm"), [FILES / "mcpm" / "servers.json"])
    own = Profile("work", "At the desk", ("time", "search")) if is_same else Profile("work")

    plan = plan_import("mcpm", files, {}, {"work": own})

    (work,) = [planned for planned in plan.profiles if planned.profile.name.startswith("work")]
    assert (work.profile.name, work.is_present) == (
        ("work", True) if is_same else ("work-mcpm", False)
    )


def test_a_server_that_runs_already_keeps_its_name_in_profiles() -> None:
    files = read_peer(find_peer("mcpm"), [FILES / "mcpm" / "servers.json"])
    (clock,) = [server for server in files[0].servers if server.name == "time"]

    plan = plan_import("mcpm", files, {"clock": clock.written.endpoint}, {})

    assert plan.servers[0].is_present and plan.servers[0].name == "clock"
    (home,) = [planned.profile for planned in plan.profiles if planned.profile.name == "home"]
    assert home.allow == ("clock",)


def test_a_selection_without_servers_is_named_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "mcp_settings.json"
    path.write_text('{"mcpServers": {}, "groups": [{"name": "empty", "servers": ["gone"]}]}')

    plan = plan_import("mcphub", read_peer(find_peer("mcphub"), [path]), {}, {})

    assert plan.profiles == ()
    assert [part.key for part in plan.untaken] == ["gone in empty", "empty (it shows nothing)"]
