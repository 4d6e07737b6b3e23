from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import StandIn
from tests.fixtures.kept_tokens import kept_tokens
from toolyard.core.caller import Caller
from toolyard.features.tokens.model import hash_of
from toolyard.features.tokens.store import TokensFile


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
    assert isinstance(caller, Caller) and caller.servers == {"git", "files"}
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


def test_a_token_expires_unless_told_otherwise(toolyard: Toolyard, home: Path) -> None:
    usual = toolyard("token", "create", "usual").out.strip().encode()
    toolyard("token", "create", "short", "--days", "1", "--tier", "read")
    toolyard("token", "create", "lasting", "--days", "0")
    rows = {row["name"]: row for row in toolyard("token", "list", "--json").json["tokens"]}
    lives = {name: days(row["created_at"], row["expires_at"]) for name, row in rows.items()}
    assert lives == {"usual": 90, "short": 1, "lasting": None}
    assert rows["short"]["tier"] == "read"
    assert "never" in toolyard("token", "list").out

    now = datetime.now(UTC).timestamp()
    records = kept_tokens(home).records
    assert isinstance(TokensFile(records, lambda: now + 89 * 86400).find(usual), Caller)
    late = TokensFile(records, lambda: now + 91 * 86400).find(usual)
    assert late == (401, "the token 'usual' has expired; ask for a new one", "Bearer")


def days(begin: str, end: str) -> int | None:
    """The days between two times; None if there is no end."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).days if end else None


def test_a_token_of_an_earlier_version_never_expires(toolyard: Toolyard, home: Path) -> None:
    path = home / "state" / "toolyard" / "tokens.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"sha256": hash_of(b"old-token"), "servers": ["git"], "created_at": "2026-01-01"}
    path.write_text(json.dumps({"version": 1, "tokens": {"old": fields}}))
    (row,) = toolyard("token", "list", "--json").json["tokens"]
    assert (row["expires_at"], row["tier"], row["used_at"]) == ("", "destroy", "")
    assert isinstance(kept_tokens(home).find(b"old-token"), Caller)


def test_a_tier_that_is_none_lets_nobody_in(toolyard: Toolyard, home: Path) -> None:
    token = toolyard("token", "create", "ci", "--tier", "read").out.strip().encode()
    path = home / "state" / "toolyard" / "tokens.json"
    path.write_text(path.read_text().replace('"read"', '"all"'))
    assert kept_tokens(home).find(token) is None


def test_a_token_of_nothing_is_a_slip(toolyard: Toolyard) -> None:
    assert toolyard("token", "create", "x", "--servers", " , ").code == 2
    assert toolyard("token", "create", "x", "--profile", "nothing").code == 4
    assert toolyard("token", "create", "-x", "--servers", "a").code == 2
    assert toolyard("token", "create", "control").code == 6
