"""Agents from the command line, against a real hub in a fresh home."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub, toolyard


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as running:
            yield running


def test_a_list_is_made_and_resolved_step_by_step(hub: RunningHub) -> None:
    listed = {row["id"]: row for row in hub.ask("agent", "list")["agents"]}
    assert listed["cursor"]["configured"] is False
    hub.run("agent", "add-server", "CURSOR", "mine", "--server", "one")
    said = hub.run(
        *("agent", "add-server", "cursor", "docs", "--url", "http://localhost:9/mcp"),
        *("-H", "Authorization: Bearer sk-0123456789abcdef", "--mode", "shared"),
    )
    assert "secret in clear text" in said and "sk-0123" not in said
    hub.run("agent", "add-server", "cursor", "fs", "-e", "A=1", "--", "no-such", "-x")
    assert "already" in hub.run("agent", "add-server", "cursor", "fs", "--server", "one", code=5)
    shown = hub.run("agent", "show", "cursor")
    assert "in use" in shown and "no-such -x" in shown and "sk-0123" not in shown
    made = hub.ask("agent", "resolve", "cursor", "--session", "s1")
    assert [plan["name"] for plan in made["servers"]] == ["docs", "fs", "mine"]
    assert made["session"] == "s1"
    hub.run("agent", "disable", "cursor")
    assert "switched off" in hub.run("agent", "resolve", "cursor")
    assert "agent enable cursor" in hub.run("agent", "why", "cursor", "mine")
    hub.run("agent", "enable", "cursor")
    hub.run("agent", "remove-server", "cursor", "fs")
    assert "docs, mine" in hub.run("agent", "remove-server", "cursor", "fs", code=4)


def test_a_file_is_taken_whole_or_not_at_all(hub: RunningHub, tmp_path: Path) -> None:
    file = tmp_path / "gemini.json"
    file.write_text('{"mcpServers": {"mine": {"server": "one"}, /* a word */ }}')
    hub.run("agent", "set", "gemini", str(file))
    assert hub.ask("agent", "show", "gemini")["config"]["servers"] == {
        "mine": {"server": "one", "mode": "auto"}
    }
    bad = '{"servers": {"a": {}, "b": {"comand": "x"}}}'
    said = hub.run("agent", "set", "gemini", "-", stdin=bad, code=6)
    assert "wrong: server 'a'" in said and "no 'comand'" in said
    assert list(hub.ask("agent", "show", "gemini")["config"]["servers"]) == ["mine"]
    assert "not JSON" in hub.run("agent", "set", "gemini", "-", stdin="{", code=6)
    hub.run("agent", "set", "gemini", "-", "--executor", "ssh", stdin='{"enabled": false}')
    assert "switched off" in hub.run("agent", "show", "gemini", "--executor", "ssh")
    assert hub.ask("agent", "resolve", "gemini", "--executor", "ssh")["enabled"] is False
    hub.run("agent", "unset", "gemini", "--executor", "ssh")
    assert hub.ask("agent", "resolve", "gemini", "--executor", "ssh")["enabled"] is True


def test_agents_of_ones_own_come_and_go(hub: RunningHub) -> None:
    hub.run("agent", "add", "my-agent", "--transport", "stdio", "--title", "Mine")
    assert hub.ask("agent", "show", "my-agent")["title"] == "Mine"
    hub.run("agent", "remove", "my-agent")
    assert "there are:" in hub.run("agent", "show", "my-agent", code=4)
    assert "known from the start" in hub.run("agent", "remove", "codex", code=5)
    assert "'pigeon' is unknown" in hub.run("agent", "add", "x", "--transport", "pigeon", code=6)


def test_a_tool_that_waits_for_approval_says_so() -> None:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo")}
        with running_hub(servers, home=home) as hub:
            hub.run("agent", "add-server", "codex", "one", "--server", "one")
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home, env={"TOOLYARD_PINS_NEW": "hold"}) as hub:
            story = hub.ask("agent", "why", "codex", "env")
            assert story["verdict"] == "held" and "toolyard approve one --dry-run" in story["hint"]


def test_a_shell_completes_the_names_of_agents(hub: RunningHub) -> None:
    hub.run("agent", "add", "cursory", "--transport", "stdio")
    words = {"COMP_WORDS": "toolyard agent show cur", "COMP_CWORD": "3"}
    env = {**hub.env, "_TOOLYARD_COMPLETE": "bash_complete", **words}
    done = subprocess.run(toolyard(), env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["plain,cursor", "plain,cursory"]
    hub.run("agent", "remove", "cursory")


def test_a_shell_completes_the_agents_that_are_known_while_no_hub_runs() -> None:
    with new_home() as home:
        words = {"COMP_WORDS": "toolyard agent run c", "COMP_CWORD": "3"}
        env = {**os.environ, "TOOLYARD_HOME": str(home), **words}
        env["_TOOLYARD_COMPLETE"] = "bash_complete"
        done = subprocess.run(toolyard(), env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["plain,codex", "plain,claude-code", "plain,cursor"]
