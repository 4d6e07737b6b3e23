"""YAML as JSON with fewer quotes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.errors import ConfigError
from toolyard.features.transfer.yaml_text import DEEPEST, read_yaml, write_yaml

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["yes", "No", "1.10", "010", "1e3", "0x1f", "1:30", "2020-01-01", "~", "null", "", " ", "- a"]
)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(TEXTS, VALUES, max_size=4))
def test_whatever_is_written_is_read_back(value: dict[str, Any]) -> None:
    assert read_yaml(write_yaml(value)) == value


def test_words_are_what_json_takes_them_for() -> None:
    text = "a: yes\nb: true\nc: 010\nd: 12\ne: 1.5\nf: 1:30\ng: '12'\nh: null\ni:\nj: 2020-01-01\n"
    assert read_yaml(text) == {
        "a": "yes",
        "b": True,
        "c": "010",
        "d": 12,
        "e": 1.5,
        "f": "1:30",
        "g": "12",
        "h": None,
        "i": None,
        "j": "2020-01-01",
    }


def test_a_text_of_several_lines_has_a_line_for_each() -> None:
    assert write_yaml({"a": "one\ntwo"}) == "a: |-\n  one\n  two\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: &x 1\nb: *x\n", "anchors and aliases are not taken at line 1"),
        ("b: *x\n", "line 1"),
        ("a: !!python/object/apply:os.system ['true']\n", "tags are not taken at line 1"),
        ("a: 1\na: 2\n", "'a' stands there twice at line 2"),
        ("a: 1\n---\nb: 2\n", "more than one document at line 2"),
        ("a: [1\n", "line 2"),
        ("? [a]\n: 1\n", "a key is not text at line 1"),
        ("[" * (DEEPEST + 1), f"more than {DEEPEST} levels"),
        ("a: \x07", "not YAML"),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault.replace("(", r"\(")):
        read_yaml(text)
