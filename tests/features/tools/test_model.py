from __future__ import annotations

from typing import Any

import pytest

from toolyard.features.tools.model import Parameter, example, parameters, read_card

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {"type": "integer", "default": 10, "description": "How many."},
        "path": {"type": "string", "description": "Where it is."},
        "mode": {"enum": ["text", "bytes"], "default": "text"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "where": {"$ref": "#/$defs/place"},
        "wild": True,
    },
    "required": ["path", "where"],
    "$defs": {
        "tag": {"type": "string"},
        "place": {"type": "object", "description": "A place."},
    },
}


def test_parameters_that_are_needed_come_first_and_say_all_there_is() -> None:
    assert parameters(SCHEMA) == [
        Parameter("path", "string", True, "", "Where it is.", "TEXT"),
        Parameter("where", "object", True, "", "A place.", "'{…}'"),
        Parameter("lines", "integer", False, "10", "How many.", "NUMBER"),
        Parameter("mode", "text | bytes", False, '"text"', "", "TEXT"),
        Parameter("tags", "list of string", False, "", "", "ITEM"),
        Parameter("maybe", "integer or null", False, "", "", "NUMBER"),
        Parameter("wild", "any", False, "", "", "VALUE"),
    ]


def test_of_many_allowed_values_the_first_are_named() -> None:
    schema = {"properties": {"n": {"enum": list(range(20))}}}

    assert parameters(schema)[0].type == "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | …"


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": []}, {"properties": {}, "required": "path"}, {"properties": None}],
)
def test_a_schema_without_properties_has_no_parameters(schema: dict[str, Any]) -> None:
    assert parameters(schema) == []


def test_what_an_author_wrote_wrongly_does_no_harm() -> None:
    fields = {"name": "a__b", "server": "a", "tool": "b", "description": 7, "inputSchema": "x"}

    card = read_card(fields)

    assert (card.description, card.schema) == ("", {})
    assert parameters({"properties": {"x": 3, "y": {"$ref": "#/nowhere"}}, "required": ["y"]}) == [
        Parameter("y", "any", True, "", "", "VALUE"),
        Parameter("x", "any", False, "", "", "VALUE"),
    ]


def test_an_example_is_safe_to_paste() -> None:
    schema = {"properties": {"a; rm -rf b": {"type": "boolean"}}, "required": ["a; rm -rf b"]}
    fields = {"name": "x__y", "server": "x", "tool": "y", "inputSchema": schema}

    assert example(read_card(fields)) == "toolyard call x__y 'a; rm -rf b'=true"
