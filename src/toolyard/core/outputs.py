"""Output schemas as legacy clients take them.

To 2025-11-25 a tool returns an object, and the schema says so. Since then it may return anything:
for a legacy client that is put into an object, as the official libraries do it. Some of these
clients compile every output schema when they list tools, and lose all tools of all servers if one
cannot be compiled; such a schema is left out, for it only ever promised something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from toolyard.core.jsontypes import JsonObject

WRAPPED: Final = "result"
"""The member that holds what a tool returns, where that is no object."""
LARGEST: Final = 1 << 16
"""Bytes of a schema that is worth looking through; one that is larger helps nobody."""
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


def legacy_output(raw: bytes) -> tuple[bytes | None, bool]:
    """The schema for a legacy client, and whether the tool returns something else than an object.

    The very same schema if it will do; None to leave it out.
    """
    try:
        schema = _decode(raw)
        wraps = schema.get("type") != "object"
        fitted = _wrapped(schema) if wraps else _plain(schema)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None, False
    text = raw if fitted is schema else _encode(fitted)
    return text if len(raw) <= LARGEST and _compiles(text) else None, wraps


def _plain(schema: JsonObject) -> JsonObject:
    """The schema with an object for every property; the very same if it has them."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    flags = {name: value for name, value in properties.items() if isinstance(value, bool)}
    if not flags:
        return schema
    objects: JsonObject = {name: {} if allowed else {"not": {}} for name, allowed in flags.items()}
    return {**schema, "properties": {**properties, **objects}}


# Something else than an object.


def _wrapped(schema: JsonObject) -> JsonObject:
    dialect = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    inner = _moved(schema, is_schema=True)
    return {**dialect, "type": "object", "properties": {WRAPPED: inner}, "required": [WRAPPED]}


def _moved(node: Any, *, is_schema: bool) -> Any:
    """A part of a schema with its references pointing to where the schema is now.

    In a map of names to schemas a name may look like a keyword: `is_schema` tells them apart.
    """
    if isinstance(node, list):
        return [_moved(item, is_schema=is_schema) for item in node]
    if not isinstance(node, dict) or (is_schema and _has_base(node)):
        return node
    if not is_schema:
        return {name: _moved(value, is_schema=True) for name, value in node.items()}
    return {name: _moved_keyword(name, value) for name, value in node.items()}


def _moved_keyword(name: str, value: Any) -> Any:
    if name in _REFERENCES and isinstance(value, str) and value[:2] in ("#", "#/"):
        return f"#/properties/{WRAPPED}{value[1:]}"
    return value if name in _DATA else _moved(value, is_schema=name not in _MAPS)


def _has_base(node: JsonObject) -> bool:
    """Tell whether references within point into this part, wherever it is."""
    base = node.get("$id")
    return isinstance(base, str) and not base.startswith("#")


_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA: Final = frozenset({"const", "enum", "default", "examples"})
_MAPS: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "dependencies",
    }
)


# What can be compiled.


Type = Literal["string", "number", "integer", "boolean", "object", "array", "null"]
Number = int | float | UnsetType


class Schema(Struct, rename="camel"):
    """A schema whose keywords have values of the kind they take; others may be anything."""

    type: Type | list[Type] | UnsetType = UNSET
    enum: Annotated[list[Raw], Meta(min_length=1)] | UnsetType = UNSET
    required: list[str] | UnsetType = UNSET
    unique_items: bool | UnsetType = UNSET
    minimum: Number = UNSET
    maximum: Number = UNSET
    exclusive_minimum: Number = UNSET
    exclusive_maximum: Number = UNSET
    multiple_of: Number = UNSET
    min_length: Number = UNSET
    max_length: Number = UNSET
    min_items: Number = UNSET
    max_items: Number = UNSET
    min_properties: Number = UNSET
    max_properties: Number = UNSET
    pattern: str | UnsetType = UNSET
    reference: str | UnsetType = field(default=UNSET, name="$ref")
    base: str | UnsetType = field(default=UNSET, name="$id")
    all_of: Parts = UNSET
    any_of: Parts = UNSET
    one_of: Parts = UNSET
    not_: Part = field(default=UNSET, name="not")
    if_: Part = field(default=UNSET, name="if")
    then: Part = UNSET
    else_: Part = field(default=UNSET, name="else")
    items: Schema | bool | list[Schema | bool] | UnsetType = UNSET
    additional_items: Part = UNSET
    contains: Part = UNSET
    properties: Named = UNSET
    pattern_properties: Named = UNSET
    additional_properties: Part = UNSET
    property_names: Part = UNSET
    dependencies: dict[str, Schema | bool | list[str]] | UnsetType = UNSET
    definitions: Named = UNSET
    defs: Named = field(default=UNSET, name="$defs")


Part = Schema | bool | UnsetType
Parts = list[Schema | bool] | UnsetType
Named = dict[str, Schema | bool] | UnsetType
_check: Final = msgspec.json.Decoder(Schema).decode
_DOUBTFUL: Final = re.compile(rb'"(?:\$ref|\$id|id|pattern|patternProperties|nullable)"')
"""Keywords whose values are not all as good as any other of their kind."""


def _compiles(raw: bytes) -> bool:
    try:
        _check(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    if not _DOUBTFUL.search(raw):
        return True
    root = _decode(raw)
    schemas = list(_schemas(root))
    anchors = {node.get("$anchor") for node in schemas}
    return all(_is_sound(node) and _is_closed(node, root, anchors) for node in schemas)


def _schemas(root: JsonObject) -> Iterator[JsonObject]:
    """A schema and all schemas within."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            yield node
            for name in node.keys() & _WITHIN:
                part = node[name]
                waiting += part.values() if name in _MAPS else [part]


_WITHIN: Final = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "additionalItems"),
        *("contains", "additionalProperties", "propertyNames"),
        *("properties", "patternProperties", "dependencies", "definitions", "$defs"),
    }
)


def _is_sound(node: JsonObject) -> bool:
    """Tell whether the doubtful keywords of a schema have values that will do."""
    patterns = [node["pattern"]] if "pattern" in node else []
    patterns += node.get("patternProperties", {})
    base = node.get("$id", "")
    return (
        "id" not in node  # of an older draft, where it named the schema
        and ("nullable" not in node or "type" in node)
        and (":" not in base or base.startswith(("http:", "https:")))
        and all(map(_is_pattern, patterns))
    )


def _is_closed(node: JsonObject, root: Any, anchors: set[Any]) -> bool:
    """Tell whether a schema refers to its own document alone; nothing is ever fetched."""
    reference = node.get("$ref", "#")
    if not reference.startswith("#"):
        return False
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return pointer in anchors
    target: Any = root
    for part in pointer.split("/")[1:]:
        target = _step(target, part.replace("~1", "/").replace("~0", "~"))
    return isinstance(target, dict | bool)


def _step(node: Any, name: str) -> Any:
    if isinstance(node, list) and name.isascii() and name.isdigit():
        return node[int(name)] if len(name) < 6 and int(name) < len(node) else None
    return node.get(name) if isinstance(node, dict) else None


def _is_pattern(value: str) -> bool:
    """Tell whether a pattern is surely one in JavaScript too; in doubt it is none."""
    if len(value) > _LONGEST_PATTERN:
        return False
    at, opened, repeatable = 0, list[str](), False
    while token := _TOKEN.match(value, at):
        kind, text, at = token.lastgroup, token[0], token.end()
        if (kind == "repeat" and not repeatable) or (kind == "close" and not opened):
            return False
        if not _is_ordered(text):
            return False
        # What looks ahead or behind matches nothing that could be repeated.
        repeatable = kind == "atom" or (kind == "close" and opened.pop() in ("(", "(?:"))
        if kind == "open":
            opened.append(text)
    return at == len(value) and not opened


def _is_ordered(token: str) -> bool:
    """Tell whether ranges of characters and of numbers begin with the smaller one."""
    if token[0] == "{":
        least, _, most = token.rstrip("?")[1:-1].partition(",")
        return not most or int(least) <= int(most)
    return token[0] != "[" or all(low <= high for low, high in _RANGE.findall(token))


_LONGEST_PATTERN: Final = 1000
_ESCAPED: Final = r"\\[dDwWsSfnrtv^$\\.*+?()\[\]{}|/]"
_TOKEN: Final = re.compile(
    rf"(?P<atom>{_ESCAPED}|\\x[0-9a-fA-F]{{2}}|\\u[0-9a-fA-F]{{4}}"
    rf"|\[\^?-?(?:[0-9A-Za-z]-[0-9A-Za-z]|[^\]\[\\-]|{_ESCAPED}|\\-)*-?\]"
    r"|[^\\()\[\]{}*+?|^$])"
    r"|(?P<repeat>(?:[*+?]|\{\d{1,6}(?:,\d{0,6})?\})\??)"
    r"|(?P<open>\((?:\?(?:[:=!]|<[=!]))?)|(?P<close>\))|(?P<edge>[|^$]|\\[bB])"
)
_RANGE: Final = re.compile(r"([0-9A-Za-z])-([0-9A-Za-z])")
