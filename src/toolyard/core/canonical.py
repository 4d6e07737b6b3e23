"""The one JSON text of a value, for hashes that must come out the same everywhere, and back."""

from __future__ import annotations

import json
from typing import Any

from toolyard.core.jsontypes import JsonObject


def canonical(value: Any) -> bytes:
    """Return a value as the one JSON text that stands for it: keys sorted, no blanks."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def read_unique(raw: bytes) -> Any:
    """Read JSON that all readers read alike.

    Raises:
        ValueError: It is none, or a name is twice in one object.
        RecursionError: It is nested too deeply.
    """
    return json.loads(raw, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name twice: who reads the first sees something else")
    return members
