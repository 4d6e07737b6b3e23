"""Hints for servers that fail to start, recognised by their last lines of stderr."""

from __future__ import annotations

import re
from typing import Final

_HINTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(
            r"(No module named '?mcp\.server\.(mcpserver|context)|No module named '?mcp_types)"
        ),
        "it was written for mcp 2.x and got 1.x: run it with mcp>=2, e.g. uvx --with 'mcp>=2' NAME",
    ),
    (
        re.compile(
            r"(cannot import name .* from '?mcp|No module named '?mcp\."
            r"|'Server' object has no attribute '(list|call|get|read)_)"
        ),
        "it was written for mcp 1.x and got 2.x: run it with mcp<2, e.g. uvx --with 'mcp<2' NAME",
    ),
    (
        re.compile(
            r"(Unsupported engine|requires Node|node: .*not supported|SyntaxError: Unexpected)"
        ),
        "it needs a newer Node: install one, or put it first on the PATH of its entry",
    ),
    (
        re.compile(
            r"(npm error 404|npm ERR! 404|No matching distribution|not found in the package)"
        ),
        "its package does not exist under this name or version: correct the name in its entry",
    ),
    (
        re.compile(r"(EACCES|Permission denied|permission denied)"),
        "it may not read or run something: look at the rights of the files it names",
    ),
    (
        re.compile(r"(EADDRINUSE|[Aa]ddress already in use)"),
        "its port is taken: end the other program, or give it another port",
    ),
    (
        re.compile(r"(ENOTFOUND|EAI_AGAIN|[Nn]ame or service not known|getaddrinfo)"),
        "it cannot reach the network, or the address it needs does not exist",
    ),
)
_VARIABLE: Final = re.compile(
    r"(?:KeyError: '|[Mm]issing (?:required )?(?:environment )?variable:? |environment variable )"
    r"[`'\"]?([A-Z][A-Z0-9_]{2,})"
    r"|([A-Z][A-Z0-9_]{2,}) (?:is not set|must be set|is required|not set)"
)


def find_hint(lines: tuple[str, ...]) -> str:
    """Return a hint for the last lines a server wrote; empty if none of them is recognised."""
    text = "\n".join(lines)
    variable = _VARIABLE.search(text)
    if variable is not None:
        name = variable[1] or variable[2]
        return f"it wants the variable {name}: set it in its entry, e.g. toolyard add … -e {name}=…"
    return next((hint for pattern, hint in _HINTS if pattern.search(text)), "")
