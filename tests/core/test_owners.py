"""Who had an address first keeps it, within bounds."""

from __future__ import annotations

import pytest

from toolyard.core.addresses import address, is_ours, unwrap, wrap
from toolyard.core.owners import ALL_CLAIMS, CLAIMS, NO_OWNERS, Owners, region

HERE = frozenset({"a@x", "b@x"})


def claimed(*claims: tuple[str, str]) -> Owners:
    """The owners after these servers claimed these addresses, one after the other."""
    owners = NO_OWNERS
    for server, wanted in claims:
        owners = owners.claim(server, [wanted], HERE)
    return owners


def test_the_first_has_an_address_and_the_second_does_not() -> None:
    owners = claimed(("a@x", "mem://1"), ("b@x", "mem://1"))
    assert owners.has("a@x", "mem://1") and not owners.has("b@x", "mem://1")
    assert owners.rival("b@x", "mem://1") == "a@x"
    assert owners.rival("a@x", "mem://1") == owners.rival("b@x", "mem://2") == ""


def test_what_is_claimed_again_changes_nothing() -> None:
    owners = claimed(("a@x", "mem://1"))
    assert owners.claim("a@x", ["mem://1"], HERE) is owners
    assert owners.claim("b@x", ["mem://1"], HERE) is owners


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("mem://notes/{id}", "{mem://notes/"),
        ("MEM://notes/{id}", "{mem://notes/"),
        ("file:///{+path}", "{file:///"),
        ("repo://{owner}/{name}", "{repo:"),
        ("repo://{owner}", "{repo:"),
        ("repo://host{path}", "{repo:"),
        ("urn:isbn:{n}", "{urn:"),
        ("{+any}", ""),
        ("{scheme}://x", ""),
        ("mem{x}://y", ""),
        ("", ""),
    ],
)
def test_a_template_takes_up_a_scheme_or_an_authority(template: str, expected: str) -> None:
    assert region(template) == expected


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ("mem://notes/{id}", "mem://notes/{id}/parts", True),
        ("mem://notes/{id}", "mem://tasks/{id}", False),
        ("mem://{any}/x", "mem://tasks/{id}", True),
        ("mem://tasks/{id}", "mem://{any}/x", True),
        ("mem://{any}", "mem://{other}/x", True),
        ("mem://{any}", "file://{any}", False),
    ],
)
def test_templates_that_could_give_the_same_uri_are_one_servers(
    first: str, second: str, meet: bool
) -> None:
    owners = claimed(("a@x", region(first)), ("b@x", region(second)))
    assert owners.rival("b@x", region(second)) == ("a@x" if meet else "")
    assert owners.has("b@x", region(second)) is not meet
    assert claimed(("a@x", region(first))).rival("a@x", region(second)) == ""


@pytest.mark.parametrize("uri", ["mem://1", "ui://app/main", "ui://app+x/main", "a:b/c?d#e", "{x}"])
def test_what_is_wrapped_comes_out_as_it_was(uri: str) -> None:
    assert unwrap(wrap("one", uri)) == ("one", uri)
    assert is_ours(wrap("one", uri)) or wrap("one", uri).startswith("ui://one+")
    assert address(wrap("one", uri)) == ""


@pytest.mark.parametrize("uri", ["toolyard://status", "ui://app/a+b", "mem://at/one/x", ""])
def test_what_is_not_wrapped_is_left_alone(uri: str) -> None:
    assert unwrap(uri) is None


# Bounds.


def uris(first: int, count: int) -> list[str]:
    return [f"mem://{number}" for number in range(first, first + count)]


def test_a_server_whose_list_changes_all_the_time_keeps_what_it_lists() -> None:
    owners = claimed(("b@x", "mem://b"))
    for first in range(0, 2 * CLAIMS, CLAIMS // 5):
        owners = owners.claim("a@x", ["mem://always", *uris(first, CLAIMS // 5)], HERE)
    mine = [uri for uri, server in owners.claims.items() if server == "a@x"]
    assert mine == ["mem://always", *uris(CLAIMS + 1, CLAIMS - 1)]
    assert owners.has("b@x", "mem://b")


def test_servers_that_are_gone_make_room_for_those_that_are_here() -> None:
    owners = claimed(("a@x", "mem://a"))
    for number in range(ALL_CLAIMS // CLAIMS):
        owners = owners.claim(f"gone-{number}@x", uris(number * CLAIMS, CLAIMS), HERE)
    assert len(owners.claims) == ALL_CLAIMS
    owners = owners.claim("b@x", ["mem://b", "mem://c"], HERE)
    assert len(owners.claims) == ALL_CLAIMS
    assert owners.has("a@x", "mem://a") and owners.has("b@x", "mem://b")
    assert "mem://2" not in owners.claims and "mem://3" in owners.claims
