"""URI templates as patterns: which template a URI came from, and what fills it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

_PARTS: Final = re.compile(r"(\{[^{}]*\})")


def pattern(template: str) -> re.Pattern[str]:
    """A URI template as a pattern, with a group for each variable."""
    parts = _PARTS.split(template)
    out = "".join(_variable(p) if p.startswith("{") else re.escape(p) for p in parts)
    return re.compile(out)


def fill(template: str, values: tuple[str, ...]) -> str:
    """A URI template with the values of its variables, as they were written."""
    rest = iter(values)
    return "".join(next(rest) if p.startswith("{") else p for p in _PARTS.split(template))


def quote_uri(uri: str) -> str:
    """Percent-encoded, but for the braces of a template's variables."""
    return quote(uri, safe="{}")


def _variable(expression: str) -> str:
    if expression[1:2] in ("?", "&"):
        return r"((?:[?&].*)?)"
    wide = expression[1:2] in ("+", "/", "#") or expression.endswith("*}")
    return r"(.*)" if wide else r"([^/?#]*)"
