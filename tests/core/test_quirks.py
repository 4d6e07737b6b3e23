"""What is known of clients: found by what they call themselves, and said otherwise by the user."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.core.errors import ConfigError
from toolyard.core.known_clients import KNOWN_CLIENTS, known_clients, recognise_client
from toolyard.core.names import LONGEST, exposed_names
from toolyard.core.quirks import FIELDS, SHORTEST_NAME, ClientQuirk, read_quirk

NAMES = st.text("ab_-. /é\0\U0001f600", min_size=1, max_size=70) | st.text(min_size=1, max_size=90)


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("codex-mcp-client", "codex"),
        ("opencode", "opencode"),
        ("grok-shell-toolyard", "grok"),
        ("inspector-cli", "inspector"),
        ("mcporter", "mcporter"),
        ("mcp-test-client", "probe"),
        ("claude-code", "claude-code"),
        ("claude-ai", "claude-desktop"),
        ("claude-ai (via mcp-remote 0.1.37)", "claude-desktop"),
        ("cursor-vscode", "cursor"),
        ("Visual Studio Code - Insiders", "vscode"),
        ("Windsurf", "windsurf"),
        ("mcp", "python-sdk"),
    ],
)
def test_a_client_is_known_by_what_it_calls_itself(client: str, name: str) -> None:
    found = recognise_client(client, {})

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("client", ["", "   ", "talk", "codex-mcp-clients", "my-mcp"])
def test_of_any_other_client_nothing_is_known(client: str) -> None:
    assert recognise_client(client, {}) is None


def test_what_the_user_says_wins_and_leaves_the_rest_as_it_is() -> None:
    plain = recognise_client("codex-mcp-client", {})
    changed = recognise_client("codex-mcp-client", {"codex": ClientQuirk("codex", longest_name=30)})

    assert plain is not None
    assert changed is not None
    assert (changed.longest_name, changed.relists) == (30, plain.relists)
    assert changed.largest_result == plain.largest_result


def test_a_limit_is_lifted_by_saying_none() -> None:
    found = recognise_client("cursor-vscode", {"cursor": ClientQuirk("cursor", most_tools=0)})

    assert found is not None
    assert found.most_tools == 0


def test_the_user_can_speak_of_a_client_that_nobody_knows() -> None:
    found = recognise_client("Editor 9", {"editor *": ClientQuirk("editor *", relists=False)})

    assert found is not None
    assert (found.name, found.relists, found.longest_name) == ("editor *", False, 0)


@pytest.mark.parametrize(
    "said",
    [
        {},
        [],
        None,
        {"longest": 60},
        {"longest_name": "60"},
        {"longest_name": True},
        {"longest_name": SHORTEST_NAME - 1},
        {"longest_name": LONGEST + 1},
        {"most_tools": -1},
        {"largest_result": 10},
        {"relists": 1},
    ],
)
def test_what_cannot_be_meant_is_refused(said: Any) -> None:
    with pytest.raises(ConfigError):
        read_quirk("codex", said)


def test_a_quirk_is_written_as_it_was_read() -> None:
    said = {"relists": False, "longest_name": 0, "most_tools": 40, "largest_result": 5000}
    said |= {"longest_instructions": 2000}

    assert read_quirk("codex", said).entries == said
    assert list(said) == list(FIELDS)


def test_every_entry_of_the_table_says_where_it_comes_from() -> None:
    for each in KNOWN_CLIENTS:
        said = {fact.field for fact in each.facts}
        set_ = {field for field in FIELDS if getattr(each, field) not in (None, 0)}
        assert set_ | ({"era"} if each.era else set()) <= said, each.name


def test_every_client_is_found_by_its_own_patterns_and_has_a_name_of_its_own() -> None:
    names = [each.name for each in known_clients({})]

    assert len(names) == len(set(names))
    for each in KNOWN_CLIENTS:
        for pattern in each.matches:
            assert pattern == pattern.lower()
            found = recognise_client(pattern.replace("*", "x"), {})
            assert found == each


@examples(150)
@given(
    st.lists(NAMES, max_size=8, unique=True),
    st.sampled_from(["__", ".", "/", ""]),
    st.integers(SHORTEST_NAME, LONGEST),
)
def test_any_name_fits_any_limit_and_stays_one_of_its_kind(
    names: list[str], separator: str, longest: int
) -> None:
    table = exposed_names("server", names, separator, set(), longest)

    assert list(table) == names
    assert len(set(table.values())) == len(names)
    valid = re.compile(rf"[A-Za-z0-9_./-]{{1,{longest}}}")
    assert all(valid.fullmatch(name) for name in table.values())
    assert table == exposed_names("server", names, separator, set(), longest)
