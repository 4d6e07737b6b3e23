"""The catalog, published: the three questions that the API of the public registry answers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.published import to_server
from toolyard.stores.catalog import Catalog, Shelf, Shelved
from toolyard.stores.imports import OFFICIAL_META
from toolyard.surfaces.control.api import Call, Operation

PAGE: Final = 30
PAGE_MOST: Final = 100
META: Final = "toolyard/catalog"
"""Where our own facts stand in what we publish."""
SERVERS: Final = "/v0.1/servers"


class PublishedQuery(msgspec.Struct):
    """Which servers to give, as the API of the public registry has it."""

    search: str = ""
    cursor: str = ""
    updated_since: str = ""
    version: str = ""
    include_deleted: bool = False
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE


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
                dict[str, Any],
                query=PublishedQuery,
                tag=tag,
            ),
            Operation("GET", versions, "Its versions", self._versions, dict[str, Any], tag=tag),
            Operation(
                "GET",
                f"{versions}/{{version}}",
                "One version",
                self._version,
                dict[str, Any],
                tag=tag,
            ),
        ]

    async def _shelf(self) -> Shelf:
        return await asyncio.to_thread(self._catalog.load)

    async def _published(self, call: Call) -> dict[str, Any]:
        asked: PublishedQuery = call.query
        entries = [publish(each) for each in (await self._shelf()).definitions.values()]
        entries.sort(key=_key)
        since = _moment(asked.updated_since)
        words = asked.search.lower()
        found = [
            each
            for each in entries
            if words in f"{each['server']['name']} {each['server']['description']}".lower()
            and (since is None or _updated(each) >= since)
            and asked.version in ("", "latest", each["server"]["version"])
            and _key(each) > asked.cursor
        ]
        page = found[: asked.limit]
        metadata: dict[str, Any] = {"count": len(page)}
        if len(found) > len(page):
            metadata["nextCursor"] = _key(page[-1])
        return {"servers": page, "metadata": metadata}

    async def _versions(self, call: Call) -> dict[str, Any]:
        entry = await self._entry(call.path["name"])
        return {"servers": [entry], "metadata": {"count": 1}}

    async def _version(self, call: Call) -> dict[str, Any]:
        entry = await self._entry(call.path["name"])
        version = call.path["version"]
        if version not in ("latest", entry["server"]["version"]):
            raise UnknownNameError(
                f"there is no version {version[:80]!r} of it",
                f"there is: {entry['server']['version']}",
            )
        return entry

    async def _entry(self, name: str) -> dict[str, Any]:
        for each in (await self._shelf()).definitions.values():
            if to_server(each.definition)["name"] == name:
                return publish(each)
        raise UnknownNameError(f"no server {name[:80]!r} is published here", f"see: {SERVERS}")


def publish(each: Shelved) -> dict[str, Any]:
    """A definition as an entry of the API of the public registry."""
    try:
        changed = each.path.stat().st_mtime
    except OSError:
        changed = 0.0
    moment = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    official = {
        "status": "active",
        "publishedAt": moment,
        "updatedAt": moment,
        "isLatest": True,
    }
    ours = {"name": each.definition.name, "folder": each.folder}
    meta = {OFFICIAL_META: official, META: ours}
    return {"server": to_server(each.definition), "_meta": meta}


def _key(entry: dict[str, Any]) -> str:
    return f"{entry['server']['name']}:{entry['server']['version']}"


def _updated(entry: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["_meta"][OFFICIAL_META]["updatedAt"])


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
