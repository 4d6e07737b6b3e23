"""Reads plain JSON values by type, within bounds, and says what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolyard.core.model import Pairs
from toolyard.features.catalog.model import DefinitionError

TEXT_LIMIT: Final = 64 * 1024
"""Characters; the longest text that people write into a definition has a tenth of it."""
COUNT_LIMIT: Final = 1000
"""Members of a list or an object that a person wrote."""


class FieldReader:
    """One JSON object; a key may have several spellings, of which the first that is there counts.

    A null counts as absent.
    """

    def __init__(self, value: Any, where: str = "") -> None:
        whole = f"'{where}'" if where else "the file"
        if not isinstance(value, Mapping):
            raise DefinitionError(f"{whole} is not an object", "write it as {...}")
        if len(value) > COUNT_LIMIT:
            raise DefinitionError(f"{whole} has more than {COUNT_LIMIT} members", "shorten it")
        self.value = value
        self._where = where

    def get(self, *keys: str) -> Any:
        """The value as it is; None if it is not there."""
        return next((self.value[key] for key in keys if self.value.get(key) is not None), None)

    def at(self, key: str) -> str:
        """The name of a member in a sentence."""
        return f"'{self._where}.{key}'" if self._where else f"'{key}'"

    def text(self, *keys: str) -> str:
        """A text; empty if it is not there."""
        value = self.get(*keys)
        if value is None:
            return ""
        if isinstance(value, bool | int | float):
            return _number(value)
        if not isinstance(value, str):
            raise DefinitionError(f"{self.at(keys[0])} is not text", "put it in double quotes")
        if len(value) > TEXT_LIMIT:
            raise DefinitionError(
                f"{self.at(keys[0])} has {len(value)} characters; {TEXT_LIMIT} are allowed",
                "shorten it",
            )
        if "\0" in value:
            raise DefinitionError(f"{self.at(keys[0])} holds a NUL character", "take it out")
        return value

    def flag(self, *keys: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.get(*keys)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise DefinitionError(
                f"{self.at(keys[0])} is neither true nor false", "write true or false"
            )
        return value

    def part(self, *keys: str) -> FieldReader | None:
        """An object inside; None if it is not there."""
        value = self.get(*keys)
        return None if value is None else FieldReader(value, self.at(keys[0]).strip("'"))

    def parts(self, *keys: str) -> list[FieldReader]:
        """A list of objects."""
        name = self.at(keys[0]).strip("'")
        return [FieldReader(item, f"{name}[{i}]") for i, item in enumerate(self.items(*keys))]

    def items(self, *keys: str) -> list[Any]:
        """A list."""
        value = self.get(*keys)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > COUNT_LIMIT:
            raise DefinitionError(
                f"{self.at(keys[0])} is not a list of at most {COUNT_LIMIT}", "write it as [...]"
            )
        return value

    def texts(self, *keys: str) -> tuple[str, ...]:
        """A list of texts."""
        items = self.items(*keys)
        numbered = {str(index): item for index, item in enumerate(items)}
        reader = FieldReader(numbered, self.at(keys[0]).strip("'"))
        return tuple(reader.text(str(i)) for i in range(len(items)))

    def pairs(self, *keys: str) -> Pairs:
        """An object of texts."""
        part = self.part(*keys)
        return tuple((key, part.text(key)) for key in part.value) if part else ()


def _number(value: bool | int | float) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
