"""Checks arguments against a tool's schema before a call, and names what is wrong.

Schemas come from servers and are not trusted: their size is bounded, and
nothing is fetched for a reference.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields

SCHEMA_BYTES: Final = 1 << 18
COMPLAINTS: Final = 5
_NOTHING: Final = Raw(b"{}")
_NULL: Final = Raw(b"null")


def inner_arguments(asked: Fields) -> Raw:
    """The arguments that a call of a call holds; none and null are no arguments."""
    given = asked.get("arguments", _NOTHING)
    return _NOTHING if given == _NULL else given


def complaints(schema: Any, arguments: Any) -> list[str]:
    """What does not fit, in words; empty if all fits, or the schema cannot be used."""
    if not isinstance(schema, dict) or not schema or len(jsonrpc.encode(schema)) > SCHEMA_BYTES:
        return []
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse)
        errors = list(validator.iter_errors(arguments))
    except Exception:
        return []
    return [_say(error) for error in errors[:COMPLAINTS]]


def _say(error: Any) -> str:
    path = ".".join(str(part) for part in error.instance_path)
    return f"{path}: {error.message}" if path else str(error.message)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")
