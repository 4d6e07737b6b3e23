"""The golden files, read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCUMENT = "openapi.json"


@cache
def document() -> dict[str, Any]:
    """The recorded OpenAPI document."""
    whole: dict[str, Any] = json.loads((HERE / DOCUMENT).read_text("utf-8"))
    return whole


@cache
def documented() -> dict[str, Any]:
    """Every operation of the document, by its method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }


def recorded_calls() -> Iterator[dict[str, Any]]:
    """Every recorded call of the control API."""
    for file in sorted((HERE / "api").glob("*.json")):
        yield from json.loads(file.read_text("utf-8"))


def operation_of(call: str) -> str:
    """The operation of a call; one that is spelt out goes before one whose name is filled in."""
    asked = call.partition("?")[0]
    for operation in sorted(documented(), key=lambda name: ("{" in name, -len(name))):
        pattern = re.sub(r"\\{(\w+)\\}", lambda _: "[^/]+", re.escape(operation))
        if re.fullmatch(pattern, asked):
            return operation
    return ""
