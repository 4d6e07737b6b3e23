"""The definitions of the catalog that are servers of the yard, and what they were given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Pairs, Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.catalog.model import DefinitionError
from toolyard.records.protocol import Records, amend

TOP: Final = "servers"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Addition:
    """One added server: whether it is on, and the values of its variables."""

    enabled: bool = True
    values: Pairs = field(default=(), repr=False)


class AdditionCodec:
    """Reads and writes an added server; its key is the name of the definition."""

    def read(self, key: str, plain: Any) -> Addition:
        """Make an addition of plain data.

        Raises:
            ConfigError: It cannot be used.
        """
        if not isinstance(plain, dict):
            raise DefinitionError(f"{key[:80]!r} is not an object", "write it as { ... }")
        values = plain.get("values")
        pairs = values.items() if isinstance(values, dict) else ()
        return Addition(plain.get("enabled") is not False, tuple((k, str(v)) for k, v in pairs))

    def write(self, value: Addition) -> dict[str, bool | dict[str, str]]:
        """Make plain data of an addition."""
        values = {"values": dict(value.values)} if value.values else {}
        return {"enabled": value.enabled, **values}

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that the list of added servers cannot be used."""
        return Problem(
            ProblemCode.CATALOG_ADDED, f"'{where}' cannot be used: {error}", error.hint, where
        )


def check_values(values: Mapping[str, str]) -> None:
    """See that variables of these names can be given these values.

    Raises:
        ConfigError: One cannot.
    """
    for key, value in values.items():
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise DefinitionError(
                f"{key[:80]!r} cannot be given a value",
                "use letters, digits and '_' in its name, and no NUL in the value",
            )


class AddedFile:
    """The added servers; while they cannot be read, what was last read stands."""

    def __init__(self, records: Records[Addition]) -> None:
        self._records = records
        self._additions: dict[str, Addition] = {}
        self._problems: tuple[Problem, ...] = ()
        self._revision = 0

    def revision(self) -> int:
        """A number that is another as soon as others are added."""
        return self._records.revision()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever added."""
        await self._records.changed(after)

    def load(self) -> tuple[dict[str, Addition], tuple[Problem, ...]]:
        """Give what was added, by name; read again only if it changed."""
        if self._records.revision() != self._revision:
            content = self._records.read()
            self._revision = content.revision
            self._problems = () if content.failure is None else (content.failure,)
            if content.failure is None:
                self._additions = content.values
        return dict(self._additions), self._problems

    def put(self, name: str, values: Mapping[str, str], *, by: str = "") -> None:
        """Add a server; values it was given before stay unless they are given anew.

        Raises:
            ConfigError: A value cannot be used, or the file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        check_values(values)

        def joined(before: Addition | None) -> Addition:
            old = () if before is None else before.values
            return Addition(values=tuple({**dict(old), **values}.items()))

        amend(self._records, name, joined, by=by)

    def remove(self, name: str, *, by: str = "") -> None:
        """Forget a server and its values.

        Raises:
            UnknownNameError: It was not added.
            ConfigError, StoreError: The file cannot be used.
        """
        self._find(name)
        self._records.write(name, None, by=by)

    def set_enabled(self, name: str, enabled: bool, *, by: str = "") -> None:
        """Switch a server on or off.

        Raises:
            UnknownNameError: It was not added.
            ConfigError, StoreError: The file cannot be used.
        """
        self._find(name)

        def switched(before: Addition | None) -> Addition:
            return replace(before or Addition(), enabled=enabled)

        amend(self._records, name, switched, by=by)

    def _find(self, name: str) -> None:
        content = self._records.read()
        if content.failure is None and name not in content.records:
            raise UnknownNameError(
                f"server {name[:80]!r} was not added from the catalog",
                "see: toolyard catalog list --added",
            )
