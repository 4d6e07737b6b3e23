"""Pages that anybody may open: what a feature is asked there, and what it answers.

Each of them decides for itself who is there. Doors serve them within bounds, and know none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

BODY_BYTES: Final = 64 * 1024
"""The largest body that is taken from somebody who has shown no token."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request to an open page."""

    method: str
    query: str = ""
    """As it stands in the address, without the question mark."""
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The answer of an open page."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A path that needs no token, and what answers there."""

    path: str
    methods: tuple[str, ...]
    serve: Callable[[PageRequest], Awaitable[PageAnswer]]
