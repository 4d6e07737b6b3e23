"""Redirect addresses: which may be named, and which one is meant."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST: Final = 2048
_VISIBLE: Final = re.compile(r"[!-~]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,60}")
_NEVER: Final = frozenset(
    {"about", "blob", "data", "file", "filesystem", "ftp", "javascript", "mailto", "vbscript"}
    | {"view-source", "ws", "wss"}
)
"""Schemes at which no program waits, and by which a browser does other things."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def is_redirect(address: str) -> bool:
    """Tell whether a browser may be sent to an address with a code: https, or this machine."""
    parts = _split(address)
    if parts is None or "#" in address or parts.username is not None:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in _LOOPBACK
    return bool(_SCHEME.fullmatch(parts.scheme)) and parts.scheme not in _NEVER


def is_registered(address: str, registered: tuple[str, ...]) -> bool:
    """Tell whether an address is one of those: to the letter, but for a port on this machine."""
    if not is_redirect(address):
        return False
    return any(address == known or _without_port(address, known) for known in registered)


def _without_port(address: str, registered: str) -> bool:
    """Tell whether both are the same place on this machine but for the port (RFC 8252, 7.3)."""
    one, other = _split(address), _split(registered)
    if one is None or other is None or one.scheme != "http" or other.scheme != "http":
        return False
    if one.hostname not in _LOOPBACK or one.hostname != other.hostname:
        return False
    return (one.path, one.query) == (other.path, other.query)


def host_of(address: str) -> str:
    """Return what a person can recognise of an address: the host, or the scheme of a program."""
    parts = _split(address)
    if parts is None:
        return ""
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def form_source(address: str) -> str:
    """Return the source by which a page's policy lets a form lead to an address."""
    parts = _split(address)
    if parts is None:
        return "'self'"
    # A policy cannot name an address of IPv6.
    if parts.scheme in ("http", "https") and ":" not in (parts.hostname or ""):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def _split(address: str) -> SplitResult | None:
    if len(address) > LONGEST or not _VISIBLE.fullmatch(address):
        return None
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts
