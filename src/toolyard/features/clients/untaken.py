"""Parts of a client's entry that the yard has no place for, so that they can be named.

Some of it restricts the server: without it, tools that were hidden could be called, or a program
would run outside of its sandbox. Nothing like that is lost without being asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolyard.core.endpoint import client_texts
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Command, Endpoint
from toolyard.features.clients.filters import NOTHING, ToolFilter, all_but, only

_ALLOWING: Final = ("includeTools", "enabledTools", "enabled_tools", "allowedTools", "tools")
"""Lists of what may be used; an empty one allows nothing."""
_DENYING: Final = ("excludeTools", "disabledTools", "disabled_tools")
_GUARDING: Final = ("default_tools_approval_mode", "sandbox", "sandboxEnabled")
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:input|command|config):[^}]*\}")
"""References that only an editor can fill in."""


@dataclass(frozen=True, slots=True)
class Untaken:
    """Something that is not taken over."""

    key: str
    opens: bool = False
    """True if more can be done with the server without it."""
    client: str = ""
    tools: ToolFilter | None = None
    """The same as a profile can say it, if it can."""

    @property
    def is_input(self) -> bool:
        """True if it is a value that an editor asks for; here it becomes a secret."""
        return self.key.startswith("${input:")


def untaken_keys(raw: Mapping[str, Any], understood: Iterable[str]) -> Iterator[Untaken]:
    """Name the keys of an entry that are not understood; a null counts as absent."""
    skipped = frozenset(understood)
    for key, value in raw.items():
        if key not in skipped and value is not None:
            opens = key in _ALLOWING or (key in (*_DENYING, *_GUARDING) and bool(value))
            yield Untaken(key, opens, tools=_tools(key, value) if opens else None)


def _tools(key: str, value: object) -> ToolFilter | None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return None
    if key in _ALLOWING:
        return only(value)
    return all_but(value) if key in _DENYING else None


def untaken_references(endpoint: Endpoint) -> Iterator[Untaken]:
    """Name the references that nothing here can fill in; they are left as they stand."""
    if isinstance(endpoint, Command):
        texts = [*endpoint.argv, *(value for _, value in endpoint.env), endpoint.cwd or ""]
    else:
        pairs = (*endpoint.headers, *client_texts(endpoint.auth))
        texts = [endpoint.url, *(value for _, value in pairs)]
    for text in texts:
        yield from map(Untaken, _REFERENCE.findall(text))


# What stands elsewhere in the file.


def nothing_else(whole: Mapping[str, Any], name: str) -> Iterator[Untaken]:
    """For clients that say all of a server in its entry."""
    yield from ()


def server_lists(whole: Mapping[str, Any], name: str) -> Iterator[Untaken]:
    """For clients with lists of the servers that are used, or not."""
    lists = whole.get("mcp")
    if not isinstance(lists, dict):
        return
    allowed, excluded = lists.get("allowed"), lists.get("excluded")
    if isinstance(allowed, list) and name not in allowed:
        yield Untaken("mcp.allowed", opens=True, tools=NOTHING)
    if isinstance(excluded, list) and name in excluded:
        yield Untaken("mcp.excluded", opens=True, tools=NOTHING)


def tool_patterns(whole: Mapping[str, Any], name: str) -> Iterator[Untaken]:
    """For clients that switch tools off by patterns such as `server_*`."""
    for table in ("tools", "permission"):
        patterns = whole.get(table)
        patterns = patterns if isinstance(patterns, dict) else {}
        for pattern, value in patterns.items():
            if value in (False, "deny", "ask") and _is_about(pattern, f"{name}_"):
                hidden = _hidden_by(patterns, pattern, f"{name}_") if value != "ask" else None
                yield Untaken(f"{table}.{pattern}", opens=True, tools=hidden)


def _is_about(pattern: str, prefix: str) -> bool:
    stem, star, _ = pattern.partition("*")
    return stem.startswith(prefix) or bool(stem and star and prefix.startswith(stem))


def _hidden_by(patterns: JsonObject, pattern: str, prefix: str) -> ToolFilter:
    """The tools that a pattern switches off, but for those that a later one switches on."""
    later = list(patterns)[list(patterns).index(pattern) + 1 :]
    spared = (
        other.removeprefix(prefix)
        for other in later
        if patterns[other] in (True, "allow") and other.startswith(prefix)
    )
    hidden = pattern.removeprefix(prefix) if pattern.startswith(prefix) else "*"
    return ToolFilter((hidden,), tuple(spared))
