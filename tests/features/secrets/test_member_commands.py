"""The words of the command line about secrets of members."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.own_home import write_servers
from toolyard.console.exits import Exit

VALUE = "s3cr3t-from-stdin"
MEMBER = "ann@example.com"


@pytest.fixture(autouse=True)
def ann(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody who has logged in before, at a hub with a key; the folder of its state."""
    monkeypatch.setenv("TOOLYARD_KEY", "only-for-these-tests-" * 2)
    member = {"issuer": "https://login.example.com", "subject": "ann", "email": MEMBER}
    state = own_home / "state"
    state.mkdir(parents=True, exist_ok=True)
    members = {"https://login.example.com#ann": member}
    (state / "members.json").write_text(json.dumps({"members": members}))
    return state


def test_a_secret_of_a_member_is_set_listed_and_removed(
    toolyard: Toolyard, own_home: Path, ann: Path
) -> None:
    write_servers(own_home, hub={"command": "x", "env": {"T": "${member:tracker}"}})
    listed = toolyard("secret", "list", "--member", MEMBER, "--json").json["secrets"]
    assert [(row["name"], row["is_set"], row["used_by"]) for row in listed] == [
        ("tracker", False, ["hub"])
    ]
    told = toolyard("secret", "set", "tracker", "--member", MEMBER, stdin=VALUE + "\n")
    assert told.code == 0
    assert "${member:tracker}" in told.out
    assert VALUE not in told.out + told.err
    assert VALUE not in (ann / "member-secrets.json").read_text()
    assert "sealed" in toolyard("secret", "list", "--member", MEMBER).out
    assert toolyard("secret", "remove", "tracker", "--member", MEMBER).code == 0
    gone = toolyard("secret", "remove", "tracker", "--member", MEMBER)
    assert gone.code == Exit.NOT_FOUND


def test_a_member_must_be_known_and_a_file_is_no_place(toolyard: Toolyard, ann: Path) -> None:
    nobody = toolyard("secret", "set", "tracker", "--member", "eve@example.com", stdin=VALUE)
    assert nobody.code == Exit.NOT_FOUND
    both = toolyard("secret", "set", "tracker", "--member", MEMBER, "--file", "x", stdin=VALUE)
    assert both.code == 2
    assert not (ann / "member-secrets.json").exists()
