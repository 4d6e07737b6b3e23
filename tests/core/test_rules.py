"""A rule is about what it names; what cannot be judged counts as named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolyard.core.rules import LONGEST_TEXT, MOST_VALUES, ArgumentTest, CallFacts, CallRule

NAMES = ("git", "git@configured", "git/push", "git@configured/push", "git__push")


def facts(arguments: Any, caller: str = "ann@example.com", agent: str = "cursor") -> CallFacts:
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    return CallFacts((caller,), agent, raw)


@pytest.mark.parametrize(
    ("patterns", "is_named"),
    [
        ((), True),
        (("git",), True),
        (("git/push",), True),
        (("git__push",), True),
        (("*/pu*",), True),
        (("files",), False),
        (("git/log",), False),
        (("git", "!git/push"), False),
        (("!git",), False),
        (("!files",), True),
    ],
)
def test_tools_are_named_by_patterns(patterns: tuple[str, ...], is_named: bool) -> None:
    assert CallRule("r", tools=patterns).concerns(NAMES) is is_named


@pytest.mark.parametrize(
    ("path", "glob", "arguments", "holds"),
    [
        ("path", "/etc/*", {"path": "/etc/passwd"}, True),
        ("path", "/etc/*", {"path": "/tmp/x"}, False),
        ("path", "/etc/*", {}, False),
        ("paths", "/etc/*", {"paths": ["/tmp", "/etc/x"]}, True),
        ("to.name", "ann*", {"to": [{"name": "bob"}, {"name": "anna"}]}, True),
        ("*.name", "ann*", {"cc": {"name": "anna"}}, True),
        ("count", "1*", {"count": 100}, True),
        ("force", "true", {"force": True}, True),
    ],
)
def test_arguments_are_compared_with_patterns(
    path: str, glob: str, arguments: Any, holds: bool
) -> None:
    assert ArgumentTest(tuple(path.split(".")), glob).holds(arguments) is holds


@pytest.mark.parametrize(
    ("equals", "value", "holds"),
    [
        ("true", True, True),
        ("true", 1, False),
        ("1", 1.0, True),
        ("1", True, False),
        ('"a"', "a", True),
        ("null", None, True),
        ("[1]", [1], True),
        ("1", [2, 1], True),
    ],
)
def test_arguments_are_compared_with_values(equals: str, value: Any, holds: bool) -> None:
    assert ArgumentTest(("x",), equals=equals).holds({"x": value}) is holds


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "x" * (LONGEST_TEXT + 1)},
        {"path": ["x"] * (MOST_VALUES + 1)},
        b'{"path": "/tmp", "path": "/tmp"}',
        b'{"path": ' + b"[" * 100_000,
        b"not json",
    ],
    ids=["long", "many", "twice", "deep", "broken"],
)
def test_what_cannot_be_judged_counts_as_named(arguments: Any) -> None:
    rule = CallRule("r", arguments=(ArgumentTest(("path",), "/etc/*"),))
    assert rule.applies(facts(arguments))


def test_a_pattern_of_many_stars_is_judged_at_once() -> None:
    test = ArgumentTest(("x",), "*a" * 60 + "*b")
    assert not test.holds({"x": "a" * LONGEST_TEXT})


def test_all_that_a_rule_names_must_hold() -> None:
    rule = CallRule(
        "r",
        arguments=(ArgumentTest(("a",), "1"), ArgumentTest(("b",), "2")),
        members=("ann@*",),
        agents=("cur*", "!cursor-2"),
    )
    both = {"a": 1, "b": 2}
    assert rule.applies(facts(both))
    assert not rule.applies(facts({"a": 1}))
    assert not rule.applies(facts(both, caller="bob@example.com"))
    assert not rule.applies(facts(both, agent="cursor-2"))
    assert not rule.applies(facts(both, agent="claude"))
