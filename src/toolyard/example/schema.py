"""Just enough JSON Schema to describe our tools and to check their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolyard.example.errors import ArgumentError, closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolyard.example.jsontypes import JsonObject


def described(
    name: str,
    title: str,
    description: str,
    arguments: dict[str, tuple[str, str]],
    output: JsonObject,
) -> JsonObject:
    """A tool as the list shows it; every argument is required."""
    properties = {
        argument: {"type": kind, "description": meaning}
        for argument, (kind, meaning) in arguments.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    hints = {"title": title, "readOnlyHint": True, "openWorldHint": False}
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {**schema, "additionalProperties": False},
        "outputSchema": output,
        "annotations": hints,
    }


def result_of(
    kinds: Mapping[str, str | JsonObject], optional: frozenset[str] = frozenset()
) -> JsonObject:
    """The schema of an object whose fields have these types or schemas."""
    properties = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in kinds.items()
    }
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def check(schema: JsonObject, arguments: Any) -> None:
    """Check the arguments of a call.

    Raises:
        ArgumentError: One is missing, unknown or of the wrong type; says what is right.
    """
    properties = schema["properties"]
    if not isinstance(arguments, dict):
        raise ArgumentError(f"arguments must be an object with {', '.join(properties)}")
    for name in arguments:
        if name not in properties:
            allowed = f"; allowed are {', '.join(properties)}"
            raise ArgumentError(
                f"unknown argument '{name}'{closest(name, list(properties)) or allowed}"
            )
    for name, expected in properties.items():
        if name not in arguments:
            raise ArgumentError(f"missing argument '{name}': {expected['description']}")
        if not fits(arguments[name], expected["type"]):
            raise ArgumentError(
                f"argument '{name}' must be a {expected['type']}: {expected['description']}"
            )


def fits(value: Any, kind: str) -> bool:
    """Is the value of that JSON type? No numbers are: true, false, NaN, infinity."""
    if kind == "string":
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= 1e300
