"""Questions and orders about the catalog; the yard learns of a change through the files."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Final

import msgspec
from msgspec import UNSET

from toolyard.core.errors import UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import ServerId
from toolyard.core.naming import alias_beside
from toolyard.core.rows import problem_row
from toolyard.features.catalog.importing import import_published
from toolyard.features.catalog.model import SOURCE
from toolyard.features.catalog.publisher import Publisher
from toolyard.features.catalog.publishing import (
    SERVERS,
    PageFacts,
    PublishedEntry,
    PublishedList,
    PublishedName,
    PublishedQuery,
    PublishedVersion,
    publish,
    select_page,
)
from toolyard.features.catalog.rows import (
    AddDefinition,
    AddedServer,
    CatalogQuery,
    DefinitionDetails,
    DefinitionList,
    DefinitionName,
    ImportPublished,
    NextPage,
    PublishedPage,
    PublisherQuery,
    PutDefinition,
    launch_of,
)
from toolyard.features.catalog.server_json import to_server
from toolyard.features.catalog.source import make_server
from toolyard.features.catalog.store import Catalog, Shelf, Shelved
from toolyard.features.catalog.summary import DefinitionSummary, find, summarise
from toolyard.operation import Done, Needs, operation
from toolyard.records.jsonc import parse
from toolyard.yard import Yard

LISTED: Final = 1000
TOP: Final = "/api/v1/catalog"
ONE: Final = "/api/v1/catalog/{name}"
VERSIONS: Final = f"{SERVERS}/{{name:path}}/versions"


@operation("GET", TOP, needs=Needs.FILES)
async def list_definitions(yard: Yard, order: CatalogQuery) -> DefinitionList:
    """List or search definitions."""
    shelf = await _load(yard)
    every = list(shelf.definitions.values())
    ranked = find([shelved.definition for shelved in every], order.search)
    matching = [every[index] for index in ranked if _is_wanted(every[index], shelf, order)]
    listed = [_summary(shelved, shelf) for shelved in matching[:LISTED]]
    return DefinitionList(listed, len(matching), [problem_row(p) for p in shelf.problems])


@operation("GET", ONE, needs=Needs.FILES)
async def get_definition(yard: Yard, order: DefinitionName) -> DefinitionDetails:
    """A definition in full."""
    return await _details(yard, order.name)


@operation("PUT", ONE, needs=Needs.FILES, shape=JsonObject, raw=True)
async def put_definition(yard: Yard, order: PutDefinition) -> DefinitionDetails:
    """Write a custom definition."""
    await asyncio.to_thread(yard.part(Catalog).put, order.body, order.name)
    return await _details(yard, order.name)


@operation("DELETE", ONE, needs=Needs.FILES)
async def remove_definition(yard: Yard, order: DefinitionName) -> Done:
    """Delete a custom definition."""
    await asyncio.to_thread(yard.part(Catalog).remove, order.name)
    return Done()


@operation("POST", f"{ONE}/add", needs=Needs.FILES)
async def add_definition(yard: Yard, order: AddDefinition) -> AddedServer:
    """Make it a server of the yard."""
    catalog = await _open(yard)
    shelved = await asyncio.to_thread(catalog.add, order.name, order.values, by=yard.caller)
    definition = shelved.definition
    if not order.enabled:
        switch = catalog.set_enabled
        await asyncio.to_thread(switch, definition.name, False, by=yard.caller)
    addition = (await asyncio.to_thread(catalog.load)).added[definition.name]
    server = make_server(definition, addition, os.environ)
    problem = server.problem
    await yard.seen(lambda picture: server.id in picture.entries)
    lacking = UNSET if problem is None else problem_row(problem)
    return AddedServer(_alias(yard, definition.name), problem=lacking)


@operation("POST", f"{ONE}/drop", needs=Needs.FILES)
async def drop_definition(yard: Yard, order: DefinitionName) -> Done:
    """Take it out of the yard."""
    await asyncio.to_thread(yard.part(Catalog).drop, order.name, by=yard.caller)
    return Done()


@operation("POST", f"{TOP}/import", needs=Needs.FILES, errors=(404,))
async def import_definition(yard: Yard, order: ImportPublished) -> DefinitionSummary:
    """Take over a definition from a registry."""
    publisher, catalog = Publisher(order.registry), await _open(yard)
    definition = await asyncio.to_thread(
        import_published, catalog, publisher, order.name, order.version, order.alias
    )
    shelf = await _load(yard)
    return _summary(shelf.get(definition.name), shelf)


@operation("GET", "/api/v1/published", needs=Needs.FILES, errors=(404,))
async def search_published(yard: Yard, order: PublisherQuery) -> PublishedPage:
    """Search the servers of a registry."""
    page = await asyncio.to_thread(
        Publisher(order.registry).search,
        order.search,
        order.cursor,
        order.limit,
        order.updated_since,
    )
    return PublishedPage(list(page.servers), NextPage(page.next_cursor))


@operation("GET", SERVERS, tag="published")
async def list_published(yard: Yard, order: PublishedQuery) -> PublishedList:
    """The servers of the catalog."""
    shelf = await _load(yard)
    return select_page([publish(shelved) for shelved in shelf.definitions.values()], order)


@operation("GET", VERSIONS, tag="published")
async def list_versions(yard: Yard, order: PublishedName) -> PublishedList:
    """Its versions."""
    return PublishedList([await _published(yard, order.name)], PageFacts(1))


@operation("GET", f"{VERSIONS}/{{version}}", tag="published")
async def get_version(yard: Yard, order: PublishedVersion) -> PublishedEntry:
    """One version."""
    entry = await _published(yard, order.name)
    if order.version not in ("latest", entry.server.version):
        text = f"there is no version {order.version[:80]!r} of it"
        raise UnknownNameError(text, f"there is: {entry.server.version}")
    return entry


async def _open(yard: Yard) -> Catalog:
    """Return the catalog; without a hub nobody else copies into it what we ship."""
    catalog = yard.part(Catalog)
    if not yard.is_live:
        await asyncio.to_thread(catalog.copy_bundled)
    return catalog


async def _load(yard: Yard) -> Shelf:
    return await asyncio.to_thread((await _open(yard)).load)


async def _details(yard: Yard, name: str) -> DefinitionDetails:
    shelf = await _load(yard)
    shelved = shelf.get(name)
    text = await asyncio.to_thread(yard.part(Catalog).text, shelved.definition.name)
    return DefinitionDetails(
        **msgspec.structs.asdict(_summary(shelved, shelf)),
        launch=launch_of(shelved.definition.endpoint),
        file=str(shelved.path),
        alias=_alias(yard, shelved.definition.name),
        definition=_plain(text),
    )


async def _published(yard: Yard, name: str) -> PublishedEntry:
    for shelved in (await _load(yard)).definitions.values():
        if to_server(shelved.definition).name == name:
            return publish(shelved)
    raise UnknownNameError(f"no server {name[:80]!r} is published here", f"see: {SERVERS}")


def _alias(yard: Yard, name: str) -> str:
    """Return the name it has in the yard, or would get beside what is there."""
    return alias_beside(yard.snapshot, ServerId(name, SOURCE))


def _summary(shelved: Shelved, shelf: Shelf) -> DefinitionSummary:
    return summarise(shelved.definition, shelved.folder, shelf.added)


def _is_wanted(shelved: Shelved, shelf: Shelf, order: CatalogQuery) -> bool:
    if order.added and shelved.definition.name not in shelf.added:
        return False
    return order.category in ("", shelved.definition.category)


def _plain(text: bytes) -> Any:
    root = parse(text).root
    return root.plain() if root else None
