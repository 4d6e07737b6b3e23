"""One command takes eighteen servers of five clients into one yard, and can be taken back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.cli.conftest import Toolyard
from tests.features.setup.machine import (
    GITHUB,
    READY,
    SECRETS,
    TAKEN,
    contents,
    fill,
    stub,
)
from tests.features.setup.person import SOURCE, at_terminal
from tests.fixtures.ports import free_port
from toolyard.console.exits import Exit
from toolyard.features.clients.toml import parse_toml
from toolyard.records.runfile import RunDir
from toolyard.settings import read_settings

pytestmark = pytest.mark.slow
UNASKED = (
    *("/api/mcp-config", "/api/v1/published", "/api/v1/render", "/api/v1/resolve", "/api/v1/why"),
    *("/api/v1/events", "/api/v1/servers/{alias}/shareable"),
)
"""Paths that want to be told more, stay open, or start processes."""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[None]:
    """No client but those a test makes, no keyring, a port of our own, and no hub afterwards."""
    monkeypatch.setenv("PATH", str(home / "bin"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("TOOLYARD_PORT", str(free_port()))
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    yield
    with at_terminal("down") as person:
        person.wait_end()


def yard_files(home: Path) -> list[Path]:
    """Everything in the home that the yard keeps for its user, but locks and what a hub leaves."""
    config = home / "config" / "toolyard"
    secrets = home / "state" / "toolyard" / "secrets"
    files = [path for folder in (config, secrets) for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if path.suffix != ".lock" and path.name != "toolyard-backups"]


def leaks(home: Path) -> list[tuple[Path, str]]:
    """Files outside of the secret store that hold a secret."""
    store = home / "state" / "toolyard" / "secrets"
    files = [path for path in home.rglob("*") if path.is_file() and store not in path.parents]
    return [
        (path, secret)
        for path in files
        for secret in SECRETS
        if secret.encode() in path.read_bytes()
    ]


def servers_of(home: Path) -> dict[str, list[str]]:
    """The names of the servers in every client's file."""
    claude = json.loads((home / ".claude.json").read_text())
    cursor = (home / ".cursor" / "mcp.json").read_text()
    codex = parse_toml((home / ".codex" / "config.toml").read_bytes())
    gemini = json.loads((home / ".gemini" / "settings.json").read_text())
    vscode = json.loads((home / "config" / "Code" / "User" / "mcp.json").read_text())
    return {
        "claude-code": list(claude["mcpServers"]),
        "cursor": ["toolyard"] if cursor.count('"command"') == 1 else [],
        "codex": list(codex["mcp_servers"]),
        "gemini": list(gemini["mcpServers"]),
        "vscode": list(vscode["servers"]),
    }


def tools_for(entry: dict[str, Any], folder: Path) -> set[str]:
    """The tools that a client sees which starts this entry in a folder."""
    ask = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]  # fmt: skip
    command = [entry["command"], *entry["args"]]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write("".join(json.dumps(message) + "\n" for message in ask))
        process.stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == 2:
                process.stdin.close()
                return {tool["name"] for tool in message["result"]["tools"]}
    raise AssertionError("it never answered")


def page_says() -> str:
    """All that the page can ask the hub for, of the yard and of every server."""
    run_dir = RunDir(read_settings({}, os.environ).runtime_dir)
    state = run_dir.read()
    assert state is not None

    def get(path: str) -> bytes:
        headers = {"Authorization": f"Bearer {run_dir.token()}"}
        try:
            with urlopen(Request(state.url + path, headers=headers)) as answer:
                body: bytes = answer.read()
        except HTTPError as error:
            body = error.read()
        return body

    paths = json.loads(get("/api/v1/openapi.json"))["paths"]
    asked = [path for path, orders in paths.items() if "get" in orders and path not in UNASKED]
    aliases = [server["alias"] for server in json.loads(get("/api/v1/servers"))["servers"]]
    each = [path.format(alias=alias) for path in asked if "{alias}" in path for alias in aliases]
    return b"\n".join(map(get, [*(path for path in asked if "{" not in path), *each])).decode()


def test_eighteen_servers_of_five_clients_come_into_one_yard_and_go_back(
    toolyard: Toolyard, home: Path
) -> None:
    before = fill(home)
    with at_terminal("setup") as person:
        person.wait_for("[y/N]")
        assert contents(before) == before and yard_files(home) == []
        person.type("y\n")
        code = person.wait_end()
    assert code == 0, person.screen

    assert f"{READY} of {TAKEN} servers can be used" in person.screen
    assert "missing" in person.screen and person.screen.count("not ready") == TAKEN - READY
    assert "'trusted' goes on without trust (gemini)" in person.screen
    assert [secret for secret in SECRETS if secret in person.screen] == []
    assert leaks(home) == []
    said = page_says()
    assert "github-token" in said and [secret for secret in SECRETS if secret in said] == []
    assert set(map(tuple, servers_of(home).values())) == {("toolyard",)}
    claude = json.loads((home / ".claude.json").read_text())
    assert claude["projects"] == {str(home / "work"): {"mcpServers": {}}}

    gemini = json.loads((home / ".gemini" / "settings.json").read_text())["mcpServers"]["toolyard"]
    codex = parse_toml((home / ".codex" / "config.toml").read_bytes())["mcp_servers"]["toolyard"]
    cursor = toolyard("connect", "cursor", "--dry-run", "--json").json["changes"]
    assert gemini["args"][-2:] == ["--profile", "gemini"]
    assert codex["args"][-2:] == ["--profile", "codex"]
    assert [change["changed"] for change in cursor] == [True]  # its profile would go
    seen = tools_for(gemini, home)
    assert {"limited__tool_0", "picked__tool_0"} <= seen
    assert not {"limited__tool_1", "picked__tool_1"} & seen
    assert not {name for name in seen if name.startswith("local__")}
    seen = tools_for(codex, home / "work")
    assert {name for name in seen if name.startswith("local__")}
    assert {name for name in seen if name.startswith("picked__")} == {
        "picked__tool_0",
        "picked__tool_2",
    }

    written = json.loads((home / "config" / "toolyard" / "servers.json").read_text())["mcpServers"]
    assert written["limited"]["timeout"] == 30
    assert written["two"]["env"] == {"MODE": "fast", "LEVEL": "2"}
    again = toolyard("setup", "--dry-run")
    assert "There is nothing to do." in again.out

    assert toolyard("undo", "--yes").code == 0
    assert contents(before) == before
    third = toolyard("setup", "--dry-run", "--json").json["plan"]
    assert {server["action"] for server in third["servers"]} == {"present"}
    assert GITHUB not in json.dumps(third)


def small(home: Path) -> dict[Path, bytes]:
    """Two clients, with a server that never answers."""
    cursor = {
        "a": stub("a", env={"GITHUB_TOKEN": GITHUB}),
        "b": stub("b"),
        "hangs": stub("hangs", "--hang", "init"),
    }
    gemini = {"c": stub("c", excludeTools=["echo"])}
    files = {home / ".cursor" / "mcp.json": cursor, home / ".gemini" / "settings.json": gemini}
    for path, servers in files.items():
        path.parent.mkdir()
        path.write_text(json.dumps({"mcpServers": servers}))
    return contents(files)


MOMENTS = (
    ("[y/N]", False),
    ("Add 4 servers", False),
    ("\nadded 4 servers", True),
    ("stored 1 secret", True),
    ("connected", True),
    ("starting 4 servers", True),
    ("  a      ready", True),
    ("  b      ready", True),
    ("  c      ready", True),
    ("starting 1: hangs", True),
)


def test_an_interrupt_at_any_moment_leaves_everything_as_it_was(
    toolyard: Toolyard, home: Path
) -> None:
    before = small(home)
    with at_terminal("up", "--detach") as person:
        assert person.wait_end() == 0, person.screen
    for moment, is_confirmed in MOMENTS:
        with at_terminal("setup") as person:
            if is_confirmed:
                person.wait_for("[y/N]")
                person.type("y\n")
            person.wait_for(moment)
            person.interrupt() if is_confirmed else person.insist()
            assert person.wait_end() == Exit.INTERRUPTED, person.screen
        assert contents(before) == before, moment
        assert yard_files(home) == [], moment
        assert leaks(home) == [(home / ".cursor" / "mcp.json", GITHUB)], moment
        assert ("undone: everything is as it was" in person.screen) is is_confirmed


def test_an_interrupt_stops_the_hub_that_was_started_for_it(toolyard: Toolyard, home: Path) -> None:
    before = small(home)
    with at_terminal("setup", "--yes") as person:
        person.wait_for("starting 1: hangs")
        person.interrupt()
        assert person.wait_end() == Exit.INTERRUPTED, person.screen

    assert contents(before) == before
    assert toolyard("status").code == Exit.NO_HUB
