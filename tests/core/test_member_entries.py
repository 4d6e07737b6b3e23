"""Entries of servers that members enter with credentials of their own."""

from __future__ import annotations

from typing import Any

import pytest

from toolyard.core.endpoint import Command, Url
from toolyard.core.fields import FaultsError
from toolyard.core.model import Server, ServerId
from toolyard.core.server_entries import read_entry
from toolyard.records.secrets.expand import Lookup, expand, find_member_secrets, find_secrets

URL = "https://docs.example/mcp"


@pytest.mark.parametrize(("login", "read"), [("member", "member"), ("owner", ""), ("", "")])
def test_an_address_says_whose_login_it_is(login: str, read: str) -> None:
    assert read_entry({"url": URL, "login": login}).login == read


@pytest.mark.parametrize(
    "entry", [{"url": URL, "login": "all"}, {"command": "x", "login": "member"}]
)
def test_no_other_login_is_taken(entry: dict[str, Any]) -> None:
    with pytest.raises(FaultsError, match="'login'"):
        read_entry(entry)


@pytest.mark.parametrize(
    ("endpoint", "is_theirs"),
    [
        (Command(("x", "${member:a}")), True),
        (Command(("x",), (("T", "${X:-${member:a}}"),)), True),
        (Command(("x",), cwd="/srv/${member:a}"), True),
        (Url(URL, headers=(("X-Key", "k ${member:a}"),)), True),
        (Url("https://docs.example/${member:a}"), True),
        (Command(("x", "$${member:a}", "${keyring:a}")), False),
        (Url(URL), False),
    ],
)
def test_a_reference_to_a_member_anywhere_makes_a_server_one_for_each(
    endpoint: Command | Url, is_theirs: bool
) -> None:
    server = Server(ServerId("s", "configured"), endpoint)
    assert server.is_per_member is is_theirs
    assert bool(find_member_secrets(endpoint)) is is_theirs


def test_a_login_of_members_makes_a_server_one_for_each_and_another_one_than_before() -> None:
    before = Server(ServerId("s", "configured"), Url(URL))
    after = Server(ServerId("s", "configured"), Url(URL), login="member")
    assert (before.is_per_member, after.is_per_member) == (False, True)
    assert not after.runs_like(before)


def test_whoever_is_no_member_has_what_the_keyring_has() -> None:
    command = Command(("x", "${member:a}"))
    lookup = Lookup({}, keyring=lambda name: f"owners {name}")
    assert expand(command, lookup) == Command(("x", "owners a"))
    own = Lookup({}, keyring=lambda _: "owners", member=lambda name: f"anns {name}")
    assert expand(command, own) == Command(("x", "anns a"))
    assert find_secrets(command) == ()
