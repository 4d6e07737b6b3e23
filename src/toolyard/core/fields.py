"""The members of a JSON object, read by type within bounds; all that is wrong is collected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolyard.core.endpoint import Pairs
from toolyard.core.errors import ConfigError

MOST: Final = 1000
"""Entries of one list or table."""
LONGEST_TEXT: Final = 100_000
"""Characters; no system takes a longer argument."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One thing that is wrong: with which server, in which field, and what to do."""

    server: str
    field: str
    text: str
    hint: str

    def __str__(self) -> str:
        where = f"server {self.server!r}: " if self.server else ""
        return f"{where}{self.text}"


class FaultsError(ConfigError):
    """Something that was written cannot be used, for each of these reasons."""

    def __init__(self, faults: Iterable[FieldFault]) -> None:
        self.faults = tuple(faults)
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        super().__init__(f"{self.faults[0]}{more}", self.faults[0].hint)


class Fields:
    """One JSON object; a null counts as absent.

    Objects inside collect their faults in those of the object they are `within`.
    """

    def __init__(
        self, value: Any, hint: str, *, within: Fields | None = None, server: str = ""
    ) -> None:
        self.faults: list[FieldFault] = [] if within is None else within.faults
        self.server = server
        self.value: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        if not isinstance(value, Mapping):
            self.fault("", "it is not an object", hint)

    def fault(self, field: str, text: str, hint: str) -> None:
        """Note that something is wrong with a field."""
        self.faults.append(FieldFault(self.server, field, text, hint))

    def finish(self) -> None:
        """Raise what was noted.

        Raises:
            FaultsError: Something is wrong; names every fault.
        """
        if self.faults:
            raise FaultsError(self.faults)

    def is_faulty(self, field: str) -> bool:
        """Return whether something is wrong with a field of this server."""
        return any((fault.server, fault.field) == (self.server, field) for fault in self.faults)

    def get(self, field: str) -> Any:
        """Return a value as it is; None if it is not there."""
        return self.value.get(field)

    def has(self, field: str) -> bool:
        """Return whether a field says anything: an empty text does not."""
        return self.value.get(field) not in (None, "")

    def text(self, field: str) -> str:
        """Return a text; an empty one if it is not there."""
        value = self.value.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(field, f"'{field}' is not text", "put it in double quotes")
            return ""
        return self._bounded(field, value)

    def flag(self, field: str, default: bool) -> bool:
        """Return a truth value."""
        value = self.value.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(field, f"'{field}' is neither true nor false", "write true or false")
            return default
        return value

    def texts(self, field: str, *, scalars: bool = False) -> tuple[str, ...]:
        """Return a list of texts; with `scalars`, numbers and truth values count as text too."""
        value = self.value.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.fault(field, f"'{field}' is not a list", 'write it as ["a", "b"]')
            return ()
        return tuple(self._items(field, value, scalars))

    def pairs(self, field: str, *, scalars: bool = False) -> Pairs:
        """Return the names and texts of an object, in their order."""
        value = self.value.get(field)
        if value is None:
            return ()
        if not isinstance(value, Mapping):
            self.fault(field, f"'{field}' is not an object", 'write it as {"A": "b"}')
            return ()
        texts = self._items(field, list(value.values()), scalars)
        names = (self._bounded(field, name) for name in value)
        return tuple(zip(names, texts, strict=True)) if len(texts) == len(value) else ()

    def only(self, allowed: Iterable[str], subject: str) -> None:
        """Note every field that is not allowed: a misspelt one would silently do nothing."""
        names = tuple(allowed)
        for key in self.value:
            if key not in names:
                hint = f"there are: {', '.join(names)}"
                self.fault(str(key), f"there is no '{str(key)[:80]}' in {subject}", hint)

    def _items(self, field: str, values: list[Any], scalars: bool) -> list[str]:
        if len(values) > MOST:
            self.fault(field, f"'{field}' has more than {MOST} entries", "shorten it")
            return []
        texts = [_scalar(value) if scalars else value for value in values]
        if not all(isinstance(text, str) for text in texts):
            self.fault(field, f"'{field}' holds something else than text", "use text only")
            return []
        return [self._bounded(field, text) for text in texts]

    def _bounded(self, field: str, value: str) -> str:
        if len(value) > LONGEST_TEXT:
            text = f"a text in '{field}' has more than {LONGEST_TEXT} characters"
            self.fault(field, text, "shorten it")
        elif "\0" in value:
            self.fault(field, f"'{field}' holds a NUL character", "take it out")
        else:
            return value
        return ""


def _scalar(value: Any) -> Any:
    """Return a number or truth value as its JSON text, and everything else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value
