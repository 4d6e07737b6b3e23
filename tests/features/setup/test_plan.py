"""A setup is planned before anything is changed, and only that plan is carried out."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from toolyard.console.exits import Exit
from toolyard.features.setup import commands

TOKEN = "ghp_notARealTokenOnlyForThisTest0123"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, home: Path, no_keyring: None) -> None:
    """No client is installed but those a test makes."""
    monkeypatch.setenv("PATH", str(home / "bin"))
    monkeypatch.chdir(home)


def give(home: Path, file: str, servers: dict[str, Any], **more: Any) -> Path:
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers, **more}))
    return path


def plan_of(toolyard: Toolyard) -> dict[str, Any]:
    plan: dict[str, Any] = toolyard("setup", "--dry-run", "--json").json["plan"]
    return plan


def servers_in(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {server["name"]: server for server in plan["servers"]}


def clients_in(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {client["client"]: client for client in plan["clients"]}


def test_nothing_is_changed_by_a_preview_or_without_a_yes(toolyard: Toolyard, home: Path) -> None:
    cursor = give(home, ".cursor/mcp.json", {"a": {"command": "a", "env": {"TOKEN": TOKEN}}})
    before = cursor.read_bytes()

    tried = toolyard("setup", "--dry-run")
    refused = toolyard("setup")

    assert "npx" not in tried.out and "toolyard in place of 1 server" in tried.out
    assert TOKEN not in tried.out + tried.err + toolyard("setup", "--dry-run", "--json").out
    assert refused.code == Exit.USAGE and "no terminal" in refused.err
    assert cursor.read_bytes() == before
    assert not (home / "config" / "toolyard" / "servers.json").exists()


def test_an_interrupt_that_comes_when_all_is_done_is_not_taken_for_one_that_undid_it(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt_and_conclude(*words: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        conclude(*words)

    conclude = commands._conclude
    monkeypatch.setattr(commands, "_conclude", interrupt_and_conclude)
    cursor = give(home, ".cursor/mcp.json", {"a": {"command": "a"}})

    done = toolyard("setup", "--yes", "--no-wait")

    assert done.code == Exit.OK and "restart the clients" in done.err
    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["toolyard"]


def test_a_home_without_servers_has_nothing_to_set_up(toolyard: Toolyard, home: Path) -> None:
    cursor = give(home, ".cursor/mcp.json", {})
    before = cursor.read_bytes()

    done = toolyard("setup")
    as_json = toolyard("setup", "--json")

    assert done.code == 0 and "No client on this machine has servers to move" in done.out
    assert as_json.code == 0 and as_json.json["done"] is None
    assert cursor.read_bytes() == before


def test_an_empty_home_is_told_so_without_empty_tables(toolyard: Toolyard) -> None:
    done = toolyard("setup")

    sentence = "No client on this machine has servers to move. Add one with: toolyard add\n"
    assert (done.code, done.out) == (0, sentence)


def test_servers_secrets_and_profiles_come_into_the_yard(toolyard: Toolyard, home: Path) -> None:
    give(home, ".cursor/mcp.json", {"a": {"command": "a", "env": {"TOKEN": TOKEN}}})
    give(home, ".gemini/settings.json", {"g": {"command": "g", "includeTools": ["read"]}})

    done = toolyard("setup", "--yes", "--no-wait", "--json").json["done"]

    assert (done["servers"], done["connected"]) == (["a", "g"], ["cursor", "gemini"])
    assert (done["secrets"], done["failed"]) == (["a-token"], [])
    config = home / "config" / "toolyard"
    written = json.loads((config / "servers.json").read_text())["mcpServers"]
    store = home / "state" / "toolyard" / "secrets"
    assert written["a"]["env"] == {"TOKEN": f"${{file:{store / 'a-token'}}}"}
    hidden = json.loads((config / "profiles" / "gemini.json").read_text())["hide"]
    assert hidden == ["g/*", "!g/read"]
    # Nobody ever used it without: neither does a client that had it not.
    assert sorted(done["profiles"]) == ["cursor", "gemini"]


def test_a_server_that_one_client_uses_freely_is_free_for_those_that_had_it_not(
    toolyard: Toolyard, home: Path
) -> None:
    give(home, ".cursor/mcp.json", {"s": {"command": "s"}})
    give(home, ".gemini/settings.json", {"s": {"command": "s", "excludeTools": ["rm"]}})
    give(home, ".codeium/windsurf/mcp_config.json", {})

    clients = clients_in(plan_of(toolyard))

    hides = {name: client["hides"] for name, client in clients.items()}
    assert hides == {"cursor": [], "gemini": ["s/rm"], "windsurf": []}


def test_a_server_that_one_client_had_switched_off_stays_hidden_there(
    toolyard: Toolyard, home: Path
) -> None:
    give(home, ".cursor/mcp.json", {"s": {"command": "s"}})
    give(home, ".codeium/windsurf/mcp_config.json", {"s": {"command": "s", "disabled": True}})

    clients = clients_in(plan_of(toolyard))

    assert (clients["windsurf"]["hides"], clients["cursor"]["hides"]) == (["s"], [])


def test_what_cannot_be_kept_stays_or_is_named(toolyard: Toolyard, home: Path) -> None:
    guarded = {"command": "g", "sandbox": True}
    keys = {"url": "http://127.0.0.1:1/mcp", "headersHelper": "x", "oauth": {"clientId": "c"}}
    cursor = give(home, ".cursor/mcp.json", {"guarded": guarded, "web": keys})
    broken = home / ".codex" / "config.toml"
    broken.parent.mkdir()
    broken.write_text("broken = [")

    plan = plan_of(toolyard)
    shown = toolyard("setup", "--dry-run").out
    done = toolyard("setup", "--yes", "--no-wait", "--json").json["done"]

    servers = servers_in(plan)
    assert servers["guarded"]["action"] == "leave" and "sandbox" in servers["guarded"]["reason"]
    assert [part["key"] for part in servers["web"]["not_kept"]] == ["headersHelper", "oauth"]
    assert clients_in(plan)["cursor"]["stays"] == ["guarded"]
    assert clients_in(plan)["codex"]["action"] == "skip"
    assert "'guarded' stays where it is" in shown and "toolyard auth login web" in shown
    assert done["connected"] == ["cursor"]
    assert set(json.loads(cursor.read_text())["mcpServers"]) == {"guarded", "toolyard"}
    assert broken.read_text() == "broken = ["


def test_a_client_that_is_connected_stays_so_in_its_way(toolyard: Toolyard, home: Path) -> None:
    cursor = give(home, ".cursor/mcp.json", {"s": {"command": "s"}})
    toolyard("connect", "cursor", "--agent", "coder", "--yes")

    toolyard("setup", "--yes", "--no-wait")

    entries = json.loads(cursor.read_text())["mcpServers"]
    assert list(entries) == ["toolyard"] and entries["toolyard"]["args"][-1] == "coder"


def test_only_the_plan_that_was_shown_is_carried_out(toolyard: Toolyard, home: Path) -> None:
    import os

    from toolyard.console.here import run_here
    from toolyard.core.errors import ConflictError
    from toolyard.features.setup.operations import (
        SetupOrder,
        SetupQuestion,
        carry_out_setup,
        get_setup_plan,
    )
    from toolyard.settings import read_settings

    settings = read_settings({}, os.environ)
    give(home, ".cursor/mcp.json", {"s": {"command": "s", "env": {"TOKEN": TOKEN}}})
    plan = run_here(settings, get_setup_plan, SetupQuestion())
    give(home, ".cursor/mcp.json", {"s": {"command": "s", "env": {"TOKEN": TOKEN[::-1]}}})

    with pytest.raises(ConflictError, match="meanwhile"):
        run_here(settings, carry_out_setup, SetupOrder(plan=plan.id))
    assert not (home / "config" / "toolyard" / "servers.json").exists()


def test_trouble_on_the_way_leaves_everything_as_it_was(toolyard: Toolyard, home: Path) -> None:
    config = home / "config" / "toolyard"
    config.mkdir(mode=0o700)
    (config / "servers.json").write_text('{"mcpServers": {"mine": {"command": "m"}}}  // mine\n')
    (config / "profiles").write_text("in the way")
    cursor = give(home, ".cursor/mcp.json", {"a": {"command": "a", "env": {"TOKEN": TOKEN}}})
    gemini = give(home, ".gemini/settings.json", {"g": {"command": "g", "includeTools": []}})
    before = [path.read_bytes() for path in (cursor, gemini, config / "servers.json")]

    done = toolyard("setup", "--yes", "--no-wait")

    assert done.code != 0
    assert before == [path.read_bytes() for path in (cursor, gemini, config / "servers.json")]
    assert not (home / "state" / "toolyard" / "secrets" / "a-token").exists()
    assert toolyard("secret", "list", "--json").json["secrets"] == []


def test_package_names_are_shown_whole_and_long_paths_are_not(
    toolyard: Toolyard, home: Path
) -> None:
    package = "@modelcontextprotocol/server-sequential-thinking"
    folder = "/srv/a/very/long/path/to/some/folder"
    give(home, ".cursor/mcp.json", {"s": {"command": "npx", "args": ["-y", package, folder]}})

    shown = toolyard("setup", "--dry-run").out

    assert f"npx -y {package} .../folder" in shown


def test_a_server_of_one_project_is_taken_for_that_project_alone(
    toolyard: Toolyard, home: Path
) -> None:
    work = home / "work"
    work.mkdir()
    local = {str(work): {"mcpServers": {"s": {"url": "http://127.0.0.1:1/mcp"}}}}
    claude = give(home, ".claude.json", {}, projects=local)

    toolyard("setup", "--yes", "--no-wait")

    assert json.loads(claude.read_text())["projects"] == {str(work): {"mcpServers": {}}}
    written = json.loads((home / "config" / "toolyard" / "servers.json").read_text())["mcpServers"]
    assert written["s"]["project"] == str(work)
    # What everybody has elsewhere is more than what one project has here.
    give(home, ".cursor/mcp.json", {"s": {"url": "http://127.0.0.1:1/mcp"}})
    (server,) = plan_of(toolyard)["servers"]
    assert server["action"] == "leave" and str(work) in server["reason"]


def test_the_file_of_a_project_is_left_to_its_project(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    shared = give(home, "work/.mcp.json", {"s": {"command": "s"}})
    before = shared.read_bytes()
    give(home, ".claude.json", {"t": {"command": "t"}})

    plan = plan_of(toolyard)
    toolyard("setup", "--yes", "--no-wait")

    assert servers_in(plan)["s"]["action"] == "leave"
    assert servers_in(plan)["s"]["sources"][0]["project"] == str(work)
    assert shared.read_bytes() == before
