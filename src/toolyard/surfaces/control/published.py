"""The catalog, published: the three questions that the API of the public registry answers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.published import PublishedServer, to_server
from toolyard.stores.catalog import Catalog, Shelf, Shelved
from toolyard.stores.imports import OFFICIAL_META
from toolyard.surfaces.control.api import Call, Operation

PAGE: Final = 30
PAGE_MOST: Final = 100
META: Final = "toolyard/catalog"
"""Where our own facts stand in what we publish."""
SERVERS: Final = "/v0.1/servers"


class PublishedQuery(msgspec.Struct, frozen=True):
    """Which servers to give, as the API of the public registry has it."""

    search: str = ""
    cursor: str = ""
    updated_since: str = ""
    version: str = ""
    include_deleted: bool = False
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE


class OfficialFacts(msgspec.Struct, frozen=True, rename="camel"):
    """The facts that the public registry tells of an entry, in its words."""

    status: str
    published_at: str
    updated_at: str
    is_latest: bool


class OwnFacts(msgspec.Struct, frozen=True):
    """The facts that we tell of an entry."""

    name: str
    folder: str


class PublishedFacts(msgspec.Struct, frozen=True):
    """The facts about an entry, by who tells them."""

    official: OfficialFacts = msgspec.field(name=OFFICIAL_META)
    own: OwnFacts = msgspec.field(name=META)


class PublishedEntry(msgspec.Struct, frozen=True):
    """A definition as an entry of the API of the public registry."""

    server: PublishedServer
    facts: PublishedFacts = msgspec.field(name="_meta")

    @property
    def key(self) -> str:
        """The name and version, by which entries are sorted."""
        return f"{self.server.name}:{self.server.version}"


class PageFacts(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The number of entries on a page, and where the next begins."""

    count: int
    next_cursor: str = ""


class PublishedList(msgspec.Struct, frozen=True):
    """Some entries."""

    servers: list[PublishedEntry]
    metadata: PageFacts


class PublishedDoor:
    """Our own catalog, as others can read it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag = "published"
        versions = f"{SERVERS}/{{name:path}}/versions"
        return [
            Operation(
                "GET",
                SERVERS,
                "The servers of the catalog",
                self._published,
                PublishedList,
                query=PublishedQuery,
                tag=tag,
            ),
            Operation("GET", versions, "Its versions", self._versions, PublishedList, tag=tag),
            Operation(
                "GET",
                f"{versions}/{{version}}",
                "One version",
                self._version,
                PublishedEntry,
                tag=tag,
            ),
        ]

    async def _shelf(self) -> Shelf:
        return await asyncio.to_thread(self._catalog.load)

    async def _published(self, call: Call) -> PublishedList:
        asked: PublishedQuery = call.query
        entries = [publish(shelved) for shelved in (await self._shelf()).definitions.values()]
        since = _moment(asked.updated_since)
        matching = [
            entry
            for entry in sorted(entries, key=lambda entry: entry.key)
            if _is_wanted(entry, asked, since)
        ]
        page = matching[: asked.limit]
        following = page[-1].key if len(matching) > len(page) else ""
        return PublishedList(page, PageFacts(len(page), following))

    async def _versions(self, call: Call) -> PublishedList:
        return PublishedList([await self._entry(call.path["name"])], PageFacts(1))

    async def _version(self, call: Call) -> PublishedEntry:
        entry = await self._entry(call.path["name"])
        version = call.path["version"]
        if version not in ("latest", entry.server.version):
            raise UnknownNameError(
                f"there is no version {version[:80]!r} of it", f"there is: {entry.server.version}"
            )
        return entry

    async def _entry(self, name: str) -> PublishedEntry:
        for shelved in (await self._shelf()).definitions.values():
            if to_server(shelved.definition).name == name:
                return publish(shelved)
        raise UnknownNameError(f"no server {name[:80]!r} is published here", f"see: {SERVERS}")


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


def _is_wanted(entry: PublishedEntry, asked: PublishedQuery, since: datetime | None) -> bool:
    server = entry.server
    updated = datetime.fromisoformat(entry.facts.official.updated_at)
    return (
        asked.search.lower() in f"{server.name} {server.description}".lower()
        and (since is None or updated >= since)
        and asked.version in ("", "latest", server.version)
        and entry.key > asked.cursor
    )


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            "'updated_since' is no moment", "write it as 2026-11-15T10:00:00Z"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
