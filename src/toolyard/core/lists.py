"""The lists of a definition: tools, prompts, resources, templates, as the server said them.

Each is kept as its bytes; only its key is looked at, and what could do harm: one that is huge, one
that is there twice, a schema that leads back to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.core.model import Offer, Offers

LIST_KEYS: Final = ("tools", "prompts", "resources", "resourceTemplates")
OFFER_LIMIT: Final = 512 * 1024
"""Bytes; the largest tool known to us has 30 kB, and no model reads half a megabyte of one."""
OFFERS_LIMIT: Final = 5000
DEPTH_LIMIT: Final = 64


class _Keys(msgspec.Struct):
    name: Any = None
    uri: Any = None
    uriTemplate: Any = None  # noqa: N815 - the word of the protocol


class OfferError(Exception):
    """One offer cannot be used."""


def read_offers(lists: Mapping[str, Sequence[bytes]]) -> tuple[Offers, tuple[str, ...]]:
    """Read all lists; what cannot be used is left out and named in the notes."""
    notes: list[str] = []
    offers = [_read_list(key, lists.get(key, ()), notes.append) for key in LIST_KEYS]
    return Offers(*offers), tuple(notes)


def _read_list(key: str, raws: Sequence[bytes], note: Callable[[str], None]) -> tuple[Offer, ...]:
    offers: dict[str, Offer] = {}
    if len(raws) > OFFERS_LIMIT:
        note(f"'{key}' has {len(raws)} members; the first {OFFERS_LIMIT} are used")
    for index, raw in enumerate(raws[:OFFERS_LIMIT]):
        try:
            offer = read_offer(key, raw)
        except OfferError as error:
            note(f"'{key}[{index}]' is left out: {error}")
            continue
        if offer.key in offers:
            note(f"'{key}[{index}]' is left out: '{offer.key[:80]}' is there twice")
        else:
            offers[offer.key] = offer
    return tuple(offers.values())


def read_offer(key: str, raw: bytes) -> Offer:
    """Read one offer of a list.

    Raises:
        OfferError: It cannot be used.
    """
    if len(raw) > OFFER_LIMIT:
        raise OfferError(f"it has {len(raw)} bytes; {OFFER_LIMIT} are allowed")
    try:
        keys = msgspec.json.decode(raw, type=_Keys)
        if b"\n" in raw or b"\r" in raw:
            # On stdin and stdout a line end would end the message; only blanks go by this.
            raw = msgspec.json.format(raw, indent=-1)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OfferError("it is not an object that can be read") from error
    name = {"resources": keys.uri, "resourceTemplates": keys.uriTemplate}.get(key, keys.name)
    if not isinstance(name, str) or not name:
        raise OfferError("it has no name" if key in ("tools", "prompts") else "it has no URI")
    if key == "tools" and b'"$ref"' in raw:
        _check_references(raw)
    return Offer(name, raw)


def _check_references(raw: bytes) -> None:
    try:
        tool = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OfferError("its schema cannot be read") from error
    for key in ("inputSchema", "outputSchema"):
        schema = tool.get(key)
        for start in _references(schema):
            if _is_loop(schema, start):
                raise OfferError(f"'$ref' in its {key} leads back to itself")


def _references(schema: Any) -> Iterable[str]:
    """Every local reference of a schema."""
    todo = [(schema, 0)]
    while todo:
        value, depth = todo.pop()
        if depth > DEPTH_LIMIT:
            raise OfferError(f"its schema is nested deeper than {DEPTH_LIMIT}")
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            todo += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            todo += [(item, depth + 1) for item in value]


def _is_loop(schema: Any, reference: str) -> bool:
    """Return whether a reference leads to itself by references alone.

    One that comes back through a property or an item describes a tree, and is fine.
    """
    visited: set[str] = set()
    while reference.startswith("#"):
        if reference in visited:
            return True
        visited.add(reference)
        target = _follow(schema, reference)
        following = target.get("$ref") if isinstance(target, dict) else None
        if not isinstance(following, str):
            return False
        reference = following
    return False


def _follow(schema: Any, reference: str) -> Any:
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict):
            schema = schema.get(key)
        elif isinstance(schema, list) and key.isdigit() and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            return None
    return schema


def split_list(raw: bytes) -> list[bytes]:
    """The members of a JSON list, each as its bytes.

    Raises:
        msgspec.DecodeError: It is no list.
    """
    return [bytes(member) for member in msgspec.json.decode(raw, type=list[Raw])]
