"""Agents from the command line, against a real hub in a fresh home."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub, toolyard


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as running:
            yield running


def run(hub: RunningHub, *words: str, code: int = 0, stdin: str = "") -> str:
    """Run a command; what it said on both streams."""
    done = subprocess.run(
        toolyard(*words), env=hub.env, input=stdin, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == code, (words, done)
    return done.stdout + done.stderr


def ask(hub: RunningHub, *words: str) -> Any:
    """Run a command that answers in JSON."""
    return json.loads(run(hub, "--json", *words))


def test_a_list_is_made_and_resolved_step_by_step(hub: RunningHub) -> None:
    listed = {row["id"]: row for row in ask(hub, "agent", "list")["agents"]}
    assert listed["cursor"]["configured"] is False
    run(hub, "agent", "add-server", "CURSOR", "mine", "--server", "one")
    said = run(
        *(hub, "agent", "add-server", "cursor", "docs", "--url", "http://localhost:9/mcp"),
        *("-H", "Authorization: Bearer sk-0123456789abcdef", "--mode", "shared"),
    )
    assert "secret in clear text" in said and "sk-0123" not in said
    run(hub, "agent", "add-server", "cursor", "fs", "-e", "A=1", "--", "no-such", "-x")
    assert "already" in run(hub, "agent", "add-server", "cursor", "fs", "--server", "one", code=5)
    shown = run(hub, "agent", "show", "cursor")
    assert "in use" in shown and "no-such -x" in shown and "sk-0123" not in shown
    made = ask(hub, "agent", "resolve", "cursor", "--session", "s1")
    assert [plan["name"] for plan in made["servers"]] == ["docs", "fs", "mine"]
    assert made["session"] == "s1"
    run(hub, "agent", "disable", "cursor")
    assert "switched off" in run(hub, "agent", "resolve", "cursor")
    assert "agent enable cursor" in run(hub, "agent", "why", "cursor", "mine")
    run(hub, "agent", "enable", "cursor")
    run(hub, "agent", "remove-server", "cursor", "fs")
    assert "docs, mine" in run(hub, "agent", "remove-server", "cursor", "fs", code=4)


def test_a_file_is_taken_whole_or_not_at_all(hub: RunningHub, tmp_path: Path) -> None:
    file = tmp_path / "gemini.json"
    file.write_text('{"mcpServers": {"mine": {"server": "one"}, /* a word */ }}')
    run(hub, "agent", "set", "gemini", str(file))
    assert ask(hub, "agent", "show", "gemini")["config"]["servers"] == {
        "mine": {"server": "one", "mode": "auto"}
    }
    bad = '{"servers": {"a": {}, "b": {"comand": "x"}}}'
    said = run(hub, "agent", "set", "gemini", "-", stdin=bad, code=6)
    assert "wrong: server 'a'" in said and "no 'comand'" in said
    assert list(ask(hub, "agent", "show", "gemini")["config"]["servers"]) == ["mine"]
    assert "not JSON" in run(hub, "agent", "set", "gemini", "-", stdin="{", code=6)
    run(hub, "agent", "set", "gemini", "-", "--executor", "ssh", stdin='{"enabled": false}')
    assert "switched off" in run(hub, "agent", "show", "gemini", "--executor", "ssh")
    assert ask(hub, "agent", "resolve", "gemini", "--executor", "ssh")["enabled"] is False
    run(hub, "agent", "unset", "gemini", "--executor", "ssh")
    assert ask(hub, "agent", "resolve", "gemini", "--executor", "ssh")["enabled"] is True


def test_agents_of_ones_own_come_and_go(hub: RunningHub) -> None:
    run(hub, "agent", "add", "my-agent", "--transport", "stdio", "--title", "Mine")
    assert ask(hub, "agent", "show", "my-agent")["title"] == "Mine"
    run(hub, "agent", "remove", "my-agent")
    assert "there are:" in run(hub, "agent", "show", "my-agent", code=4)
    assert "known from the start" in run(hub, "agent", "remove", "codex", code=5)
    assert "'pigeon' is unknown" in run(hub, "agent", "add", "x", "--transport", "pigeon", code=6)


def test_a_tool_that_waits_for_approval_says_so() -> None:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo")}
        with running_hub(servers, home=home) as hub:
            run(hub, "agent", "add-server", "codex", "one", "--server", "one")
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home, env={"TOOLYARD_PINS_NEW": "hold"}) as hub:
            story = ask(hub, "agent", "why", "codex", "env")
            assert story["verdict"] == "held" and "toolyard approve one --dry-run" in story["hint"]


def test_a_shell_completes_the_names_of_agents(hub: RunningHub) -> None:
    run(hub, "agent", "add", "cursory", "--transport", "stdio")
    words = {"COMP_WORDS": "toolyard agent show cur", "COMP_CWORD": "3"}
    env = {**hub.env, "_TOOLYARD_COMPLETE": "bash_complete", **words}
    done = subprocess.run(toolyard(), env=env, capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["plain,cursor", "plain,cursory"]
    run(hub, "agent", "remove", "cursory")


def test_a_shell_completes_the_agents_that_are_known_while_no_hub_runs() -> None:
    with new_home() as home:
        words = {"COMP_WORDS": "toolyard agent run c", "COMP_CWORD": "3"}
        env = {**os.environ, "TOOLYARD_HOME": str(home), **words}
        env["_TOOLYARD_COMPLETE"] = "bash_complete"
        done = subprocess.run(toolyard(), env=env, capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["plain,codex", "plain,claude-code", "plain,cursor"]
