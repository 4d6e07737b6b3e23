"""Grants as sealed records of a database that hubs share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from toolyard.links.grants import ListedGrant

if TYPE_CHECKING:
    from toolyard.records.postgres.sealed import SealedRecords
    from toolyard.records.postgres.shared import SharedDatabase


class SharedGrants:
    """The grants of all hubs; see `GrantPlace`."""

    def __init__(self, records: SealedRecords[ListedGrant], database: SharedDatabase) -> None:
        self._records = records
        self._database = database

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by server."""
        return {grant.url: grant for grant in self._records.listed()}

    def hold(self, url: str) -> AbstractContextManager[None]:
        """Be the only hub that renews a grant."""
        from toolyard.records.postgres.renewals import hold_renewal

        return hold_renewal(self._database, url)

    def read(self, listed: ListedGrant) -> str:
        """Return a grant as text; empty if it was removed meanwhile."""
        return self._records.read(listed.url) or ""

    def write(self, listed: ListedGrant, text: str) -> ListedGrant:
        """Keep a grant in the place of any other for its server."""
        listed = replace(listed, place="database")
        self._records.put(listed.url, listed, text)
        return listed

    def note(self, listed: ListedGrant) -> None:
        """Note what is no secret about a grant."""
        self._records.amend(listed.url, listed)

    def remove(self, listed: ListedGrant) -> None:
        """Delete a grant."""
        self._records.remove(listed.url)

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        return self._records.revision()
