"""Pages that anybody may open: what a feature is asked there, and what it answers.

Each of them decides for itself who is there. Doors serve them within bounds, and know none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

BODY_BYTES: Final = 64 * 1024
"""The largest body that is taken from somebody who has shown no token."""
TIE_SHORTEST: Final = 32
TIE_LONGEST: Final = 128
"""Characters of a tie: the secret by which the browser that began a login is known again."""
LINK_STATE: Final = "link."
"""The beginning of the `state` of a login by which the visitor of a link proves who they are."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request to an open page."""

    method: str
    query: str = ""
    """As it stands in the address, without the question mark."""
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class LinkVisit:
    """A browser at the page of a link that a member was given."""

    text: str
    """The link."""
    tie: str = field(default="", repr=False)
    """The secret of the browser, which it keeps in a cookie; it lets nobody in."""
    proof: str = field(default="", repr=False)
    """Shows that the browser is the member's; worth nothing without the tie."""
    bearer: str = field(default="", repr=False)
    """The key of a page, or a token, that tells who is there."""


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
