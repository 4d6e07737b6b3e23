"""The part of the picture that one kind of client may see, and in which words."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Raw

from toolyard.core.model import Entry, Offer
from toolyard.core.profiles import Profile
from toolyard.wire import jsonrpc


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """The one judge of what is in a view: what it turns away is in no table at all."""

    profile: Profile | None = None
    only: frozenset[str] = frozenset()
    """The servers a token is limited to, by alias or full name; empty for no limit."""
    separator: str = "__"

    def shows(self, entry: Entry) -> bool:
        """Return whether anything of a server may be seen."""
        names = _names(entry)
        if self.only and self.only.isdisjoint(names):
            return False
        return self.profile is None or self.profile.reaches(names, self.separator)

    def offers(self, entry: Entry, kind: str) -> tuple[Offer, ...]:
        """The offers of a server that may be seen, were none withheld, in the profile's words."""
        offers: tuple[Offer, ...] = getattr(entry.offers, kind)
        if kind != "tools" and (held := entry.held.of(kind)):
            offers = tuple(offer for offer in offers if offer.key not in held)
        if self.profile is None:
            return offers
        named = kind in ("tools", "prompts")
        admitted = (offer for offer in offers if self.admits(entry, offer.key, named=named))
        return tuple(self._worded(entry, offer) if kind == "tools" else offer for offer in admitted)

    def admits(self, entry: Entry, key: str, *, named: bool = False) -> bool:
        """Return whether one offer of a server that is shown may be seen."""
        if not named and key in entry.held.of("resources"):
            return False  # not by a template that fits it either
        shown = self._shown(entry, key) if named else key
        return self.profile is None or self.profile.admits(_names(entry), key, shown)

    def pins(self, entry: Entry, key: str) -> bool:
        """Return whether the profile lists a tool in any case."""
        shown = self._shown(entry, key)
        return self.profile is not None and self.profile.pins(_names(entry), key, shown)

    def renamed(self, entry: Entry, key: str) -> str:
        """The name that the profile gives a tool; empty if it gives none."""
        if self.profile is None or not self.profile.rename:
            return ""
        return self.profile.renamed(_names(entry), key, self._shown(entry, key))

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
        return f"{entry.alias}{self.separator}{key}"


def _names(entry: Entry) -> tuple[str, str]:
    return entry.alias, str(entry.server.id)
