"""JSON Schemas of tools, as far as arguments are read and shown by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolyard.core.jsontypes import JsonObject

DEPTH_LIMIT = 16
"""References that lead to references; a schema may go round in a circle."""

Schema = JsonObject
"""A JSON Schema, as the author of a tool wrote it."""


def follow(wanted: Any, root: Schema) -> Schema:
    """Give the schema a reference within the document leads to."""
    for _ in range(DEPTH_LIMIT):
        if not isinstance(wanted, dict):
            return {}
        path = wanted.get("$ref")
        if not isinstance(path, str) or not path.startswith("#/"):
            return wanted
        wanted = root
        for step in path[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            wanted = wanted.get(step) if isinstance(wanted, dict) else None
    return {}


def types_of(wanted: Schema, root: Schema) -> set[str]:
    """Give the types a schema accepts; none if it does not say."""
    types: set[str] = set()
    pending, visited = [wanted], set()
    while pending:
        schema = follow(pending.pop(), root)
        # A schema may lead to itself on many ways; each is looked at once.
        if id(schema) not in visited:
            visited.add(id(schema))
            own = set(_own_types(schema))
            types |= own
            pending += [] if own else _options(schema)
    return types


def type_of(value: Any) -> str:
    """Give the type of a JSON value."""
    for kind, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    ):
        if isinstance(value, kind):
            return name
    return "null"


def _own_types(schema: Schema) -> Iterator[str]:
    """The types that a schema itself names, not those of its parts."""
    named = schema.get("type")
    if isinstance(named, str):
        yield named
    elif isinstance(named, list):
        yield from (name for name in named if isinstance(name, str))
    elif isinstance(schema.get("enum"), list):
        yield from map(type_of, schema["enum"])
    elif "const" in schema:
        yield type_of(schema["const"])


def _options(schema: Schema) -> list[Any]:
    lists = (schema.get(key) for key in ("anyOf", "oneOf", "allOf"))
    return [option for options in lists if isinstance(options, list) for option in options]
