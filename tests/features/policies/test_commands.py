"""Policies from the command line, against a real hub in a fresh home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with new_home() as home:
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home) as running:
            yield running


def test_a_policy_is_previewed_before_it_counts(hub: RunningHub) -> None:
    hub.run("agent", "add-server", "codex", "tool", "--server", "one")
    words = ("policy", "set", "docker", "deny=tool,x", "deny=y", "allow_sse=false")
    assert "codex with docker: lost tool" in hub.run(*words, "--dry-run")
    assert "then add --yes" in hub.run(*words, code=5)
    assert hub.ask("policy", "show", "docker")["policy_of"] == "the default"
    assert "plans of codex changed" in hub.run(*words, "--yes")
    policy = hub.ask("policy", "show", "docker")["policy"]
    assert (policy["deny"], policy["allow_sse"]) == (["tool", "x", "y"], False)
    hub.run("policy", "set", "docker", "env_injection=A=b=c", "deny=z", "--yes")
    policy = hub.ask("policy", "show", "docker")["policy"]
    assert policy["env_injection"] == {"A": "b=c"}
    assert (policy["deny"], policy["allow_sse"]) == (["z"], False)
    assert "neither true nor false" in hub.run("policy", "set", "docker", "allow_sse=x", code=6)
    assert "unknown executor" in hub.run("policy", "show", "dokcer", code=4)
    hub.run("policy", "set", "docker", "deny=tool", "--yes")
    story = hub.run("agent", "why", "codex", "one__echo", "--executor", "docker")
    assert story.splitlines()[:2] == [
        "'echo' of 'tool' is left out: the policy of docker denies 'tool'",
        "decided by: deny 'tool'",
    ]
    hub.run("policy", "reset", "docker", "--yes")
    assert "is given 'echo' of 'tool'" in hub.run(
        "agent", "why", "codex", "echo", "--executor", "docker"
    )
