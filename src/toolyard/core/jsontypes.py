"""JSON whose fields are somebody else's business: a schema, a manifest, an answer of an engine."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""A JSON object that we pass on, or look into only where we must."""
