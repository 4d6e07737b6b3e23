"""Tiers: how much harm a tool can do, by what the user says of it, or else its server."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

from toolyard.core.marks import EVERY
from toolyard.core.model import Offer


class Tier(StrEnum):
    """The right to use tools: to read, to write as well, or to destroy as well."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"

    def covers(self, other: Tier) -> bool:
        """Return whether whoever has this right may do the other, too."""
        order = list(Tier)
        return order.index(other) <= order.index(self)


def narrower(one: str, other: str) -> str:
    """Return the tier that covers less; an empty one covers all."""
    if not one or not other:
        return one or other
    return one if Tier(other).covers(Tier(one)) else other


class _Hints(Struct, frozen=True, rename="camel"):
    read_only_hint: bool = False
    destructive_hint: bool = True


class _Tool(Struct, frozen=True):
    annotations: _Hints | None = None


def tier_of(tool: Offer, marks: Mapping[str, str]) -> Tier:
    """Return the tier of a tool: as it is marked, or else as it says of itself.

    One of which nobody says anything may destroy. `marks` are those of the tool's server.
    """
    mark = marks.get(tool.key) or marks.get(EVERY)
    if mark:
        return Tier(mark)
    try:
        hints = msgspec.json.decode(tool.raw, type=_Tool).annotations or _Hints()
    except msgspec.DecodeError:
        return Tier.DESTROY
    if hints.read_only_hint:
        return Tier.READ
    return Tier.DESTROY if hints.destructive_hint else Tier.WRITE
