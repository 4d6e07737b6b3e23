"""Policies from the command line, against a real hub in a fresh home."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
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


def test_a_policy_is_previewed_before_it_counts(hub: RunningHub) -> None:
    run(hub, "agent", "add-server", "codex", "tool", "--server", "one")
    words = ("policy", "set", "docker", "deny=tool,x", "deny=y", "allow_sse=false")
    assert "codex with docker: lost tool" in run(hub, *words, "--dry-run")
    assert "then add --yes" in run(hub, *words, code=5)
    assert ask(hub, "policy", "show", "docker")["policy_of"] == "the default"
    assert "plans of codex changed" in run(hub, *words, "--yes")
    policy = ask(hub, "policy", "show", "docker")["policy"]
    assert (policy["deny"], policy["allow_sse"]) == (["tool", "x", "y"], False)
    run(hub, "policy", "set", "docker", "env_injection=A=b=c", "deny=z", "--yes")
    policy = ask(hub, "policy", "show", "docker")["policy"]
    assert policy["env_injection"] == {"A": "b=c"}
    assert (policy["deny"], policy["allow_sse"]) == (["z"], False)
    assert "neither true nor false" in run(hub, "policy", "set", "docker", "allow_sse=x", code=6)
    assert "unknown executor" in run(hub, "policy", "show", "dokcer", code=4)
    run(hub, "policy", "set", "docker", "deny=tool", "--yes")
    story = run(hub, "agent", "why", "codex", "one__echo", "--executor", "docker")
    assert story.splitlines()[:2] == [
        "'echo' of 'tool' is left out: the policy of docker denies 'tool'",
        "decided by: deny 'tool'",
    ]
    run(hub, "policy", "reset", "docker", "--yes")
    assert "is given 'echo' of 'tool'" in run(
        hub, "agent", "why", "codex", "echo", "--executor", "docker"
    )
