"""Tools as a person reads them: a card, and the parameters of its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final

from toolyard.features.tools.schema import Schema, follow, types_of

CHOICES: Final = 8
"""Allowed values that are named; of more, the first."""
_SAMPLES: Final = {
    "string": "TEXT",
    "integer": "NUMBER",
    "number": "NUMBER",
    "boolean": "true",
    "array": "ITEM",
    "object": "'{…}'",
}


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as its server describes it."""

    name: str
    """Its full name."""
    server: str
    tool: str
    """Its own name at its server."""
    title: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument that a tool takes."""

    name: str
    type: str
    is_required: bool
    default: str
    """As JSON; empty if there is none."""
    description: str
    sample: str
    """A placeholder for its value."""


def read_card(fields: Mapping[str, Any]) -> ToolCard:
    """Read a tool; whatever its author left out or wrote otherwise is empty."""
    schema = fields.get("inputSchema")
    return ToolCard(
        str(fields.get("name", "")),
        str(fields.get("server", "")),
        str(fields.get("tool", "")),
        _text(fields.get("title")),
        _text(fields.get("description")),
        schema if isinstance(schema, dict) else {},
    )


def parameters(schema: Schema) -> list[Parameter]:
    """Return the parameters of a tool: those it needs first, otherwise as its author has them."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    rows = [
        _parameter(name, wanted, name in needed, schema)
        for name, wanted in (properties.items() if isinstance(properties, dict) else ())
    ]
    return sorted(rows, key=lambda row: not row.is_required)


def example(card: ToolCard) -> str:
    """Return the command line that calls a tool; what may be left out is in brackets."""
    words = [
        word if row.is_required else f"[{word}]"
        for row in parameters(card.schema)
        for word in [f"{quote(row.name)}={row.sample}"]
    ]
    return " ".join(["toolyard call", quote(card.name), *words])


def _parameter(name: str, wanted: Any, is_required: bool, root: Schema) -> Parameter:
    described = wanted if isinstance(wanted, dict) else {}
    resolved = follow(wanted, root)
    default = {**resolved, **described}.get("default")
    types = types_of(resolved, root)
    sample = next((text for kind, text in _SAMPLES.items() if kind in types), "VALUE")
    return Parameter(
        name,
        _type_text(resolved, root),
        is_required,
        "" if default is None else json.dumps(default, ensure_ascii=False),
        _text(described.get("description")) or _text(resolved.get("description")),
        sample,
    )


def _type_text(wanted: Schema, root: Schema) -> str:
    choices = wanted.get("enum")
    if isinstance(choices, list) and choices:
        names = [
            choice if isinstance(choice, str) else json.dumps(choice)
            for choice in choices[:CHOICES]
        ]
        return " | ".join([*names, "…"] if len(choices) > CHOICES else names)
    types = types_of(wanted, root)
    if types == {"array"}:
        items = " or ".join(sorted(types_of(follow(wanted.get("items"), root), root)))
        return f"list of {items}" if items else "list"
    return " or ".join(sorted(types)) or "any"


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
