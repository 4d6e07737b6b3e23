from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.tools.arguments import read_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "size": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ids": {"type": "array", "items": {"$ref": "#/$defs/id"}},
        "where": {"type": "object"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "level": {"enum": [1, 2]},
        "word": {"enum": ["1", "on"]},
        "id": {"$ref": "#/$defs/id"},
        "loop": {"$ref": "#/$defs/loop"},
        "wild": True,
    },
    "$defs": {"id": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=3", "3"),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=true", "true"),
        ("text=@@home", "@home"),
        ("count=3", 3),
        ("count=-3", -3),
        ("size=3", 3),
        ("size=2.5", 2.5),
        ("deep=true", True),
        ("deep=False", False),
        ("tags=a", ["a"]),
        ('tags=["a", "b"]', ["a", "b"]),
        ("ids=7", [7]),
        ('where={"x": 1}', {"x": 1}),
        ("maybe=null", None),
        ("maybe=4", 4),
        ("either=4", 4),
        ("either=four", "four"),
        ("level=2", 2),
        ("word=1", "1"),
        ("id=7", 7),
        ("loop=x", "x"),
        ("wild=[1]", [1]),
        ("unknown=12", 12),
        ("unknown=twelve", "twelve"),
        ("unknown=NaN", "NaN"),
    ],
)
def test_a_value_is_what_the_schema_wants(word: str, value: object) -> None:
    name = word.partition("=")[0]

    assert read_arguments([word], "", SCHEMA) == {name: value}


def test_a_name_that_is_repeated_makes_a_list() -> None:
    assert read_arguments(["ids=1", "ids=2"], "", SCHEMA) == {"ids": [1, 2]}


@pytest.mark.parametrize(
    "words",
    [
        ["count=x"],
        ["count=1.5"],
        ["count=true"],
        ["deep=1"],
        ["where=[]"],
        ["ids=x"],
        ["text=a", "text=b"],
        ["alone"],
        ["=x"],
        ["text=@no-such-file"],
    ],
)
def test_what_cannot_be_meant_is_named(words: list[str]) -> None:
    with pytest.raises(CommandError) as caught:
        read_arguments(words, "", SCHEMA)

    assert caught.value.exit == Exit.USAGE
    assert words[0].partition("=")[0] in str(caught.value) or "no-such-file" in str(caught.value)


def test_the_content_of_a_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("many\nlines")
    (tmp_path / "all.json").write_text('{"count": 3}')

    assert read_arguments([f"text=@{tmp_path / 'notes'}"], "", SCHEMA) == {"text": "many\nlines"}
    assert read_arguments([], f"@{tmp_path / 'all.json'}", SCHEMA) == {"count": 3}


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(CommandError, match="not text"):
        read_arguments([f"text=@{tmp_path / 'image'}"], "", SCHEMA)


def test_a_schema_that_leads_to_itself_on_many_ways_is_read_at_once() -> None:
    many = {"anyOf": [{"$ref": "#/$defs/many"}] * 20 + [{"type": "integer"}]}
    schema = {"properties": {"n": {"$ref": "#/$defs/many"}}, "$defs": {"many": many}}

    assert read_arguments(["n=3"], "", schema) == {"n": 3}


def test_words_win_over_the_json_object() -> None:
    found = read_arguments(["count=2"], '{"count": 1, "text": "a"}', SCHEMA)

    assert found == {"count": 2, "text": "a"}


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_json_that_is_no_object_is_an_error(text: str) -> None:
    with pytest.raises(CommandError, match="--arguments is not"):
        read_arguments([], text, SCHEMA)


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": {"a": 3}}])
def test_a_schema_that_says_nothing_is_no_trouble(schema: dict[str, Any]) -> None:
    assert read_arguments(["a=1"], "", schema) == {"a": 1}
