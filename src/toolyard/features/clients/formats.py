"""A client's file as bytes: the servers in it read, one of them put in or taken out.

Bytes outside of that one entry stay as they are, whatever they hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from toolyard.core.errors import ConfigError
from toolyard.core.fields import FaultsError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.clients.shapes import ClientEntry, FileShape, Raw
from toolyard.features.clients.toml import parse_toml, remove_table, set_table
from toolyard.records.edit import remove_member, set_member
from toolyard.records.jsonc import Document, JsonMember, parse

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The servers in a client's file."""

    entries: tuple[ClientEntry, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(shape: FileShape, data: bytes, keys: Keys = ()) -> ClientFile:
    """Read every server; an entry that cannot be used becomes a problem.

    Raises:
        ConfigError: The file cannot be read; the message names the line.
    """
    entries, problems = [], []
    whole = _whole(shape, data)
    for name, (raw, line) in _entries(shape, data, keys or (shape.top,)).items():
        try:
            entry = shape.read(name, raw)
            untaken = (*entry.untaken, *shape.elsewhere(whole, name))
            entries.append(replace(entry, untaken=untaken))
        except FaultsError as error:
            where = f"line {line}" if line else ""
            text = f"server '{name}' cannot be used: {error}"
            problems.append(Problem(ProblemCode.CLIENT_ENTRY, text, error.hint, where))
    return ClientFile(tuple(entries), tuple(problems))


def raw_entry(shape: FileShape, data: bytes, name: str, keys: Keys = ()) -> Any:
    """Give an entry in plain values, all of it; None if there is none.

    Raises:
        ConfigError: The file cannot be read.
    """
    return _entries(shape, data, keys or (shape.top,)).get(name, (None, 0))[0]


def put(shape: FileShape, data: bytes, name: str, raw: Raw, keys: Keys = ()) -> bytes:
    """Give the file with this entry in it.

    Raises:
        ConfigError: The file cannot be read, or what it has there cannot be changed.
    """
    path = (*(keys or (shape.top,)), name)
    return set_table(data, path, raw) if shape.syntax == "toml" else set_member(data, path, raw)


def remove(shape: FileShape, data: bytes, name: str, keys: Keys = ()) -> bytes:
    """Give the file without that entry; unchanged if there is none.

    Raises:
        ConfigError: The file cannot be read, or what it has there cannot be changed.
    """
    path = (*(keys or (shape.top,)), name)
    return remove_table(data, path) if shape.syntax == "toml" else remove_member(data, path)


def _whole(shape: FileShape, data: bytes) -> Raw:
    """The whole file in plain values; empty if it is no object."""
    if shape.syntax == "toml":
        return parse_toml(data)
    root = parse(data).root
    plain = root.plain() if root else {}
    return plain if isinstance(plain, dict) else {}


def _entries(shape: FileShape, data: bytes, keys: Keys) -> dict[str, tuple[Any, int]]:
    """Every entry in plain values, with its line where that is known."""
    if shape.syntax == "toml":
        table: Any = parse_toml(data)
        for key in keys:
            table = table.get(key, {}) if isinstance(table, dict) else {}
        return {name: (raw, 0) for name, raw in table.items()} if isinstance(table, dict) else {}
    document = parse(data)
    members = _members(document, keys)
    return {member.key: (member.node.plain(), document.line(member)) for member in members}


def _members(document: Document, keys: Keys) -> tuple[JsonMember, ...]:
    node = document.root
    if node is not None and node.kind != "object":
        raise ConfigError(
            f"the file holds no object at line {document.line(node)}", "write it as { ... }"
        )
    for key in keys:
        member = node.member(key) if node else None
        node = member.node if member else None
    return node.members if node else ()
