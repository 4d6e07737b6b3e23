"""Reads `key=value` words as the arguments of a tool, typed by the tool's own schema.

    count=3              a number, a truth value, or text: whichever the schema wants
    tags=a tags=b        a list, if the schema wants one; also tags='["a", "b"]'
    where='{"x": 1}'     an object, as JSON
    text=@notes.txt      the content of a file; text=@@home is the text '@home'

Without a schema, what reads as JSON is JSON, and all else is text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.jsontypes import JsonObject
from toolyard.features.tools.schema import Schema, follow, type_of, types_of


def read_arguments(words: Sequence[str], text: str, schema: Schema) -> JsonObject:
    """Give the arguments of a call: the JSON object in `text`, if any, with the words over it.

    Raises:
        CommandError: A word or the text cannot be read, or a value is not of the wanted type.
    """
    arguments = _read_object(text) if text else {}
    texts_of: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise _wrong(f"'{word}' is no argument", "write it as name=value")
        texts_of.setdefault(key, []).append(_from_file(value))
    properties = schema.get("properties")
    for key, values in texts_of.items():
        wanted = properties.get(key, {}) if isinstance(properties, dict) else {}
        arguments[key] = _value(key, values, follow(wanted, schema), schema)
    return arguments


def _read_object(text: str) -> JsonObject:
    try:
        value = json.loads(_from_file(text))
    except ValueError as error:
        raise _wrong(
            f"--arguments is not JSON: {error}", """write it as '{"name": "value"}'"""
        ) from None
    if not isinstance(value, dict):
        raise _wrong("--arguments is not a JSON object", """write it as '{"name": "value"}'""")
    return value


def _from_file(value: str) -> str:
    if value.startswith("@@") or not value.startswith("@"):
        return value.removeprefix("@") if value.startswith("@@") else value
    try:
        return Path(value[1:]).expanduser().read_text("utf-8")
    except OSError as error:
        text = f"cannot read '{value[1:]}': {(error.strerror or str(error)).lower()}"
    except ValueError:
        text = f"'{value[1:]}' is not text in UTF-8"
    raise _wrong(text, "write @@ for a value that begins with @")


def _value(key: str, texts: list[str], wanted: Schema, root: Schema) -> Any:
    types = types_of(wanted, root)
    if "array" in types and (len(texts) > 1 or not texts[0].lstrip().startswith("[")):
        if len(texts) > 1 or "string" not in types:
            items = follow(wanted.get("items", {}), root)
            return [_single(key, text, items, root) for text in texts]
    if len(texts) > 1:
        raise _wrong(f"'{key}' was given {len(texts)} times", "give it once; it is no list")
    return _single(key, texts[0], wanted, root)


def _single(key: str, text: str, wanted: Schema, root: Schema) -> Any:
    types = types_of(wanted, root)
    if types == {"string"}:
        return text
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        value = {"True": True, "False": False}.get(text, text)
    if not types or _fits(value, types):
        return value
    if "string" in types:
        return text
    kinds = " or ".join(sorted(types))
    raise _wrong(f"'{key}' must be of type {kinds}, not {text[:80]!r}", f"write {key}=...")


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are no JSON


def _fits(value: Any, types: set[str]) -> bool:
    kind = type_of(value)
    return kind in types or (kind == "integer" and "number" in types)


def _wrong(text: str, hint: str) -> CommandError:
    return CommandError(text, hint, Exit.USAGE)
