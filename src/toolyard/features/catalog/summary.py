"""Definitions in short, and found by words: what every door shows of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from toolyard.core.search import search_texts
from toolyard.features.catalog.model import Definition


class _Switched(Protocol):
    @property
    def enabled(self) -> bool: ...


def find(definitions: Sequence[Definition], words: str) -> list[int]:
    """The positions of the definitions that match some words, best first; all for no words."""
    if not words.strip():
        return list(range(len(definitions)))
    return search_texts([(definition.name, _text(definition)) for definition in definitions], words)


class VariableRow(msgspec.Struct, frozen=True):
    """Something the user gives a server, and where to get it."""

    name: str
    required: bool
    secret: bool
    text: str
    url: str


class DefinitionSummary(msgspec.Struct, frozen=True):
    """A definition in short."""

    name: str
    full_name: str
    version: str
    title: str
    description: str
    category: str
    tags: list[str]
    folder: str
    transport: str
    authorization: str
    variables: list[VariableRow]
    links: dict[str, str]
    tools: int
    verified_at: str | None
    added: bool
    """Whether it is a server of the yard."""
    enabled: bool


def summarise(
    definition: Definition, folder: str, added: Mapping[str, _Switched]
) -> DefinitionSummary:
    """Return a definition in short."""
    verification = definition.verification
    addition = added.get(definition.name)
    return DefinitionSummary(
        name=definition.name,
        full_name=definition.full_name,
        version=definition.version,
        title=definition.title,
        description=definition.description,
        category=definition.category,
        tags=list(definition.tags),
        folder=folder,
        transport=definition.transport,
        authorization=definition.authorization.kind,
        variables=_variables(definition),
        links=dict(definition.links),
        tools=len(definition.known_tools),
        verified_at=verification.verified_at if verification else None,
        added=addition is not None,
        enabled=addition is not None and addition.enabled,
    )


def _variables(definition: Definition) -> list[VariableRow]:
    where = definition.authorization.url
    return [
        VariableRow(
            variable.name, variable.required, variable.secret, variable.text, variable.url or where
        )
        for variable in definition.authorization.variables
    ]


def _text(definition: Definition) -> str:
    words = (definition.title, definition.description, definition.category, *definition.tags)
    return " ".join((*words, *definition.known_tools))
