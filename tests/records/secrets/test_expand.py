from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Url
from toolyard.records.secrets.expand import Lookup, expand, find_unset, missing


def no_keyring(name: str) -> str:
    raise AssertionError(f"the keyring was asked for {name}")


LOOKUP = Lookup(
    {"A": "one", "EMPTY": "", "REF": "${A}"},
    folder="/work space",
    keyring=no_keyring,
    home="/users/me",
)


def argument(text: str, lookup: Lookup = LOOKUP) -> str:
    endpoint = expand(Command((text,)), lookup)
    assert isinstance(endpoint, Command)
    return endpoint.argv[0]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${A}", "one"),
        ("x${A}y${env:A}z", "xoneyonez"),
        ("${A:-two}", "one"),
        ("${NO:-two}", "two"),
        ("${env:NO:-two}", "two"),
        ("${EMPTY}", ""),
        ("${EMPTY:-two}", "two"),
        ("${NO:-}", ""),
        ("${NO:-${A}}!", "one!"),
        ("${NO:-a:-b}", "a:-b"),
        ("${REF}", "${A}"),
        ("${userHome}/x", "/users/me/x"),
        ("${workspaceFolder}/x", "/work space/x"),
        ("$A $$ $", "$A $$ $"),
        ("$${A}", "${A}"),
        ("$${A}${A}", "${A}one"),
        ("{A}", "{A}"),
    ],
)
def test_references_are_replaced_by_what_they_stand_for(text: str, result: str) -> None:
    assert argument(text) == result
    assert missing(Command((text,)), LOOKUP) == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("${NO}", "NO"),
        ("${env:NO}", "NO"),
        ("${NO:-${NO2}}", "NO2"),
        ("${input:token}", "input:token"),
        ("${A-x}", "A-x"),
        ("${}", "${}"),
        ("${:-x}", "${:-x}"),
        ("x${A", "${A"),
        ("${keyring:}", "keyring:"),
    ],
)
def test_a_reference_that_stands_for_nothing_is_missing_and_never_literal(
    text: str, name: str
) -> None:
    assert missing(Command((text,)), LOOKUP) == (name,)
    with pytest.raises(ConfigError, match="not set"):
        expand(Command((text,)), LOOKUP)


@given(st.lists(st.sampled_from(["${", "$", "{", "}", "A", "NO", ":-", "env:", "x"]), max_size=12))
def test_any_text_is_expanded_or_reported_missing(parts: list[str]) -> None:
    text = "".join(parts)
    endpoint = Command(("x", text))
    if missing(endpoint, LOOKUP):
        with pytest.raises(ConfigError):
            expand(endpoint, LOOKUP)
    else:
        result = argument(text)
        assert "${" not in result or "$${" in text


def test_every_part_of_a_command_is_expanded() -> None:
    endpoint = Command(("${A}", "-${A}"), (("K", "<${A}>"),), "${workspaceFolder}/${A}")
    assert expand(endpoint, LOOKUP) == Command(
        ("one", "-one"), (("K", "<one>"),), "/work space/one"
    )


def test_every_part_of_an_address_is_expanded() -> None:
    endpoint = Url("https://${A}/mcp", "sse", (("Authorization", "Bearer ${A}"),))
    expected = Url("https://one/mcp", "sse", (("Authorization", "Bearer one"),))
    assert expand(endpoint, LOOKUP) == expected


def test_each_place_of_a_missing_reference_is_named() -> None:
    endpoint = Url("http://h/${P}", headers=(("X-Key", "${K}"), ("X-Too", "${K}")))
    found = [(each.name, each.where) for each in find_unset(endpoint, LOOKUP)]
    assert found == [("P", "url"), ("K", "header 'X-Key'"), ("K", "header 'X-Too'")]
    assert missing(endpoint, LOOKUP) == ("P", "K")


@pytest.mark.parametrize(
    ("cwd", "result"),
    [("sub", "/work space/sub"), ("/abs", "/abs"), ("~/x", "/users/me/x"), ("~", "/users/me")],
)
def test_a_directory_is_made_absolute_from_where_it_was_declared(cwd: str, result: str) -> None:
    expanded = expand(Command(("x",), cwd=cwd), LOOKUP)
    assert isinstance(expanded, Command)
    assert expanded.cwd == result


def test_the_keyring_is_asked_on_expansion_and_never_on_a_look() -> None:
    asked: list[str] = []

    def keyring(name: str) -> str:
        asked.append(name)
        return "secret"

    endpoint = Url("http://h/", headers=(("Authorization", "Bearer ${keyring:git hub}"),))
    lookup = Lookup({}, keyring=keyring)
    assert missing(endpoint, lookup) == ()
    assert asked == []
    assert expand(endpoint, lookup) == Url(
        "http://h/", headers=(("Authorization", "Bearer secret"),)
    )
    assert asked == ["git hub"]


def test_a_keyring_that_does_not_answer_is_a_clear_error() -> None:
    import keyring
    from keyring.backends.fail import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        with pytest.raises(ConfigError, match="keyring cannot be read for 'x'") as caught:
            expand(Command(("${keyring:x}",)), Lookup({}))
    finally:
        keyring.set_keyring(before)
    assert "environment variable" in caught.value.hint


@pytest.mark.parametrize("value", ["a\nX-Other: b", "a\r\nb"])
def test_a_value_cannot_smuggle_a_second_header_in(value: str) -> None:
    endpoint = Url("http://h/", headers=(("X-Key", "${V}"),))
    with pytest.raises(ConfigError, match="control character") as caught:
        expand(endpoint, Lookup({"V": value}))
    assert "Other" not in str(caught.value)


def test_an_address_must_be_one_after_expansion() -> None:
    with pytest.raises(ConfigError, match="no http address"):
        expand(Url("${BASE}/mcp"), Lookup({"BASE": "file:///etc"}))


def test_no_value_shows_when_a_lookup_is_printed() -> None:
    assert "'one'" not in repr(LOOKUP)
