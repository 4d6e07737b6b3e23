"""The addresses of resources: which a server claims, and what stands for one it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Offer, Offers
from toolyard.core.owners import URI_CHARS, region

OURS: Final = "toolyard://"
"""Addresses that only the hub gives."""
AT: Final = "toolyard://at/"
WRAPPED_CHARS: Final = 2 * URI_CHARS
"""Characters of an address that a client sends: that of a server, wrapped, perhaps filled in."""
PAGES: Final = "ui://"
"""The scheme of pages that tools come with; hosts show no other, so it must stay."""
Path = tuple[str, ...]
REFERENCES: Final[tuple[Path, ...]] = (
    ("ui", "resourceUri"),
    ("ui/resourceUri",),
    ("openai/outputTemplate",),
)
"""Where below `_meta` a tool or a result names its page: today, before that, and elsewhere."""
_MARKS: Final = (b"esourceUri", b"outputTemplate")
"""In every description that has such a reference, and in few others."""


def wrap(alias: str, uri: str) -> str:
    """The address that leads to a server's resource, whoever else has the same.

    What is wrapped stands there as it was, so that a client can fill in a template.
    """
    if uri.startswith(PAGES):
        return f"{PAGES}{alias}+{uri.removeprefix(PAGES)}"
    return f"{AT}{alias}/{uri}"


def unwrap(uri: str) -> tuple[str, str] | None:
    """The server and its own address behind a wrapped one; None if it is none."""
    if uri.startswith(AT):
        alias, slash, inner = uri.removeprefix(AT).partition("/")
        return (alias, inner) if slash else None
    if uri.startswith(PAGES):
        alias, plus, rest = uri.removeprefix(PAGES).partition("+")
        return (alias, PAGES + rest) if plus and "/" not in alias else None
    return None


def check_address(uri: str) -> None:
    """Refuse an address that is too long to be one.

    Raises:
        UnknownNameError: It is.
    """
    if len(uri) > WRAPPED_CHARS:
        text = f"the address of a resource has at most {WRAPPED_CHARS} characters"
        raise UnknownNameError(f"{text}; this one has {len(uri)}")


def is_ours(uri: str) -> bool:
    """Tell the addresses that only the hub gives."""
    return uri[: len(OURS)].lower() == OURS


def address(uri: str) -> str:
    """Return what a server claims with a resource; empty for what none can have as it is.

    A page that looks wrapped would stand in the way of the server it seems to be of.
    """
    return "" if is_ours(uri) or unwrap(uri) is not None else uri


def address_of_template(template: str) -> str:
    """Return what a server claims with a template; empty for what none can have as it is."""
    return "" if is_ours(template) else region(template)


def claimed(offers: Offers) -> Iterator[str]:
    """All that a server claims with what it offers."""
    for uri in (*(offer.key for offer in offers.resources), *pages(offers)):
        if own := address(uri):
            yield own
    for offer in offers.templates:
        if own := address_of_template(offer.key):
            yield own


def pages(offers: Offers) -> Iterator[str]:
    """The pages that tools come with; they need not be listed."""
    for tool in offers.tools:
        if refers(tool):
            yield from _referred(tool)


def refers(tool: Offer) -> bool:
    """Tell the tools that may come with a page."""
    return any(mark in tool.raw for mark in _MARKS)


def _referred(tool: Offer) -> Iterator[str]:
    try:
        described = msgspec.json.decode(tool.raw)
    except (msgspec.DecodeError, RecursionError):
        return
    for path in REFERENCES:
        value: Any = described
        for key in ("_meta", *path):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            yield value
