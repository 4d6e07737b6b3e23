"""Grants as sealed records: of a database that hubs share, or of members in a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from toolyard.links.grants import ListedGrant
from toolyard.records.sealed_file import SealedStore
from toolyard.records.secrets.secret_files import SecretPlace


class SealedGrants:
    """Grants that are sealed; see `GrantPlace`."""

    def __init__(
        self,
        records: SealedStore[ListedGrant],
        hold: Callable[[str], AbstractContextManager[None]],
        place: SecretPlace,
    ) -> None:
        """Keep grants in `records`, which people know as `place`; `hold` is a lock by key."""
        self._records = records
        self._hold = hold
        self._place: SecretPlace = place

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by key."""
        return {grant.key: grant for grant in self._records.listed()}

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who renews a grant."""
        return self._hold(key)

    def read(self, listed: ListedGrant) -> str:
        """Return a grant as text; empty if it was removed meanwhile."""
        return self._records.read(listed.key) or ""

    def write(self, listed: ListedGrant, text: str) -> ListedGrant:
        """Keep a grant in the place of any other of its key."""
        listed = replace(listed, place=self._place)
        self._records.put(listed.key, listed, text)
        return listed

    def note(self, listed: ListedGrant) -> None:
        """Note what is no secret about a grant."""
        self._records.amend(listed.key, listed)

    def remove(self, listed: ListedGrant) -> None:
        """Delete a grant."""
        self._records.remove(listed.key)

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        return self._records.revision()
