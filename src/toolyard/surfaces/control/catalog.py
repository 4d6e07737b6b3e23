"""The catalog: definitions to look at, to add to the yard, to write and to import."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.core.fold import alias_beside
from toolyard.core.model import Command, Endpoint, Snapshot
from toolyard.core.shelves import DefinitionSummary, find, summarise
from toolyard.hub.rows import ProblemRow, problem_row
from toolyard.operation import Done, OpenObject
from toolyard.records.jsonc import parse
from toolyard.sources.catalog import SOURCE
from toolyard.stores.catalog import Catalog, Shelf, Shelved
from toolyard.stores.imports import import_published
from toolyard.stores.published import Published
from toolyard.surfaces.control.api import Call, Operation

LISTED: Final = 1000
PAGE: Final = 30
PAGE_MOST: Final = 100


class CatalogQuery(msgspec.Struct, frozen=True):
    """Which definitions to list."""

    search: str = ""
    category: str = ""
    added: bool = False


class DefinitionList(msgspec.Struct, frozen=True):
    """Definitions, in short, and what is wrong with files of the catalog."""

    definitions: list[DefinitionSummary]
    total: int
    problems: list[ProblemRow]


class DefinitionLaunch(msgspec.Struct, frozen=True):
    """Exactly what is started or reached; `${NAME}` stands for what a variable is given."""

    command: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    env: dict[str, str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET


class DefinitionDetails(DefinitionSummary, frozen=True):
    """A definition in full."""

    launch: DefinitionLaunch
    file: str
    alias: str
    """The name it has in the yard, or would get."""
    definition: OpenObject | None
    """The file, as it was written."""


class NextPage(msgspec.Struct, frozen=True, rename="camel"):
    """Where a list goes on; empty at its end."""

    next_cursor: str


class PublishedPage(msgspec.Struct, frozen=True):
    """Servers of a registry, as it describes them."""

    servers: list[OpenObject]
    metadata: NextPage


class Values(msgspec.Struct, frozen=True):
    """What a server is given for its variables, and whether it is on."""

    values: dict[str, str] = {}
    enabled: bool = True


class Wanted(msgspec.Struct, frozen=True):
    """Which published server to import, from where, and what to call it."""

    name: Annotated[str, Meta(min_length=1)]
    registry: Annotated[str, Meta(min_length=1)]
    version: str = "latest"
    alias: str = ""


class SearchQuery(msgspec.Struct, frozen=True):
    """What to look for at a registry."""

    registry: Annotated[str, Meta(min_length=1)]
    search: str = ""
    cursor: str = ""
    updated_since: str = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE


class AddedServer(msgspec.Struct, frozen=True):
    """A definition that became a server, and what the yard calls it."""

    alias: str
    done: bool = True


class CatalogDoor:
    """Questions and orders about the catalog; the yard learns of a change through the files."""

    def __init__(self, catalog: Catalog, look: Callable[[], Snapshot]) -> None:
        self._catalog = catalog
        self._look = look

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        return [*self._reading(), *self._writing()]

    def _reading(self) -> list[Operation]:
        tag, one = "catalog", "/api/v1/catalog/{name}"
        return [
            Operation(
                "GET",
                "/api/v1/catalog",
                "List or search definitions",
                self._list,
                DefinitionList,
                query=CatalogQuery,
                tag=tag,
            ),
            Operation("GET", one, "A definition in full", self._get, DefinitionDetails, tag=tag),
            Operation(
                "GET",
                "/api/v1/published",
                "Search the servers of a registry",
                self._search,
                PublishedPage,
                query=SearchQuery,
                tag=tag,
                errors=(404,),
            ),
        ]

    def _writing(self) -> list[Operation]:
        tag, one = "catalog", "/api/v1/catalog/{name}"
        return [
            Operation(
                "PUT",
                one,
                "Write a custom definition",
                self._put,
                DefinitionDetails,
                body=dict[str, Any],
                tag=tag,
            ),
            Operation("DELETE", one, "Delete a custom definition", self._remove, Done, tag=tag),
            Operation(
                "POST",
                f"{one}/add",
                "Make it a server of the yard",
                self._add,
                AddedServer,
                body=Values,
                tag=tag,
            ),
            Operation("POST", f"{one}/drop", "Take it out of the yard", self._drop, Done, tag=tag),
            Operation(
                "POST",
                "/api/v1/catalog/import",
                "Take over a definition from a registry",
                self._import,
                DefinitionSummary,
                body=Wanted,
                tag=tag,
                errors=(404,),
            ),
        ]

    async def _shelf(self) -> Shelf:
        return await asyncio.to_thread(self._catalog.load)

    async def _list(self, call: Call) -> DefinitionList:
        asked: CatalogQuery = call.query
        shelf = await self._shelf()
        every = list(shelf.definitions.values())
        order = find([each.definition for each in every], asked.search)
        found = [every[index] for index in order if _is_wanted(every[index], shelf, asked)]
        problems = [problem_row(problem) for problem in shelf.problems]
        listed = [_summary(shelved, shelf) for shelved in found[:LISTED]]
        return DefinitionList(listed, len(found), problems)

    async def _get(self, call: Call) -> DefinitionDetails:
        shelf = await self._shelf()
        found = shelf.get(call.path["name"])
        text = await asyncio.to_thread(self._catalog.text, found.definition.name)
        return DefinitionDetails(
            **msgspec.structs.asdict(_summary(found, shelf)),
            launch=_launch(found.definition.endpoint),
            file=str(found.path),
            alias=self._alias(found.definition.name),
            definition=_plain(text),
        )

    async def _put(self, call: Call) -> DefinitionDetails:
        # The body as it came: writing it anew could change a number.
        text = await call.request.body()
        await asyncio.to_thread(self._catalog.put, text, call.path["name"])
        return await self._get(call)

    async def _remove(self, call: Call) -> Done:
        await asyncio.to_thread(self._catalog.remove, call.path["name"])
        return Done()

    def _alias(self, name: str) -> str:
        """The name it has in the yard, or would get beside what is there."""
        ids = self._look().entries
        return alias_beside(((id_.name, id_.source) for id_ in ids), (name, SOURCE))

    async def _add(self, call: Call) -> AddedServer:
        asked: Values = call.body
        found = await asyncio.to_thread(self._catalog.add, call.path["name"], asked.values)
        if not asked.enabled:
            await asyncio.to_thread(self._catalog.set_enabled, found.definition.name, False)
        return AddedServer(self._alias(found.definition.name))

    async def _drop(self, call: Call) -> Done:
        await asyncio.to_thread(self._catalog.drop, call.path["name"])
        return Done()

    async def _import(self, call: Call) -> DefinitionSummary:
        asked: Wanted = call.body
        definition = await asyncio.to_thread(
            import_published,
            self._catalog,
            Published(asked.registry),
            asked.name,
            asked.version,
            asked.alias,
        )
        shelf = await self._shelf()
        return _summary(shelf.get(definition.name), shelf)

    async def _search(self, call: Call) -> PublishedPage:
        asked: SearchQuery = call.query
        page = await asyncio.to_thread(
            Published(asked.registry).search,
            asked.search,
            asked.cursor,
            asked.limit,
            asked.updated_since,
        )
        return PublishedPage(list(page.servers), NextPage(page.next_cursor))


def _launch(endpoint: Endpoint) -> DefinitionLaunch:
    if isinstance(endpoint, Command):
        env = dict(endpoint.env)
        return DefinitionLaunch(command=list(endpoint.argv), cwd=endpoint.cwd, env=env)
    return DefinitionLaunch(url=endpoint.url, headers=dict(endpoint.headers))


def _summary(each: Shelved, shelf: Shelf) -> DefinitionSummary:
    return summarise(each.definition, each.folder, shelf.added)


def _is_wanted(each: Shelved, shelf: Shelf, asked: CatalogQuery) -> bool:
    if asked.added and each.definition.name not in shelf.added:
        return False
    return asked.category in ("", each.definition.category)


def _plain(text: bytes) -> Any:
    root = parse(text).root
    return root.plain() if root else None
