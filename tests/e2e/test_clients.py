"""What is written into clients' files leads to the hub that runs, whoever writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import INITIALIZE
from tests.e2e.hub import TOKEN, RunningHub, running_hub, toolyard


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    """A hub that reads another file than the usual one."""
    with running_hub({}, settle=False) as started:
        yield started


def by_page(hub: RunningHub, method: str, path: str) -> Any:
    """The answer of the control door, which the page asks."""
    head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    body = b"{}" if method == "POST" else None
    asked = urllib.request.Request(f"{hub.url}{path}", body, head, method=method)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read())


def programs() -> list[list[str]]:
    """The ways in which a person may start us here."""
    script = Path(sys.executable).with_name("toolyard")
    return [toolyard(), *([[str(script)]] if os.access(script, os.X_OK) else [])]


def test_the_page_and_the_command_line_write_the_same_entry(hub: RunningHub) -> None:
    config = str(hub.home / "config" / "servers.json")
    by_page(hub, "POST", "/api/v1/clients/cursor/connect")
    said = json.loads((hub.home / ".cursor" / "mcp.json").read_bytes())
    written = said["mcpServers"]["toolyard"]

    assert written["args"][-3:] == ["mcp", "--config", config]
    assert written["env"] == {"TOOLYARD_HOME": str(hub.home)}
    assert by_page(hub, "GET", "/api/v1/clients")["entry"] == written
    for program in programs():
        for words in (("connect", "codex", "--yes"), ("up", "--detach", "--json")):
            done = subprocess.run(
                [*program, *words], env=hub.env, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)["client"]["mcpServers"]["toolyard"]
        file = tomllib.loads((hub.home / ".codex" / "config.toml").read_text())
        assert (shown, file["mcp_servers"]["toolyard"]) == (written, written)


def by_command(hub: RunningHub, *words: str) -> None:
    """Run a command line beside the hub."""
    hub.run(*words)


def test_a_client_that_is_disconnected_by_command_loses_what_it_opened(hub: RunningHub) -> None:
    by_command(hub, "connect", "cursor", "--http", "--yes")
    said = json.loads((hub.home / ".cursor" / "mcp.json").read_bytes())
    entry = said["mcpServers"]["toolyard"]
    assert entry["url"] == hub.mcp
    head = {**entry["headers"], "Accept": "application/json, text/event-stream"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    asked = urllib.request.Request(
        hub.mcp, json.dumps(hello).encode(), {**head, "Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        head["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]

    stream = urllib.request.urlopen(urllib.request.Request(hub.mcp, headers=head), timeout=60)
    with stream:
        by_command(hub, "disconnect", "cursor", "--yes")
        while stream.readline():
            pass  # until it ends, or nothing comes for too long
    assert json.loads(hub.get("/api/v1/tokens")[1])["tokens"] == []
