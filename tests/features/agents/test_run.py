"""`toolyard agent run` and `toolyard mcp --agent`, as a user starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub, toolyard
from tests.e2e.test_profiles import ask
from tests.fixtures.forking import run as run_forked

SHOW = """
import json, os, sys, urllib.request
path = sys.argv[sys.argv.index("--mcp-config") + 1]
said = json.load(open(path))["mcpServers"]
shared = said["shared"]
body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}}
head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
asked = urllib.request.Request(shared["url"], json.dumps(body).encode(), head | shared["headers"])
answer = urllib.request.urlopen(asked)
print(json.dumps({"path": path, "servers": said, "status": answer.status,
                  "token": os.environ["TOOLYARD_TOKEN"]}))
sys.exit(7)
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as hub:
            said = {
                "enabled": True,
                "servers": {
                    "own": {"server": "one"},
                    "shared": {"server": "one", "mode": "shared"},
                    "lost": {"server": "nobody"},
                },
            }
            for agent in ("claude-code", "gemini"):
                command = toolyard("agent", "set", agent, "-")
                text = json.dumps(said)
                subprocess.run(command, env=hub.env, input=text, text=True, check=True)
            yield hub


def run(hub: RunningHub, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run_forked(toolyard("agent", "run", *words), env=hub.env, cwd=cwd)


def test_an_agent_is_handed_its_servers_for_one_run(hub: RunningHub) -> None:
    done = run(hub, "claude-code", "--", sys.executable, "-c", SHOW)
    assert done.returncode == 7, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert set(said["servers"]) == {"own", "shared"}
    assert said["status"] == 200
    assert "without 'lost'" in done.stderr
    assert not Path(said["path"]).exists()
    tokens = json.loads(hub.get("/api/v1/tokens")[1])["tokens"]
    assert tokens == []


def test_a_run_that_is_ended_cleans_up(hub: RunningHub, tmp_path: Path) -> None:
    path = tmp_path / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(before := b'{"theme": 1}\r\n')
    wait = "print('there', flush=True); import time; time.sleep(60)"
    command = toolyard("agent", "run", "gemini", "--", sys.executable, "-c", wait)
    with subprocess.Popen(command, env=hub.env, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"there"
        assert b"mcpServers" in path.read_bytes()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert path.read_bytes() == before


def test_a_dry_run_says_how_and_starts_nothing(hub: RunningHub, tmp_path: Path) -> None:
    done = run(hub, "gemini", "--dry-run", "--json", "--", "gemini", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["servers"] == ["own", "shared"]
    assert said["merged"] == str(tmp_path / ".gemini" / "settings.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("nobody", "--", "true"), 4, "unknown agent"),
        (("codex", "--executor", "nowhere", "--", "true"), 4, "unknown executor"),
        (("codex", "--", "no-such-program-here"), 4, "cannot start"),
        (("codex",), 2, "COMMAND"),
    ],
)
def test_what_cannot_be_run_is_said(
    hub: RunningHub, words: tuple[str, ...], code: int, text: str
) -> None:
    done = run(hub, *words)
    assert done.returncode == code, done
    assert text in done.stderr
    assert "Traceback" not in done.stderr


async def test_the_stdio_entry_of_an_agent_shows_what_it_is_given(hub: RunningHub) -> None:
    _, listed = await ask(hub.env, "--agent", "CLAUDE_CODE")
    names = {tool["name"] for tool in listed["result"]["tools"]}
    assert names == {f"{name}__{tool}" for name in ("own", "shared") for tool in ("echo", "env")}
    _, listed = await ask(hub.env, "--agent=claude-code", "--server", "own")
    assert {tool["name"] for tool in listed["result"]["tools"]} == {"echo", "env"}
    for answer in await ask(hub.env, "--agent", "nobody"):
        assert "unknown agent 'nobody'" in answer["error"]["message"]
