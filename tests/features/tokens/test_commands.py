from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from tests.fixtures.kept_tokens import kept_tokens


def test_a_running_hub_is_asked(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("token", "list").code == 4  # the stand-in knows none of this
    assert [path for path, _ in hub.asked] == ["/api/v1/tokens"]


def test_a_token_for_an_agent_needs_a_hub(toolyard: Toolyard) -> None:
    refused = toolyard("token", "create", "x", "--agent", "coder")
    assert refused.code == 3 and "no hub is running" in refused.err


def test_a_token_is_made_listed_and_revoked(toolyard: Toolyard, home: Path) -> None:
    made = toolyard("token", "create", "cursor", "--servers", "git, files")
    token = made.out.strip()
    assert made.code == 0 and "not shown again" in made.err
    kept = kept_tokens(home)
    caller = kept.find(token.encode())
    assert caller is not None and caller.servers == {"git", "files"}
    (row,) = toolyard("token", "list", "--json").json["tokens"]
    assert (row["name"], row["servers"]) == ("cursor", ["files", "git"])
    assert toolyard("token", "revoke", "cursor").code == 0
    assert kept.find(token.encode()) is None
    assert toolyard("token", "revoke", "cursor").code == 4


def test_the_token_of_a_run_is_listed_with_its_executor(toolyard: Toolyard, home: Path) -> None:
    kept = kept_tokens(home)
    kept.create("run-1", frozenset(), "", "codex", "docker")
    (row,) = toolyard("token", "list", "--json").json["tokens"]
    assert (row["agent"], row["executor"]) == ("codex", "docker")
    assert "docker" in toolyard("token", "list").out


def test_a_token_of_nothing_is_a_slip(toolyard: Toolyard) -> None:
    assert toolyard("token", "create", "x", "--servers", " , ").code == 2
    assert toolyard("token", "create", "x", "--profile", "nothing").code == 4
    assert toolyard("token", "create", "-x", "--servers", "a").code == 2
    assert toolyard("token", "create", "control").code == 6
