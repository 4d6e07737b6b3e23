"""Tiers: how much harm a tool can do, by what the user says of it, or else its server."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

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


class FoundTier(NamedTuple):
    """The tier of a tool, and whose word that is."""

    tier: Tier
    by: Literal["user", "server", "nobody"]


class _Hints(Struct, frozen=True, rename="camel"):
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET


class _Tool(Struct, frozen=True):
    annotations: _Hints | None = None


def tier_of(tool: Offer, marks: Mapping[str, str]) -> Tier:
    """Return the tier of a tool; `marks` are those of its server."""
    return find_tier(tool, marks).tier


def find_tier(tool: Offer, marks: Mapping[str, str]) -> FoundTier:
    """Find the tier of a tool: as it is marked, or else as it says of itself.

    One of which nobody says anything may destroy. `marks` are those of the tool's server.
    """
    mark = marks.get(tool.key) or marks.get(EVERY)
    if mark:
        return FoundTier(Tier(mark), "user")
    try:
        hints = msgspec.json.decode(tool.raw, type=_Tool).annotations or _Hints()
    except msgspec.DecodeError:
        return FoundTier(Tier.DESTROY, "nobody")
    if hints.read_only_hint is True:
        return FoundTier(Tier.READ, "server")
    if hints.destructive_hint is UNSET:
        return FoundTier(Tier.DESTROY, "nobody")
    return FoundTier(Tier.DESTROY if hints.destructive_hint else Tier.WRITE, "server")
