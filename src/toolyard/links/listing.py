"""Asks a server for all it offers, page by page, within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.core.model import Offer, Offers
from toolyard.core.names import NAME_CHARS
from toolyard.core.owners import URI_CHARS
from toolyard.links.greeting import own_params
from toolyard.links.link import Link, RequestRefusedError
from toolyard.wire import era, jsonrpc

PAGES: Final = 100
OFFERS: Final = 5000
OFFER_BYTES: Final = 1 << 20
"""A single description beyond this is no description."""

_LISTS: Final = {
    "tools": ("tools/list", "tools", "name"),
    "prompts": ("prompts/list", "prompts", "name"),
    "resources": ("resources/list", "resources", "uri"),
    "templates": ("resources/templates/list", "resourceTemplates", "uriTemplate"),
}
KINDS: Final = tuple(_LISTS)
_decode_items: Final = msgspec.json.Decoder(list[Raw]).decode


class OverLimitError(LinkError):
    """A server offers more than can be taken."""


@dataclass(frozen=True, slots=True)
class Listed:
    """All the server offers now, and by kind why a list did not arrive."""

    offers: Offers
    failures: Mapping[str, LinkError]


async def list_offers(
    link: Link, seconds: float, before: Offers, kinds: tuple[str, ...] = KINDS
) -> Offers:
    """All the server offers now; the kinds not asked for are taken from `before`.

    Raises:
        LinkError: A list did not arrive.
    """
    listed = await list_arriving(link, seconds, before, kinds)
    for failure in listed.failures.values():
        raise failure
    return listed.offers


async def list_arriving(
    link: Link, seconds: float, before: Offers, kinds: tuple[str, ...] = KINDS
) -> Listed:
    """All the server offers now; the kinds that do not arrive are taken from `before`, too.

    Raises:
        LinkError: None of the lists arrived.
    """
    offers = {kind: getattr(before, kind) for kind in KINDS}
    failures: dict[str, LinkError] = {}
    is_any_there = False
    for kind in kinds:
        try:
            arrived = await _list(link, kind, seconds) if _has(link, kind) else None
        except LinkError as failure:
            if link.closed.done():
                raise
            failures[kind] = failure
        else:
            is_any_there |= arrived is not None
            offers[kind] = arrived or ()
    if failures and not is_any_there:
        raise next(iter(failures.values()))
    return Listed(Offers(**offers), failures)


def _has(link: Link, kind: str) -> bool:
    return ("resources" if kind == "templates" else kind) in link.capabilities


async def _list(link: Link, kind: str, seconds: float) -> tuple[Offer, ...] | None:
    """One list, page by page; None if the server does not know how to give it."""
    method, field, key = _LISTS[kind]
    offers: dict[str, Offer] = {}
    cursor: str | None = None
    cursors: set[str] = set()
    for _ in range(PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        try:
            page = jsonrpc.fields(await link.ask(method, own_params(link, params), seconds))
        except RequestRefusedError as error:
            # Many servers declare resources and have no templates method.
            if error.fault.code == era.METHOD_NOT_FOUND:
                return tuple(offers.values()) or None
            raise
        except jsonrpc.MalformedError as error:
            raise LinkError(
                f"{link.name!r} answered {method} with something that is not a list"
            ) from error
        _collect(link, offers, page.get(field), key)
        cursor = _cursor(page)
        if cursor is None or cursor in cursors:
            break
        cursors.add(cursor)
    return tuple(offers.values())


def _collect(link: Link, offers: dict[str, Offer], items: Raw | None, key: str) -> None:
    """Add the offers of a page; the first of two with the same key stays."""
    try:
        raws = _decode_items(items) if items is not None else []
    except jsonrpc.MalformedError as error:
        raise LinkError(f"{link.name!r} sent a list that is none") from error
    for raw in raws:
        name = _key(raw, key)
        if name is None or name in offers or len(bytes(raw)) > OFFER_BYTES or _is_long(key, name):
            link.violations += 1
            continue
        if len(offers) >= OFFERS:
            raise OverLimitError(
                f"{link.name!r} offers more than {OFFERS} of a kind",
                "use a server that offers less",
            )
        offers[name] = Offer(name, bytes(raw))


def _is_long(key: str, name: str) -> bool:
    return len(name) > (NAME_CHARS if key == "name" else URI_CHARS)


def _key(raw: Raw, key: str) -> str | None:
    try:
        name = jsonrpc.to_python(jsonrpc.fields(raw)[key])
    except (*jsonrpc.MalformedError, KeyError):
        return None
    return name if isinstance(name, str) and name else None


def _cursor(page: jsonrpc.Fields) -> str | None:
    raw = page.get("nextCursor")
    try:
        cursor = jsonrpc.to_python(raw) if raw is not None else None
    except jsonrpc.MalformedError:
        return None
    return cursor if isinstance(cursor, str) else None
