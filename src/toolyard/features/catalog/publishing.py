"""The catalog, published: its entries as the API of the public registry has them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from toolyard.core.errors import ConfigError
from toolyard.features.catalog.importing import OFFICIAL_META
from toolyard.features.catalog.rows import PAGE, PAGE_MOST
from toolyard.features.catalog.server_json import PublishedServer, to_server
from toolyard.features.catalog.store import Shelved

META: Final = "toolyard/catalog"
"""The key of our own facts in what we publish."""
SERVERS: Final = "/v0.1/servers"


class PublishedQuery(Struct, frozen=True):
    """The servers to give, as the API of the public registry has it."""

    search: str = ""
    cursor: str = ""
    updated_since: str = ""
    version: str = ""
    include_deleted: bool = False
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE


class PublishedName(Struct, frozen=True):
    """The published server that is meant."""

    name: str


class PublishedVersion(Struct, frozen=True):
    """The version of a published server that is meant."""

    name: str
    version: str


class OfficialFacts(Struct, frozen=True, rename="camel"):
    """The facts that the public registry tells of an entry, in its words."""

    status: str
    published_at: str
    updated_at: str
    is_latest: bool


class OwnFacts(Struct, frozen=True):
    """The facts that we tell of an entry."""

    name: str
    folder: str


class PublishedFacts(Struct, frozen=True):
    """The facts about an entry, by who tells them."""

    official: OfficialFacts = msgspec.field(name=OFFICIAL_META)
    own: OwnFacts = msgspec.field(name=META)


class PublishedEntry(Struct, frozen=True):
    """A definition as an entry of the API of the public registry."""

    server: PublishedServer
    facts: PublishedFacts = msgspec.field(name="_meta")

    @property
    def key(self) -> str:
        """The name and version, by which entries are sorted."""
        return f"{self.server.name}:{self.server.version}"


class PageFacts(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The number of entries on a page, and where the next begins."""

    count: int
    next_cursor: str = ""


class PublishedList(Struct, frozen=True):
    """Some entries."""

    servers: list[PublishedEntry]
    metadata: PageFacts


def publish(shelved: Shelved) -> PublishedEntry:
    """Return a definition as an entry of the API of the public registry."""
    try:
        changed = shelved.path.stat().st_mtime
    except OSError:
        changed = 0.0
    moment = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    official = OfficialFacts("active", moment, moment, is_latest=True)
    own = OwnFacts(shelved.definition.name, shelved.folder)
    return PublishedEntry(to_server(shelved.definition), PublishedFacts(official, own))


def select_page(entries: Sequence[PublishedEntry], query: PublishedQuery) -> PublishedList:
    """Return the entries that a question is about, up to its limit.

    Raises:
        ConfigError: Its moment cannot be read.
    """
    since = _moment(query.updated_since)
    matching = [
        entry
        for entry in sorted(entries, key=lambda entry: entry.key)
        if _is_wanted(entry, query, since)
    ]
    page = matching[: query.limit]
    following = page[-1].key if len(matching) > len(page) else ""
    return PublishedList(page, PageFacts(len(page), following))


def _is_wanted(entry: PublishedEntry, query: PublishedQuery, since: datetime | None) -> bool:
    server = entry.server
    updated = datetime.fromisoformat(entry.facts.official.updated_at)
    return (
        query.search.lower() in f"{server.name} {server.description}".lower()
        and (since is None or updated >= since)
        and query.version in ("", "latest", server.version)
        and entry.key > query.cursor
    )


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            "'updated_since' is no moment", "write it as 2026-11-15T10:00:00Z"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
