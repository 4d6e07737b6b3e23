"""Owners of addresses in a shared database: whoever claimed one first, at any hub, has it."""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.owners import NO_OWNERS, Owners
from toolyard.records.postgres.order import safe_name
from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

KIND: Final = "address"


class _Claim(msgspec.Struct, frozen=True):
    address: str
    server: str
    number: int
    """Tells which was first of those that were written together."""


class SharedAddresses:
    """Claims of all hubs, followed into memory; see `AddressStore`."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self.changes = database.follow((KIND,))
        self.kept = self._tried = self._read(NO_OWNERS)

    def is_news(self, owners: Owners) -> bool:
        """Say whether owners are others than those that were to be kept last."""
        return owners is not self._tried

    def keep(self, owners: Owners) -> None:
        """Write down what changed, unless another hub was first."""
        former, self._tried = self._tried.claims, owners
        written, now = self.kept.claims, owners.claims
        # Only what this hub had: another may have claimed something just now.
        gone = {a for a, s in former.items() if a not in now or written.get(a) == s != now[a]}
        fresh = [
            _Claim(address, server, number)
            for number, (address, server) in enumerate(now.items())
            if address not in written or address in gone
        ]
        if not gone and not fresh:
            return
        texts = {safe_name(claim.address): _text(claim) for claim in fresh if _is_text(claim)}
        try:
            with self._database.order() as order:
                for address in gone:
                    order.put(KIND, safe_name(address), None)
                order.put_new(KIND, texts)
        except StoreError as error:
            log.warning("addresses are not remembered", extra={"why": str(error)})
            return
        self.kept = self._read(self.kept)

    def merged(self, owners: Owners) -> Owners:
        """Return owners by what all hubs wrote down, and what this one has not written yet."""
        before, self.kept = self.kept, self._read(self.kept)
        unwritten = {a: s for a, s in owners.claims.items() if a not in before.claims}
        claims = {**self.kept.claims}
        claims |= {a: s for a, s in unwritten.items() if a not in claims}
        return owners if claims == owners.claims else Owners(claims)

    def _read(self, before: Owners) -> Owners:
        """Read all claims; the former if nothing is known of the database, or nothing changed."""
        try:
            rows = self._database.read().rows(KIND).values()
        except StoreError:
            return before
        claims = [(version, msgspec.json.decode(text, type=_Claim)) for text, version in rows]
        claims.sort(key=lambda row: (row[0], row[1].number))
        owners = {claim.address: claim.server for _, claim in claims}
        return before if owners == before.claims else Owners(owners)


def _text(claim: _Claim) -> str:
    return msgspec.json.encode(claim).decode()


def _is_text(claim: _Claim) -> bool:
    try:
        f"{claim.address}{claim.server}".encode()
    except UnicodeEncodeError:
        return False
    return True
