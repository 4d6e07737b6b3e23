"""The one way in which every kind of thing is kept: read whole, written one by one, followed.

An engine knows where records lie and how they get there. What they mean, the owner of the kind says
with a `Codec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

from toolyard.core.errors import ConfigError, ConflictError, StoreError
from toolyard.core.model import Problem

Value = TypeVar("Value")

ABSENT: Final = 0
"""The version of a record that is not there."""
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Kept(Generic[Value]):
    """All records of a kind at one moment."""

    revision: int = 0
    """Another number as soon as any record is another; compared for equality alone."""
    records: Mapping[str, tuple[Value, int]] = field(default_factory=lambda: MappingProxyType({}))
    """By key: the value, and the version it is at."""
    troubles: Mapping[str, tuple[Problem, int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """The records that cannot be used, by key: what is wrong, and the version it is at."""
    failure: Problem | None = None
    """The reason why nothing could be read; it says nothing about the records."""

    @property
    def values(self) -> dict[str, Value]:
        """The records that can be used, without their versions."""
        return {key: value for key, (value, _) in self.records.items()}

    @property
    def versions(self) -> dict[str, int]:
        """The versions of all records, also of those that cannot be used."""
        both = (*self.records.items(), *self.troubles.items())
        return {key: version for key, (_, version) in both}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that is wrong, for the picture."""
        failures = () if self.failure is None else (self.failure,)
        return (*failures, *(problem for problem, _ in self.troubles.values()))

    def version(self, key: str) -> int:
        """The version a record is at; `ABSENT` if there is none."""
        return self.versions.get(key, ABSENT)


class Codec(Protocol[Value]):
    """The meaning of one kind of record."""

    def read(self, key: str, plain: Any) -> Value:
        """Make a value of plain data.

        Raises:
            ConfigError: It cannot be used.
        """
        ...

    def write(self, value: Value) -> Any:
        """Make plain data of a value."""
        ...

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that a record cannot be used; without a key, that none of a place can."""
        ...


class Records(Protocol[Value]):
    """All records of one kind; every method but `changed` blocks, and may run in any thread."""

    def read(self) -> Kept[Value]:
        """Read all records; a bad one is a problem, and costs that one alone."""
        ...

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write a record, or delete it with None; give its new version.

        Args:
            expect: The version that is to be written over, if that matters.
            by: Who orders it.

        Raises:
            ConfigError: It cannot be used, or would not be read again.
            ConflictError: It is at another version than `expect`.
            StoreError: It cannot be written.
        """
        ...

    def revision(self) -> int:
        """The revision that `read` would give; cheap enough to be asked with every request."""
        ...

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever wrote."""
        ...


class RecordKind(Generic[Value]):
    """The records of one kind, wherever they are kept; its owner adds what else can be done."""

    def __init__(self, records: Records[Value]) -> None:
        self._records = records

    def read(self) -> Kept[Value]:
        """Read all records; see `Records.read`."""
        return self._records.read()

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        return self._records.write(key, value, expect=expect, by=by)

    def write_over(
        self, expected: frozenset[str], key: str, value: Value | None, *, by: str = ""
    ) -> int:
        """Write or delete one record, if it is at one of these versions; at any if none is named.

        Raises:
            ConflictError: It is at another.
        """
        if not expected or "*" in expected:
            return self.write(key, value, by=by)
        version = self.read().version(key)
        if str(version) not in expected:
            raise _changed(key, version)
        return self.write(key, value, expect=version, by=by)

    def revision(self) -> int:
        """The revision that `read` would give."""
        return self._records.revision()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`."""
        await self._records.changed(after)

    def names(self) -> list[str]:
        """The names of all records, also of those that cannot be used."""
        return sorted(self.read().versions)


def check_version(key: str, expect: int | None, version: int) -> None:
    """See that a record is at the version somebody decided on.

    Raises:
        ConflictError: It is not.
    """
    if expect is not None and expect != version:
        raise _changed(key, version)


def _changed(key: str, version: int) -> ConflictError:
    text = f"somebody else changed {key!r}: its version is {version} now"
    return ConflictError(text, "look again, and decide again")


def amend(
    records: Records[Value], key: str, change: Callable[[Value | None], Value], *, by: str = ""
) -> int:
    """Write what `change` makes of the present value, which is None if there is none.

    Raises:
        ConfigError: It cannot be used.
        ConflictError: Others were quicker time and again.
        StoreError: It cannot be read or written.
    """
    for _ in range(_TRIES):
        present = records.read()
        value = change(present.values.get(key))
        try:
            return records.write(key, value, expect=present.version(key), by=by)
        except ConflictError as error:
            conflict = error
    raise conflict
