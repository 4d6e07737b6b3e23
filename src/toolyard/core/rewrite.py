"""Addresses as they are from elsewhere: rules that rewrite them, and what loopback means there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from toolyard.core.endpoint import is_address

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - not bound, read
PLACE: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")
"""A host, perhaps with a port."""
SPLIT: Final = 4096
"""Addresses that are remembered taken apart: few differ, and each is looked at several times."""
Pairs = Iterable[tuple[str, str]]


def rewrite(url: str, rules: Pairs) -> tuple[str, str]:
    """Rewrite an address by the most specific rule that fits; give it and that rule's left side.

    Most specific is the whole address, then the longest beginning, then host and port, then the
    host alone. The rule is empty if none fits.
    """
    fitting = [rule for rule in rules if _fits(url, rule[0])]
    if not fitting:
        return url, ""
    pattern, target = max(fitting, key=lambda rule: _weight(url, rule[0]))
    return _apply(url, pattern, target), pattern


def is_loopback(url: str) -> bool:
    """Return whether an address means the machine it is used on."""
    host = (_split(url).hostname or "").lower()
    return host in LOOPBACK or host.startswith("127.")


def at_host(url: str, place: str) -> str:
    """The same address at another host, and at another port if the place names one."""
    parts = _split(url)
    host, port = _host_port(place)
    if not port and (own := _port(parts)):
        port = str(own)
    shown = f"[{host}]" if ":" in host else host
    user = parts.netloc.rpartition("@")
    netloc = f"{user[0]}{user[1]}{shown}" + (f":{port}" if port else "")
    return urlunsplit(parts._replace(netloc=netloc))


def check_rule(pattern: str, target: str) -> str:
    """The fault of a rule, in words; empty if it has none."""
    if "://" in pattern:
        if not is_address(pattern):
            return f"{pattern[:80]!r} is not an http address"
        return "" if is_address(target) else f"{target[:80]!r} is not an http address"
    if not _is_place(pattern):
        return f"{pattern[:80]!r} is neither an address nor a host"
    if _is_place(target) or (is_address(target) and _split(target).path in ("", "/")):
        return ""
    return f"{target[:80]!r} is neither a host nor an address without a path"


def _fits(url: str, pattern: str) -> bool:
    if "://" in pattern:
        rest = url[len(pattern) :]
        ends = not rest or pattern.endswith("/") or rest[0] in "/?#" or _at_host_end(pattern, rest)
        return url.startswith(pattern) and ends
    parts = _split(url)
    host, port = _host_port(pattern)
    same = host.lower() == (parts.hostname or "").lower()
    return same and (not port or int(port) == _port(parts, usual=True))


def _at_host_end(pattern: str, rest: str) -> bool:
    """Return whether `http://host` is followed by its port."""
    return rest[0] == ":" and not _split(pattern).path and _port(_split(pattern)) is None


def _weight(url: str, pattern: str) -> tuple[int, int]:
    if pattern == url:
        return 3, 0
    if "://" in pattern:
        return 2, len(pattern)
    return (1, 0) if _host_port(pattern)[1] else (0, 0)


def _apply(url: str, pattern: str, target: str) -> str:
    if "://" in pattern:
        rest = url[len(pattern) :]
        joined = target.rstrip("/") if rest.startswith("/") else target
        return joined + rest
    if "://" not in target:
        return at_host(url, target)
    parts = _split(target)
    return at_host(urlunsplit(_split(url)._replace(scheme=parts.scheme)), parts.netloc)


@lru_cache(SPLIT)
def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return SplitResult("", "", url, "", "")
    return parts


def _port(parts: SplitResult, *, usual: bool = False) -> int | None:
    if parts.port is not None or not usual:
        return parts.port
    return {"http": 80, "https": 443}.get(parts.scheme)


def _host_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = place.partition(":")
    return host, port


def _is_place(text: str) -> bool:
    return bool(PLACE.fullmatch(text)) and int(_host_port(text)[1] or 1) in range(1, 65536)
