"""The owners of addresses: those who had them first, for as long as that is remembered.

An address is the URI of a resource, or a region: all URIs of a scheme, or of one authority within
it, which is what a template takes up. A region is wider than its template on purpose, so that no
URI is ever between two servers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

URI_CHARS: Final = 2048
"""Characters of an address that a server lists; nothing with a longer one is known."""
CLAIMS: Final = 10_000
"""Addresses of one server: what it lists, and of what it listed once as much as there is room."""
ALL_CLAIMS: Final = 100_000
_MARK: Final = "{"
"""Begins a region, and no URI."""


class Owners:
    """Servers, by what they have; never edited."""

    __slots__ = ("_schemes", "claims")

    def __init__(self, claims: Mapping[str, str]) -> None:
        self.claims = claims
        """Servers (`name@source`) by address, the oldest claim first."""
        self._schemes: dict[str, set[str]] = {}
        for address, server in claims.items():
            if address.startswith(_MARK):
                self._schemes.setdefault(_scheme(address), set()).add(server)

    def has(self, server: str, address: str) -> bool:
        """Return true if a server has an address."""
        return self.claims.get(address) == server

    def rival(self, server: str, address: str) -> str:
        """The other server because of which this one cannot have an address; empty if none."""
        owner = self.claims.get(address, server)
        if owner == server and address.startswith(_MARK):
            owner = self._neighbour(server, address)
        return owner if owner != server else ""

    def _neighbour(self, server: str, region: str) -> str:
        """Find another server with a region that reaches into this one; else the same."""
        whole = _scheme(region)
        if region != whole:
            return self.claims.get(whole, server)
        return min(self._schemes.get(whole, set()) - {server}, default=server)

    def claim(self, server: str, addresses: Iterable[str], present: Collection[str]) -> Owners:
        """The owners after a server listed these addresses; the very same if nothing changed.

        What cannot be remembered is not had: it goes by its wrapped address. `present` are the
        servers of the picture; of others the oldest claims are forgotten first.
        """
        listed = dict.fromkeys(addresses)
        fresh = [a for a in listed if a not in self.claims and not self.rival(server, a)]
        if not fresh:
            return self
        claims = dict(self.claims)
        own = [a for a, owner in claims.items() if owner == server]
        _drop(claims, (a for a in own if a not in listed), len(own) + len(fresh) - CLAIMS)
        gone = (a for a, owner in self.claims.items() if owner not in present and a in claims)
        _drop(claims, gone, len(claims) + len(fresh) - ALL_CLAIMS)
        room = max(ALL_CLAIMS - len(claims), 0)
        return Owners(claims | dict.fromkeys(fresh[:room], server))


NO_OWNERS: Final = Owners({})


def region(template: str) -> str:
    """The part of all URIs that a template takes up; empty if that is everything."""
    head = template.partition("{")[0]
    scheme, colon, rest = head.partition(":")
    if not scheme or not colon:
        return ""
    authority, slash, _ = rest.removeprefix("//").partition("/")
    whole = _MARK + scheme.lower() + ":"
    return f"{whole}//{authority}/" if rest.startswith("//") and slash else whole


def _scheme(region: str) -> str:
    """The region of all URIs that have the scheme of this one."""
    return region.partition(":")[0] + ":"


def _drop(claims: dict[str, str], oldest: Iterable[str], count: int) -> None:
    for address in islice(oldest, max(count, 0)):
        del claims[address]
