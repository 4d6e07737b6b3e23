"""The records of a yard as a hub remembers them: frozen, replaced as a whole when one changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

NEVER: Final = -1
"""The revision of records that were never read."""

ChangedRow = tuple[str, str, str | None, int]
"""Kind, key, JSON text and version of a record; without a text it was deleted."""


@dataclass(frozen=True, slots=True)
class KindMemory:
    """The records of one kind."""

    revision: int = 0
    rows: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    """JSON text and version by key."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All records at one revision of the yard."""

    revision: int = NEVER
    kinds: Mapping[str, KindMemory] = field(default_factory=lambda: MappingProxyType({}))

    def revision_of(self, kinds: Collection[str]) -> int:
        """The revision at which one of these kinds was last another."""
        if self.revision == NEVER:
            return NEVER
        return max((self.kinds[kind].revision for kind in kinds if kind in self.kinds), default=0)

    def rows(self, kind: str) -> Mapping[str, tuple[str, int]]:
        """The records of a kind."""
        return self.kinds[kind].rows if kind in self.kinds else {}

    def changed(self, revision: int, rows: Iterable[ChangedRow]) -> Memory:
        """The memory at a later revision, given the records that are others there."""
        kinds: dict[str, dict[str, tuple[str, int]]] = {}
        for kind, key, text, version in rows:
            if kind not in kinds:
                kinds[kind] = dict(self.rows(kind))
            if text is None:
                kinds[kind].pop(key, None)
            else:
                kinds[kind][key] = (text, version)
        fresh = {kind: KindMemory(revision, rows) for kind, rows in kinds.items()}
        return Memory(revision, {**self.kinds, **fresh})

    def anew(self, revision: int, rows: Iterable[ChangedRow]) -> Memory:
        """The memory made of all records there are; every kind counts as another."""
        blank = Memory(revision, {kind: KindMemory(revision) for kind in self.kinds})
        return blank.changed(revision, rows)

    def differing(self, before: Memory) -> frozenset[str]:
        """The kinds that are others than they were before."""
        return frozenset(kind for kind in self.kinds if self.kinds[kind] != before.kinds.get(kind))
