"""The words of the command line about members and admissions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard


@pytest.fixture
def ann(home: Path) -> str:
    """Somebody who has logged in before."""
    key = "https://login.example.com#ann"
    member = {
        "issuer": "https://login.example.com",
        "subject": "ann",
        "email": "ann@example.com",
        "groups": ["developers"],
        "used_at": 1_700_000_000.0,
    }
    path = home / "state" / "toolyard" / "members.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"members": {key: member}}))
    return key


def test_a_member_is_shown_changed_and_removed(toolyard: Toolyard, ann: str) -> None:
    listed = toolyard("member", "list")
    assert "ann@example.com" in listed.out and "2023-11-14T22:13:20" in listed.out
    assert toolyard("member", "show", ann, "--json").json["subject"] == "ann"
    changed = toolyard("member", "set", "ann", "--role", "keeper", "--disable")
    assert "role: keeper" in changed.out and "disabled: yes" in changed.out
    assert not toolyard("member", "set", "ann", "--enable", "--json").json["disabled"]
    assert toolyard("member", "remove", "ann@example.com").code == 0
    assert toolyard("member", "show", "ann").code == 4
    assert "no members yet" in toolyard("member", "list").out


def test_a_change_says_what(toolyard: Toolyard, ann: str) -> None:
    assert toolyard("member", "set", "ann").code == 2
    assert toolyard("member", "set", "nobody", "--disable").code == 4


def test_a_group_is_admitted_and_no_longer(toolyard: Toolyard, ann: str) -> None:
    assert "no admissions yet" in toolyard("member", "admission", "list").out
    assert toolyard("member", "admission", "set", "developers", "code").code == 4
    assert toolyard("profile", "set", "code", "--allow", "git").code == 0
    assert toolyard("member", "admission", "set", "developers", "code").code == 0
    assert "developers" in toolyard("member", "admission", "list").out
    assert toolyard("member", "show", "ann", "--json").json["profiles"] == ["code"]
    assert toolyard("member", "admission", "remove", "developers").code == 0
    assert toolyard("member", "admission", "remove", "developers").code == 4
