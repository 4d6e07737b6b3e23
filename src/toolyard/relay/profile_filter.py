"""The part of the picture that one kind of client may see, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Raw

from toolyard.core.model import Entry, Offer
from toolyard.core.profiles import Pairs, Profile
from toolyard.core.tiers import Tier, tier_of
from toolyard.wire import jsonrpc


class ToolVerdict(StrEnum):
    """The reason why a filter does not show a tool, if it does not."""

    SHOWN = "shown"
    SERVER = "server"
    """Nothing of its server may be seen."""
    TOOL = "tool"
    """The profile leaves it out."""
    TIER = "tier"
    """It can do more harm than the tier allows."""


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """The one judge of what is in a view: what it turns away is in no table at all."""

    profile: Profile | None = None
    only: frozenset[str] = frozenset()
    """The servers a token is limited to, by alias or full name; empty for no limit."""
    separator: str = "__"
    """The one that the names in the view have."""
    pattern_separator: str = "__"
    """The one that the patterns of the profile are written with."""
    tier: str = ""
    """The tools that may be seen, by the harm they can do; empty for all."""

    @property
    def parts(self) -> tuple[ProfileFilter, ...]:
        """The filters it is made of: itself alone."""
        return (self,)

    @property
    def is_whole(self) -> bool:
        """True if neither a profile nor a tier says what may be done."""
        return self.profile is None and not self.tier

    @property
    def given_names(self) -> frozenset[str]:
        """The names that the profile gives to tools."""
        pairs = self.profile.rename if self.profile is not None else ()
        return frozenset(name for _, name in pairs)

    def shows(self, entry: Entry) -> bool:
        """Return whether anything of a server may be seen."""
        names = _names(entry)
        if self.only and self.only.isdisjoint(names):
            return False
        return self.profile is None or self.profile.reaches(names, self.pattern_separator)

    def offers(self, entry: Entry, kind: str) -> tuple[Offer, ...]:
        """The offers of a server that may be seen, were none withheld, in the profile's words."""
        offers: tuple[Offer, ...] = getattr(entry.offers, kind)
        if kind != "tools" and (held := entry.held.of(kind)):
            offers = tuple(offer for offer in offers if offer.key not in held)
        if kind == "tools" and self.tier:
            offers = tuple(offer for offer in offers if self._covers(entry, offer))
        if self.profile is None:
            return offers
        named = kind in ("tools", "prompts")
        admitted = (offer for offer in offers if self.admits(entry, offer.key, named=named))
        return tuple(self._worded(entry, offer) if kind == "tools" else offer for offer in admitted)

    def judge(self, entry: Entry, tool: Offer) -> ToolVerdict:
        """Say why a tool is not among `offers`, or that it is."""
        if not self.shows(entry):
            return ToolVerdict.SERVER
        if not self.admits(entry, tool.key, named=True):
            return ToolVerdict.TOOL
        return ToolVerdict.SHOWN if self._covers(entry, tool) else ToolVerdict.TIER

    def admits(self, entry: Entry, key: str, *, named: bool = False) -> bool:
        """Return whether one offer of a server that is shown may be seen."""
        if not named and key in entry.held.of("resources"):
            return False  # not by a template that fits it either
        shown = self._shown(entry, key) if named else key
        return self.profile is None or self.profile.admits(_names(entry), key, shown)

    def admits_tier(self, tier: Tier) -> bool:
        """Return whether tools that can do this much harm may be seen."""
        return not self.tier or Tier(self.tier).covers(tier)

    def pins(self, entry: Entry, tool: Offer) -> bool:
        """Return whether the profile lists a tool in any case."""
        shown = self._shown(entry, tool.key)
        return self.profile is not None and self.profile.pins(_names(entry), tool.key, shown)

    def renamed(self, entry: Entry, tool: Offer) -> str:
        """The name that the profile gives a tool; empty if it gives none."""
        if self.profile is None or not self.profile.rename:
            return ""
        return self.profile.renamed(_names(entry), tool.key, self._shown(entry, tool.key))

    def environment(self, entry: Entry) -> tuple[str, Pairs]:
        """The variables that the programs of a server get, and the profile that has them."""
        if self.profile is None:
            return "", ()
        return self.profile.name, self.profile.environment

    def _covers(self, entry: Entry, tool: Offer) -> bool:
        """Return whether the tier, if there is one, covers what a tool can do."""
        return not self.tier or self.admits_tier(tier_of(tool, dict(entry.marks)))

    def _worded(self, entry: Entry, offer: Offer) -> Offer:
        if self.profile is None or not self.profile.describe:
            return offer
        text = self.profile.described(_names(entry), offer.key, self._shown(entry, offer.key))
        if not text:
            return offer
        fields = jsonrpc.fields(offer.raw)
        return Offer(
            offer.key, jsonrpc.encode({**fields, "description": Raw(jsonrpc.encode(text))})
        )

    def _shown(self, entry: Entry, key: str) -> str:
        """The name that it would have without a profile, as people write it into one."""
        return f"{entry.alias}{self.pattern_separator}{key}"


@dataclass(frozen=True, slots=True)
class UnionFilter:
    """Several filters at once: what any of them shows is shown, as the first of them shows it."""

    filters: tuple[ProfileFilter, ...]
    separator: str = "__"
    is_whole: bool = False

    @property
    def parts(self) -> tuple[ProfileFilter, ...]:
        """The filters it is made of."""
        return self.filters

    @property
    def given_names(self) -> frozenset[str]:
        """The names that any of the profiles gives to tools."""
        return frozenset().union(*(part.given_names for part in self.filters))

    def shows(self, entry: Entry) -> bool:
        """Return whether anything of a server may be seen."""
        return any(part.shows(entry) for part in self.filters)

    def offers(self, entry: Entry, kind: str) -> tuple[Offer, ...]:
        """The offers of a server that may be seen, were none withheld, in the server's order."""
        shown: dict[str, Offer] = {}
        for part in self._parts_for(entry):
            for offer in part.offers(entry, kind):
                shown.setdefault(offer.key, offer)
        offers: tuple[Offer, ...] = getattr(entry.offers, kind)
        return tuple(shown[offer.key] for offer in offers if offer.key in shown)

    def admits(self, entry: Entry, key: str, *, named: bool = False) -> bool:
        """Return whether one offer of a server that is shown may be seen."""
        return any(part.admits(entry, key, named=named) for part in self._parts_for(entry))

    def pins(self, entry: Entry, tool: Offer) -> bool:
        """Return whether a profile that shows a tool lists it in any case."""
        return any(part.pins(entry, tool) for part in self._parts_with(entry, tool))

    def renamed(self, entry: Entry, tool: Offer) -> str:
        """The name that the first profile which shows a tool gives it; empty if it gives none."""
        return next((part.renamed(entry, tool) for part in self._parts_with(entry, tool)), "")

    def environment(self, entry: Entry) -> tuple[str, Pairs]:
        """The variables of the first profile that shows a server, and its name."""
        return next((part.environment(entry) for part in self._parts_for(entry)), ("", ()))

    def _parts_for(self, entry: Entry) -> list[ProfileFilter]:
        return [part for part in self.filters if part.shows(entry)]

    def _parts_with(self, entry: Entry, tool: Offer) -> list[ProfileFilter]:
        """The filters that show a tool; one whose tier hides it has no say in it."""
        return [part for part in self.filters if part.judge(entry, tool) is ToolVerdict.SHOWN]


ViewFilter = ProfileFilter | UnionFilter
"""The judge of what is in a view."""


def _names(entry: Entry) -> tuple[str, str]:
    return entry.alias, str(entry.server.id)
