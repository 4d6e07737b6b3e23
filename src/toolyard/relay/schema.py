"""Checks arguments against a tool's schema before a call, and names what is wrong.

Schemas come from servers and are not trusted: their size is bounded, nothing is fetched for a
reference, and their patterns are compared in linear time or not at all.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from msgspec import Raw

from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields

SCHEMA_BYTES: Final = 1 << 18
PATTERNS: Final = 100
PATTERN_BYTES: Final = 1 << 16
"""The size of one pattern when compiled: that takes most of the time."""
COMPLAINTS: Final = 5
COMPLAINT_CHARS: Final = 300
_NOTHING: Final = Raw(b"{}")
_NULL: Final = Raw(b"null")


def inner_arguments(outer: Fields) -> Raw:
    """The arguments that a call of a call holds; none and null are no arguments."""
    arguments = outer.get("arguments", _NOTHING)
    return _NOTHING if arguments == _NULL else arguments


def complaints(schema: Any, arguments: Any) -> list[str]:
    """Return what does not fit, in words; empty if all fits, or the schema cannot be used."""
    if not isinstance(schema, dict) or not schema or len(jsonrpc.encode(schema)) > SCHEMA_BYTES:
        return []
    if _count_patterns(schema) > PATTERNS:
        return []
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES)
    try:
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=linear)
        errors = list(islice(validator.iter_errors(arguments), COMPLAINTS))
    except Exception:
        return []
    return [_say(error) for error in errors]


def _count_patterns(schema: Any) -> int:
    """Count the patterns of a schema: more than these are not worth the time they take."""
    count = 0
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            named = part.get("patternProperties")
            count += isinstance(part.get("pattern"), str)
            count += len(named) if isinstance(named, dict) else 0
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return count


def _say(error: Any) -> str:
    path = ".".join(str(part) for part in error.instance_path)
    text = f"{path}: {error.message}" if path else str(error.message)
    if len(text) <= COMPLAINT_CHARS:
        return text
    # What was sent stands at the beginning, what is wrong with it at the end.
    half = COMPLAINT_CHARS // 2
    return f"{text[:half]}…{text[-half:]}"


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")
