"""The words of the command line about members and admissions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.e2e.hub import new_home, running_hub, stdio_stub


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


def test_a_keeper_is_told_what_a_member_sees_and_why() -> None:
    person = {"issuer": "http://127.0.0.1:9", "subject": "ann", "groups": ["developers"]}
    kept = {"members": {"http://127.0.0.1:9#ann": {**person, "email": "ann@example.com"}}}
    with new_home() as home:
        path = home / "state" / "members.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept))
        servers = {"one": stdio_stub("one", home, "--only", "echo,env")}
        with running_hub(servers, home=home, env={"TOOLYARD_ISSUER": "http://127.0.0.1:9"}) as hub:
            hub.run("profile", "set", "code", "--allow", "one/echo")
            assert "has an admission" in hub.run("member", "resolve", "ann@example.com")
            hub.run("member", "admission", "set", "developers", "code")
            shown = hub.run("member", "resolve", "ann@example.com")
            assert "sees 1 tool of 1 server" in shown and "1 of 2" in shown
            story = hub.run("member", "why", "ann@example.com", "one__env")
            assert "decided by: admission of 'developers', profile 'code'" in story
            assert "leaves out 'env' of 'one'  <-" in story
            assert hub.ask("member", "why", "ann", "one__echo")["verdict"] == "given"
