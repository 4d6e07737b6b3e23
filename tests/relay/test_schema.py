"""Arguments are compared with a schema within bounds, whoever wrote the schema."""

from __future__ import annotations

from typing import Any

import pytest

from toolyard.relay.schema import COMPLAINT_CHARS, COMPLAINTS, complaints


def text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


def test_what_does_not_fit_a_pattern_is_named() -> None:
    (said,) = complaints({"properties": {"id": text("^[a-z]+$")}}, {"id": "A1"})
    assert said.startswith("id: ") and "^[a-z]+$" in said


@pytest.mark.parametrize("pattern", [r"^(a|a)*\1b$", "^(?:(?=a)a|a)*b$", r"^(\p{L}{100}){100}$"])
def test_a_pattern_that_would_take_long_is_left_to_the_server(pattern: str) -> None:
    assert complaints({"properties": {"id": text(pattern)}}, {"id": "a" * 40}) == []


def test_a_pattern_without_end_is_compared_in_linear_time() -> None:
    (said,) = complaints({"properties": {"id": text("^(a+)+$")}}, {"id": "a" * 50_000 + "b"})
    assert len(said) <= COMPLAINT_CHARS + 1 and "^(a+)+$" in said


@pytest.mark.parametrize("kind", ["properties", "patternProperties"])
def test_a_schema_of_patterns_is_left_to_the_server(kind: str) -> None:
    schema = {kind: {f"x{n}": text(f"^{n}$") for n in range(101)}}
    assert complaints(schema, {"x1": "no"}) == []


def test_few_complaints_are_enough() -> None:
    schema = {"additionalProperties": {"type": "integer"}}
    assert len(complaints(schema, {str(n): "no" for n in range(1000)})) == COMPLAINTS
