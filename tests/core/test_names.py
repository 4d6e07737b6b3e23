"""The names clients see: valid, unique, stable, two-way."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.core.fold import fold
from toolyard.core.model import Command, Report, Server, ServerId, Snapshot
from toolyard.core.names import LONGEST, closest, exposed_names, other_alias, own_alias

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMES = st.text("ab_-. /é\0\U0001f600", min_size=1, max_size=70) | st.text(min_size=1, max_size=90)
SERVERS = st.lists(
    st.tuples(NAMES, st.lists(NAMES, max_size=6, unique=True)),
    max_size=5,
    unique_by=lambda pair: pair[0],
)


def expose(servers: list[tuple[str, list[str]]], separator: str = "__") -> dict[str, str]:
    """(alias, name) -> exposed name of a whole yard, written as one text each."""
    ids = [ServerId(name, "configured") for name, _ in servers]
    declared = tuple(Server(id_, Command(("run",))) for id_ in ids)
    entries = fold(Snapshot(), Report("configured", declared)).entries
    taken: set[str] = set()
    out: dict[str, str] = {}
    for id_, (name, tools) in zip(ids, servers, strict=True):
        table = exposed_names(entries[id_].alias, tools, separator, taken)
        assert list(table) == tools
        out |= {f"{name}\n{tool}": exposed for tool, exposed in table.items()}
    return out


@examples(150)
@given(SERVERS)
def test_exposed_names_are_valid_unique_and_stable(servers: list[tuple[str, list[str]]]) -> None:
    table = expose(servers)

    assert len(table) == sum(len(tools) for _, tools in servers)
    assert all(VALID.fullmatch(name) for name in table.values())
    assert len(set(table.values())) == len(table)
    assert expose(servers) == table


@examples(50)
@given(SERVERS, NAMES)
def test_names_do_not_change_when_another_server_arrives(
    servers: list[tuple[str, list[str]]], tool: str
) -> None:
    before = expose(servers)
    after = expose([*servers, ("a server that comes later", [tool])])

    assert before.items() <= after.items()


def test_a_plain_name_is_alias_separator_and_name() -> None:
    assert exposed_names("acme", ["list-issues", "x"], "__", set()) == {
        "list-issues": "acme__list-issues",
        "x": "acme__x",
    }


def test_two_ways_to_write_one_name_are_told_apart() -> None:
    taken: set[str] = set()
    first = exposed_names("acme_", ["status"], "__", taken)["status"]
    second = exposed_names("acme", ["_status"], "__", taken)["_status"]

    assert first == "acme___status"
    assert re.fullmatch(r"acme___status_[0-9a-f]{8}", second)
    assert taken == {first, second}


def test_names_that_only_differ_in_what_had_to_be_changed_are_told_apart() -> None:
    table = exposed_names("acme", ["a.b", "a/b", "a b", "a_b"], "__", set())

    assert table["a_b"] == "acme__a_b"
    assert len(set(table.values())) == 4


def test_a_name_that_looks_like_the_hash_of_another_costs_nobody_a_tool() -> None:
    taken = {"acme__run"}
    hashed = exposed_names("acme", ["run"], "__", set(taken))["run"]
    table = exposed_names("acme", [hashed.removeprefix("acme__"), "run"], "__", taken)

    assert len(set(table.values())) == 2
    assert all(VALID.fullmatch(name) for name in table.values())


def test_a_name_of_the_full_length_stays_and_one_more_is_shortened() -> None:
    fits, long = "x" * (LONGEST - 6), "x" * (LONGEST - 5)
    table = exposed_names("acme", [fits, long, long + "y"], "__", set())

    assert table[fits] == "acme__" + fits
    assert len(table[long]) == len(table[long + "y"]) == LONGEST
    assert len(set(table.values())) == 3


def test_the_separator_is_a_setting_and_allowed_in_names_then() -> None:
    assert exposed_names("acme", ["a.b"], ".", set()) == {"a.b": "acme.a.b"}
    assert exposed_names("acme", ["a/b"], "/", set()) == {"a/b": "acme/a/b"}
    assert exposed_names("acme", ["a"], "", set()) == {"a": "a"}
    assert "." not in exposed_names("acme", ["a.b"], "/", set())["a.b"]


@given(NAMES, st.sampled_from(["scan", "configured"]))
def test_an_alias_is_valid_and_another_is_free(name: str, source: str) -> None:
    taken = {own_alias(name), f"{own_alias(name)}-{source}"}
    other = other_alias(name, source, lambda alias: alias not in taken)

    assert other not in taken
    assert all(re.fullmatch("[A-Za-z0-9_-]+", alias) for alias in (*taken, other))


def test_the_closest_names_come_first_whatever_their_case() -> None:
    known = ["github", "GitLab", "postgres", "gitea"]

    assert closest("gihtub", known)[0] == "github"
    assert closest("gitlab", known)[0] == "GitLab"
    assert set(closest("git", known)) == {"github", "GitLab", "gitea"}
    assert closest("zzzzzz", known) == []
    assert closest("", known) == []
    assert len(closest("git", [f"git{n}" for n in range(20)], limit=3)) == 3
