"""Where hubs share a database, commands say that servers and secrets go there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.hub import environment, new_home, toolyard
from tests.fixtures.forking import run as run_forked
from tests.fixtures.postgres import SharedYard, postgres, shared_yard

__all__ = ["postgres", "shared_yard"]
TOKEN = "ghp_notARealTokenOnlyForThisTest0123"
Run = Callable[..., str]


@pytest.fixture
def run(shared_yard: SharedYard) -> Iterator[Run]:
    """Run a command in an empty home whose yard is in a database."""
    with new_home() as home:
        file = home / ".cursor" / "mcp.json"
        file.parent.mkdir()
        entry = {"command": "a", "env": {"TOKEN": TOKEN}}
        file.write_text(json.dumps({"mcpServers": {"a": entry}}))
        env = environment(home) | shared_yard.environment | {"TOOLYARD_KEY": "k" * 43}

        def run(*words: str) -> str:
            done = run_forked(toolyard(*words), env=env, cwd=home)
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


def test_a_plan_says_that_secrets_move_into_the_database(run: Run) -> None:
    plan = json.loads(run("setup", "--dry-run", "--json"))["plan"]

    assert plan["secrets_in"] == "database"
    assert "1 secret will move into the database that hubs share." in run("setup", "--dry-run")


def test_what_is_written_into_the_database_is_said_to_be_there(run: Run) -> None:
    assert "added 'files' in the shared database" in run("add", "files", "--no-wait", "--", "sh")
    added = json.loads(run("add", "--json", "--no-wait", "more", "--", "sh"))
    assert added["file"] is None
    assert "removed 'files' in the shared database" in run("remove", "files")
