"""The document says of every answer what is true, and leaves nothing open by accident."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.golden.files import document, documented, operation_of, recorded_calls

JSON = "application/json"
REFUSED = "application/problem+json"
CALLS = [call for call in recorded_calls() if call.get("type", JSON) in (JSON, REFUSED)]


def closed(schema: Any) -> Any:
    """A schema whose objects have the fields it names, and no others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return {"additionalProperties": False, **parts} if "properties" in schema else parts


COMPONENTS = closed(document()["components"])


def schema_of(call: dict[str, Any]) -> Any:
    """The schema that the document has for the answer to a call."""
    operation = documented().get(operation_of(call["call"]))
    if call["status"] >= 400 or operation is None:
        return COMPONENTS["responses"]["Refusal"]["content"][REFUSED]["schema"]
    return closed(operation["responses"][str(call["status"])]["content"][JSON]["schema"])


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call['call']} {call['status']}")
def test_an_answer_is_what_its_schema_says(call: dict[str, Any]) -> None:
    schema = {**schema_of(call), "components": COMPONENTS}

    errors = list(jsonschema_rs.iter_errors(schema, call["answer"]))

    assert [f"{error.instance_path}: {error.message}" for error in errors] == []


def test_a_refusal_has_a_status_that_its_operation_names() -> None:
    unnamed = {
        f"{operation} {call['status']}"
        for call in CALLS
        if (operation := operation_of(call["call"]))
        and str(call["status"]) not in documented()[operation]["responses"]
    }

    assert unnamed == set()


def test_an_answer_that_may_be_anything_says_why() -> None:
    unsaid = {
        f"{name}: {place}"
        for name, operation in documented().items()
        for media in _answer(operation).values()
        for place in _open(media["schema"], "$", frozenset())
    }

    assert unsaid == set()


def _answer(operation: dict[str, Any]) -> dict[str, Any]:
    (content,) = (
        answer["content"] for code, answer in operation["responses"].items() if code < "400"
    )
    return dict(content)


def _open(schema: dict[str, Any], place: str, seen: frozenset[str]) -> Iterator[str]:
    """The places in a schema at which anything may stand, without a word about it."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        if name not in seen:
            yield from _open(document()["components"]["schemas"][name], name, seen | {name})
        return
    if not schema.keys() & {"type", "anyOf", "enum", "const"} and "description" not in schema:
        yield place
    for key, part in schema.get("properties", {}).items():
        yield from _open(part, f"{place}.{key}", seen)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict) and "description" not in schema:
            yield from _open(schema[key], f"{place}[]", seen)
    for part in schema.get("anyOf", []):
        yield from _open(part, place, seen)
    if schema.get("type") == "object" and not schema.keys() & {"properties", "description"}:
        if not isinstance(schema.get("additionalProperties"), dict):
            yield place


def test_every_schema_has_a_name_of_its_own() -> None:
    # Two types of one name would be told apart by the paths of their modules.
    assert [name for name in document()["components"]["schemas"] if not name.isidentifier()] == []
