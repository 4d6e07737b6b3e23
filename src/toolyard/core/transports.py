"""The names that files, clients and people give to the three ways of speaking to a server."""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal["stdio", "http", "sse"]
Spelling = Literal[
    "stdio",
    "local",
    "http",
    "streamable-http",
    "streamable_http",
    "streamableHttp",
    "remote",
    "sse",
]
"""Every name in use; case, `-` and `_` do not matter."""
KEYS: Final = ("type", "transport")
"""The keys it stands under; the first that is there counts."""
_KINDS: Final[dict[str, Kind]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}


def read_kind(spelled: str) -> Kind | None:
    """Understand any spelling; None if there is no such transport."""
    return _KINDS.get(plain_spelling(spelled))


def plain_spelling(spelled: str) -> str:
    """Give a name without what people write differently."""
    return spelled.strip().lower().replace("-", "").replace("_", "")
