"""How a definition says that a server is started or reached, read as an endpoint."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.catalog import DefinitionError
from toolyard.core.model import Command, Endpoint, Pairs, Url
from toolyard.core.plain import Plain
from toolyard.core.transports import Kind, read_kind

MILLISECONDS_FROM: Final = 1000.0
"""Some write seconds, some milliseconds; nobody waits 1000 seconds for a call on purpose."""
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def read_runtime(runtime: Plain) -> Endpoint:
    """Read the `runtime` of a definition.

    Raises:
        DefinitionError: It cannot be used.
    """
    spelled = runtime.text("transport", "type")
    transport = read_transport(spelled) if spelled else None
    command, url = runtime.text("command"), runtime.text("url").strip()
    if command and url and transport is None:
        raise DefinitionError(
            "its runtime has both a command and a url", "say which by 'transport'"
        )
    if transport == "stdio" or (transport is None and command):
        return make_command((command, *runtime.texts("args")), runtime.pairs("env"), runtime)
    if url:
        return make_url(url, transport or "http", runtime.pairs("headers"))
    if transport is not None:
        raise DefinitionError(f"its transport '{spelled}' needs a 'url'", "add 'runtime.url'")
    raise DefinitionError(
        "its runtime has neither 'command' nor 'url'", "say how to start or reach it"
    )


def read_transport(spelled: str) -> Kind:
    """Understand any spelling of a transport.

    Raises:
        DefinitionError: There is no such transport.
    """
    kind = read_kind(spelled)
    if kind is None:
        raise DefinitionError(
            f"its transport '{spelled[:40]}' is unknown",
            "use 'stdio', 'http', 'streamable-http' or 'sse'",
        )
    return kind


def make_command(argv: tuple[str, ...], env: Pairs, runtime: Plain | None = None) -> Command:
    """Make a command that can be started.

    Raises:
        DefinitionError: It cannot.
    """
    if not argv[0].strip():
        raise DefinitionError("its command is empty", "name the program in 'runtime.command'")
    for name, _ in env:
        if not name or "=" in name:
            raise DefinitionError(f"{name[:80]!r} cannot name a variable", "rename it")
    return Command(argv, env, (runtime.text("cwd") if runtime else "") or None)


def make_url(url: str, kind: Kind, headers: Pairs) -> Url:
    """Make an address that can be reached.

    Raises:
        DefinitionError: It cannot.
    """
    # An address may hold a secret, so it is not repeated.
    if not _is_address(url):
        raise DefinitionError("its url is not an http address", "write https://host/path")
    for name, value in headers:
        if not _HEADER.fullmatch(name) or _CONTROL.search(value):
            raise DefinitionError(
                f"the header {name[:80]!r} is not valid",
                "use letters, digits and '-' in names, and no line ends in values",
            )
    return Url(url, "sse" if kind == "sse" else "http", headers)


def read_timeout(runtime: Plain | None) -> float | None:
    """Read how long a call may take.

    Raises:
        DefinitionError: It is no number above 0.
    """
    value = runtime.get("timeout") if runtime else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise DefinitionError(
            "'runtime.timeout' is not a number above 0",
            "write seconds, or 1000 and more for milliseconds",
        )
    return value / 1000 if value >= MILLISECONDS_FROM else float(value)


def _is_address(url: str) -> bool:
    if _CONTROL.search(url) or " " in url:
        return False
    if url.startswith("${"):
        return True  # known only after expansion, and checked there
    try:
        parts = urlsplit(url.split("${")[0])
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname or "${" in url)
