"""The one JSON text of a value, for hashes that must come out the same everywhere."""

from __future__ import annotations

import json
from typing import Any


def canonical(value: Any) -> bytes:
    """Return a value as the one JSON text that stands for it: keys sorted, no blanks."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
