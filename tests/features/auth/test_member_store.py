"""Grants of members: by member and address, sealed, and forgotten with their member."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from toolyard.core.errors import SecretError
from toolyard.features.auth.store import Grants, open_grants
from toolyard.links.grants import OAuthGrant, grant_key
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces
from toolyard.settings import read_settings

URL = "https://mcp.example/mcp"
ANN, BOB = "https://login.example#ann", "https://login.example#bob"


def open_store(home: Path, *keys: str) -> Grants:
    settings = replace(read_settings({}, {"TOOLYARD_HOME": str(home)}), key=keys)
    return open_grants(settings, RecordPlaces(Follower()))


def grant(member: str, token: str) -> OAuthGrant:
    endpoint = "https://login.example/token"
    return OAuthGrant(URL, "https://login.example", endpoint, "{}", token, member=member)


def test_members_and_the_owner_have_a_grant_each_at_one_address(
    home: Path, no_keyring: None
) -> None:
    store = open_store(home, "a-key-of-these-tests")
    for member, token in (("", "token-owner-1"), (ANN, "token-ann-1"), (BOB, "token-bob-1")):
        store.write(grant(member, token))
    tokens = {
        member: found.access_token
        for member in ("", ANN, BOB)
        if (found := store.read(grant_key(URL, member))) is not None
    }
    assert tokens == {"": "token-owner-1", ANN: "token-ann-1", BOB: "token-bob-1"}
    kept = (home / "state" / "member-grants.json").read_text()
    assert "token-ann-1" not in kept
    assert "token-bob-1" not in kept
    before = store.revision()
    store.forget(ANN)
    assert store.revision() != before
    assert store.read(grant_key(URL, ANN)) is None
    assert {listed.member for listed in store.listed().values()} == {"", BOB}


def test_a_grant_of_a_member_is_noted_and_ended_as_that_of_the_owner_is(home: Path) -> None:
    store, key = open_store(home, "a-key-of-these-tests"), grant_key(URL, ANN)
    store.write(grant(ANN, "token-ann-1"))
    store.want(key, "mail")
    store.end(key)
    listed = store.listed()[key]
    assert (listed.wanted, listed.ended, listed.member) == ("mail", True, ANN)
    assert store.remove(key) is not None
    assert store.listed() == {}


def test_without_a_key_and_without_a_keyring_nothing_of_members_is_kept(
    home: Path, no_keyring: None
) -> None:
    with pytest.raises(SecretError, match="no key to seal"):
        open_store(home).write(grant(ANN, "token-ann-1"))
    assert not (home / "state" / "member-grants.json").exists()


def test_with_a_keyring_it_has_the_key(home: Path, a_keyring: object) -> None:
    open_store(home).write(grant(ANN, "token-ann-1"))
    found = open_store(home).read(grant_key(URL, ANN))
    assert found is not None
    assert found.access_token == "token-ann-1"


def test_another_key_opens_nothing(home: Path) -> None:
    open_store(home, "a-key-of-these-tests").write(grant(ANN, "token-ann-1"))
    with pytest.raises(SecretError, match="another key"):
        open_store(home, "another-key").read(grant_key(URL, ANN))
