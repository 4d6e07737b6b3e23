"""The owners of addresses and names: those who had them first, for as long as that is remembered.

An address is the URI of a resource, or a region: all URIs of a scheme, or of one authority within
it, which is what a template takes up. A region is wider than its template on purpose, so that no
URI is ever between two servers. The name of a server, its alias, is kept as an address that only
the hub gives, so that no server can list one.
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
NAMES: Final = 10_000
"""Names that are remembered of servers that are gone."""
_MARK: Final = "{"
"""Begins a region, and no URI."""
_NAME: Final = "toolyard://name/"
"""Begins the address that stands for a name."""


class Owners:
    """Servers, by what they have; never edited."""

    __slots__ = ("_aliases", "_schemes", "claims")

    def __init__(self, claims: Mapping[str, str]) -> None:
        self.claims = claims
        """Servers (`name@source`) by address, the oldest claim first."""
        self._schemes: dict[str, set[str]] = {}
        self._aliases: dict[str, str] = {}
        for address, server in claims.items():
            if address.startswith(_MARK):
                self._schemes.setdefault(_scheme(address), set()).add(server)
            elif address.startswith(_NAME):
                self._aliases.setdefault(server, address.removeprefix(_NAME))

    def alias(self, server: str) -> str:
        """Return the name that a server has; empty if none."""
        return self._aliases.get(server, "")

    def named(self, alias: str) -> str:
        """Return the server that has a name; empty if none."""
        return self.claims.get(_NAME + alias, "")

    def name(self, aliases: Mapping[str, str], present: Collection[str]) -> Owners:
        """The owners after servers got these aliases; the very same if nothing changed.

        A server has one name: it leaves its former. Of servers that are gone, the oldest names are
        forgotten first.
        """
        fresh = {
            _NAME + alias: server
            for server, alias in aliases.items()
            if self.alias(server) != alias or self.named(alias) != server
        }
        if not fresh:
            return self
        renamed = set(fresh.values())
        claims = {
            address: server
            for address, server in self.claims.items()
            if address not in fresh and not (address.startswith(_NAME) and server in renamed)
        }
        gone = [a for a, s in claims.items() if a.startswith(_NAME) and s not in present]
        _drop(claims, gone, len(gone) - NAMES)
        return Owners(claims | fresh)

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
        own = [a for a, owner in claims.items() if owner == server and not a.startswith(_NAME)]
        _drop(claims, (a for a in own if a not in listed), len(own) + len(fresh) - CLAIMS)
        gone = (
            a
            for a, owner in self.claims.items()
            if owner not in present and a in claims and not a.startswith(_NAME)
        )
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
