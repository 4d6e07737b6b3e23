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
    wanted, given = max(fitting, key=lambda rule: _weight(url, rule[0]))
    return _apply(url, wanted, given), wanted


def is_loopback(url: str) -> bool:
    """Whether an address means the machine it is used on."""
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


def check_rule(wanted: str, given: str) -> str:
    """What is wrong with a rule; empty if nothing is."""
    if "://" in wanted:
        if not is_address(wanted):
            return f"{wanted[:80]!r} is not an http address"
        return "" if is_address(given) else f"{given[:80]!r} is not an http address"
    if not _is_place(wanted):
        return f"{wanted[:80]!r} is neither an address nor a host"
    if _is_place(given) or (is_address(given) and _split(given).path in ("", "/")):
        return ""
    return f"{given[:80]!r} is neither a host nor an address without a path"


def _fits(url: str, wanted: str) -> bool:
    if "://" in wanted:
        rest = url[len(wanted) :]
        ends = not rest or wanted.endswith("/") or rest[0] in "/?#" or _at_host_end(wanted, rest)
        return url.startswith(wanted) and ends
    parts = _split(url)
    host, port = _host_port(wanted)
    same = host.lower() == (parts.hostname or "").lower()
    return same and (not port or int(port) == _port(parts, usual=True))


def _at_host_end(wanted: str, rest: str) -> bool:
    """Whether `http://host` is followed by its port."""
    return rest[0] == ":" and not _split(wanted).path and _port(_split(wanted)) is None


def _weight(url: str, wanted: str) -> tuple[int, int]:
    if wanted == url:
        return 3, 0
    if "://" in wanted:
        return 2, len(wanted)
    return (1, 0) if _host_port(wanted)[1] else (0, 0)


def _apply(url: str, wanted: str, given: str) -> str:
    if "://" in wanted:
        rest = url[len(wanted) :]
        joined = given.rstrip("/") if rest.startswith("/") else given
        return joined + rest
    if "://" not in given:
        return at_host(url, given)
    parts = _split(given)
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
