"""`add` with a link or a text shows what it says, asks, and keeps secrets out of the file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.keyrings import InMemory
from toolyard.console.exits import Exit
from toolyard.core.install_links import cursor_link, vscode_link
from toolyard.features.servers.store import ServersFile

ENTRY = {"command": "npx", "args": ["-y", "files"], "env": {"MODE": "x"}}


def written(home: Path) -> dict[str, Any]:
    file = ServersFile(home / "config" / "toolyard" / "servers.json")
    return {server.id.name: file.entry(server.id.name) for server in file.load().servers}


def test_a_link_is_added_after_a_yes(toolyard: Toolyard, home: Path) -> None:
    link = cursor_link("files", ENTRY)

    tried = toolyard("add", link, "--dry-run")
    assert tried.code == 0 and "npx -y files" in tried.out and "with MODE=x" in tried.out
    unasked = toolyard("add", link)
    assert unasked.code == Exit.USAGE and "--yes" in unasked.err
    assert written(home) == {}

    assert toolyard("add", link, "--yes").code == 0
    assert written(home) == {"files": ENTRY}
    assert toolyard("add", link, "--yes").code == Exit.REFUSED
    assert toolyard("add", "more", vscode_link("files", ENTRY), "-y", "--disabled").code == 0
    assert written(home)["more"] == {**ENTRY, "disabled": True}


def test_json_comes_from_stdin(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"mcpServers": {"a": ENTRY, "b": {"url": "https://b.example.com/mcp"}}})
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    done = toolyard("add", "-", "--yes", "--json")

    assert done.json["servers"] == ["a", "b"]
    assert set(written(home)) == {"a", "b"}


def test_the_values_of_a_link_are_given_or_asked_for_and_secrets_are_kept(
    toolyard: Toolyard, home: Path, a_keyring: None
) -> None:
    entry = {"command": "run", "env": {"KEY": "${input:key}", "SITE": "${input:site}"}}
    inputs = [{"id": "key", "password": True}, {"id": "site"}]
    link = vscode_link("web", {**entry, "inputs": inputs})

    missing = toolyard("add", link, "--yes", "--value", "site=here")
    assert missing.code == Exit.USAGE and "--value key=" in missing.err
    seen = toolyard("add", link, "--yes", "--value", "site=x", "--value", "key=fake-secret")
    assert seen.code == Exit.USAGE and "fake-secret" not in seen.err
    unknown = toolyard("add", link, "--yes", "--value", "nothing=x")
    assert unknown.code == Exit.USAGE and "key, site" in unknown.err

    words = ("--value", "site=a${b}", "--value", "key=${keyring:mine}")
    assert toolyard("add", link, "--yes", *words).code == 0
    assert written(home)["web"]["env"] == {"KEY": "${keyring:mine}", "SITE": "a$${b}"}


def test_a_token_in_pasted_json_moves_into_the_store(
    toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch, a_keyring: InMemory
) -> None:
    token = "ghp_fakefakefakefakefakefakefakefake0000"
    text = json.dumps({"git": {"command": "run", "env": {"GIT_TOKEN": token}, "timeout": 5}})
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert toolyard("add", "-", "--yes").code == 0

    assert list(a_keyring.kept.values()) == [token]
    entry = written(home)["git"]
    assert entry["env"]["GIT_TOKEN"].startswith("${keyring:") and entry["timeout"] == 5


def test_flags_that_describe_the_server_do_not_go_with_a_link(
    toolyard: Toolyard, home: Path
) -> None:
    done = toolyard("add", cursor_link("a", ENTRY), "-e", "A=b", "--yes")

    assert done.code == Exit.USAGE and "toolyard edit" in done.err


def test_nothing_in_a_link_can_look_like_our_own_words(toolyard: Toolyard, home: Path) -> None:
    entry = {"command": "run\nAdd it? yes", "args": ["\x1b[2J"]}

    done = toolyard("add", cursor_link("a", entry), "--dry-run")

    assert "\\nAdd it?" in done.out and "\x1b" not in done.out
