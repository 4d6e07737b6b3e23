"""Orders about the catalog, and the answers to them."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.model import Command, Endpoint
from toolyard.core.rows import ProblemRow
from toolyard.features.catalog.summary import DefinitionSummary
from toolyard.operation import OpenObject

PAGE: Final = 30
PAGE_MOST: Final = 100


class CatalogQuery(Struct, frozen=True):
    """The definitions to list."""

    search: str = ""
    category: str = ""
    added: bool = False


class DefinitionName(Struct, frozen=True):
    """The definition that is meant."""

    name: str


class PutDefinition(Struct, frozen=True):
    """A definition to write, as it came: writing it anew could change a number."""

    name: str
    body: bytes


class AddDefinition(Struct, frozen=True):
    """A definition to add to the yard: the values of its variables, and whether it is on."""

    name: str
    values: dict[str, str] = {}
    enabled: bool = True


class ImportPublished(Struct, frozen=True):
    """A published server to import: from where, and under which name."""

    name: Annotated[str, Meta(min_length=1)]
    registry: Annotated[str, Meta(min_length=1)]
    version: str = "latest"
    alias: str = ""


class PublisherQuery(Struct, frozen=True):
    """The servers to look for at a registry."""

    registry: Annotated[str, Meta(min_length=1)]
    search: str = ""
    cursor: str = ""
    updated_since: str = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MOST)] = PAGE


class DefinitionList(Struct, frozen=True):
    """Definitions, in short, and what is wrong with files of the catalog."""

    definitions: list[DefinitionSummary]
    total: int
    problems: list[ProblemRow]


class DefinitionLaunch(Struct, frozen=True):
    """Exactly what is started or reached; `${NAME}` stands for what a variable is given."""

    command: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    env: dict[str, str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET

    def __str__(self) -> str:
        """The command line or the address; values of variables are not in it."""
        if self.command is not UNSET:
            return " ".join(self.command)
        return "" if self.url is UNSET else self.url


class DefinitionDetails(DefinitionSummary, frozen=True):
    """A definition in full."""

    launch: DefinitionLaunch
    file: str
    alias: str
    """The name it has in the yard, or would get."""
    definition: OpenObject | None
    """The file, as it was written."""


class AddedServer(Struct, frozen=True):
    """A definition that became a server, and what the yard calls it."""

    alias: str
    done: bool = True
    problem: ProblemRow | UnsetType = UNSET
    """What it still needs before it can be used."""


class NextPage(Struct, frozen=True, rename="camel"):
    """Where a list goes on; empty at its end."""

    next_cursor: str


class PublishedPage(Struct, frozen=True):
    """Servers of a registry, as it describes them."""

    servers: list[OpenObject]
    metadata: NextPage


def launch_of(endpoint: Endpoint) -> DefinitionLaunch:
    """Return exactly what an endpoint starts or reaches."""
    if isinstance(endpoint, Command):
        env = dict(endpoint.env)
        return DefinitionLaunch(command=list(endpoint.argv), cwd=endpoint.cwd, env=env)
    return DefinitionLaunch(url=endpoint.url, headers=dict(endpoint.headers))
