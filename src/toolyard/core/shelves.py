"""Definitions in short, and found by words: what every door shows of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from toolyard.core.catalog import Definition
from toolyard.core.search import Index


class _Switched(Protocol):
    @property
    def enabled(self) -> bool: ...


def find(definitions: Sequence[Definition], words: str) -> list[int]:
    """The positions of the definitions that match some words, best first; all for no words."""
    if not words.strip():
        return list(range(len(definitions)))
    return Index([(each.name, _text(each)) for each in definitions]).search(words)


def summarise(
    definition: Definition, folder: str, added: Mapping[str, _Switched]
) -> dict[str, Any]:
    """A definition in short."""
    seen = definition.verification
    addition = added.get(definition.name)
    return {
        "name": definition.name,
        "full_name": definition.full_name,
        "version": definition.version,
        "title": definition.title,
        "description": definition.description,
        "category": definition.category,
        "tags": list(definition.tags),
        "folder": folder,
        "transport": definition.transport,
        "authorization": definition.authorization.kind,
        "variables": _variables(definition),
        "links": dict(definition.links),
        "tools": len(definition.known_tools),
        "verified_at": seen.verified_at if seen else None,
        "added": addition is not None,
        "enabled": addition is not None and addition.enabled,
    }


def _variables(definition: Definition) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "required": each.required,
            "secret": each.secret,
            "text": each.text,
            "url": each.url or definition.authorization.url,
        }
        for each in definition.authorization.variables
    ]


def _text(definition: Definition) -> str:
    words = (definition.title, definition.description, definition.category, *definition.tags)
    return " ".join((*words, *definition.known_tools))
