"""The sections of a document: what each kind of record is called, read, checked and ordered by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.jsontypes import JsonObject
from toolyard.records.protocol import Kept
from toolyard.yard import ANY_VERSION, Yard

Value = TypeVar("Value")
Bodies = Mapping[str, JsonObject]
"""The records of a section, by name."""


@dataclass(frozen=True, slots=True)
class SectionContents:
    """The records of a section as the yard has them now."""

    bodies: Bodies
    versions: Mapping[str, str] = field(default_factory=dict)
    """The version of each record, where it has one that an order can name."""
    notes: tuple[str, ...] = ()
    """Sentences about records that are left out."""
    withheld: frozenset[str] = frozenset()
    """The records that no document shows; to be left out of one does not remove them."""


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """A record as it is to be, and as it is."""

    name: str
    body: JsonObject
    before: JsonObject | None


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """One kind of record."""

    name: str
    word: str
    """The word for one of its records."""
    read: Callable[[Yard], SectionContents]
    """Reads the records; it blocks."""
    check: Callable[[str, JsonObject], JsonObject]
    """Gives a body in the one form that `read` gives too; raises ConfigError."""
    put: Callable[[Yard, RecordWrite], Awaitable[object]]
    remove: Callable[[Yard, str], Awaitable[object]]
    private: tuple[str, ...] = ()
    """The members of a body that may hold secrets."""

    def spell(self, name: str) -> str:
        """Return a record as people call it."""
        return f"{self.word} '{name}'"


def usable(records: Kept[Value]) -> dict[str, Value]:
    """Return the records that can be used, by name.

    Raises:
        StoreError: Nothing could be read, which is not the same as nothing being there.
    """
    if records.failure is not None:
        raise StoreError(records.failure.text, records.failure.hint)
    return dict(sorted(records.values.items()))


def versions_of(records: Kept[Any]) -> dict[str, str]:
    """Return the versions of records as orders name them."""
    return {name: str(version) for name, version in records.versions.items()}


def left_out(word: str, troubles: Iterable[str]) -> tuple[str, ...]:
    """Return the notes about records that cannot be read."""
    return tuple(f"{word} '{name}' cannot be read, so it is left out" for name in troubles)


def refuse_unknown(body: JsonObject, members: Iterable[str]) -> None:
    """See that a body has no other members: a misspelt one would silently do nothing.

    Raises:
        ConfigError: It has.
    """
    names = list(members)
    for key in body:
        if key not in names:
            raise ConfigError(f"it has no '{str(key)[:80]}'", f"there are: {', '.join(names)}")


def without_empty(body: JsonObject) -> JsonObject:
    """Return a body without members that say nothing."""
    return {key: value for key, value in body.items() if value not in (None, "", [], {})}


def at_any_version(yard: Yard) -> Yard:
    """Return the yard for an order that does not depend on the version of a record."""
    return replace(yard, expected=ANY_VERSION)
