"""Trouble with the addresses of resources: two servers with the same, and those of the hub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolyard.core.addresses import address, address_of_template, is_ours, wrap
from toolyard.core.model import Entry, Offers, Problem, Snapshot
from toolyard.core.problems import ProblemCode

NAMED: Final = 3
"""Addresses that a sentence names."""
CHARS: Final = 100
"""Characters of an address in a sentence."""


def address_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Give what a person should know of the addresses that servers list."""
    entries = {str(id_): each for id_, each in snapshot.entries.items() if each.server.enabled}
    for id_, entry in entries.items():
        keys = _keys(entry.offers)
        if reserved := [key for key in keys if is_ours(key)]:
            yield _reserved(entry, reserved)
        rivals = {key: snapshot.owners.rival(id_, own) for key, own in keys.items() if own}
        others = {key: entries[rival] for key, rival in rivals.items() if rival in entries}
        clashes = {key: other for key, other in others.items() if _meet(entry, other)}
        if clashes and not entry.server.app:
            yield _clash(entry, clashes)


def _keys(offers: Offers) -> dict[str, str]:
    """The addresses that a server lists, each with what it claims by it."""
    resources = {offer.key: address(offer.key) for offer in offers.resources}
    return resources | {o.key: address_of_template(o.key) for o in offers.templates}


def _meet(entry: Entry, other: Entry) -> bool:
    """Say whether a client can see both: servers of two projects are never together."""
    projects = {entry.server.project, other.server.project}
    return "" in projects or len(projects) == 1


def _clash(entry: Entry, clashes: dict[str, Entry]) -> Problem:
    first = next(iter(clashes))
    owners = ", ".join(sorted({repr(other.alias) for other in clashes.values()}))
    return Problem(
        ProblemCode.ADDRESS_CLASH,
        f"{entry.alias!r} lists addresses that {owners} had first: {_named(list(clashes))}; "
        f"they go by others, such as {_brief(wrap(entry.alias, first))}",
        f"nothing is lost; {entry.alias!r} alone, by its own addresses, is at /mcp/s/{entry.alias}",
        subject=str(entry.server.id),
    )


def _reserved(entry: Entry, reserved: list[str]) -> Problem:
    return Problem(
        ProblemCode.ADDRESS_RESERVED,
        f"{entry.alias!r} lists addresses that only the hub gives: {_named(reserved)}; "
        "they are left out",
        "ask its author to use a scheme other than toolyard",
        subject=str(entry.server.id),
    )


def _named(keys: list[str]) -> str:
    more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return ", ".join(_brief(key) for key in keys[:NAMED]) + more


def _brief(text: str) -> str:
    return text if len(text) <= CHARS else text[: CHARS - 1] + "…"
