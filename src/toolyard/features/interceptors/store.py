"""The records of interceptors: one JSON file beside that of the servers, or shared rows."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.features.interceptors.model import (
    InterceptorFields,
    make_interceptor,
    patterns_of,
    read_fields,
)
from toolyard.records.protocol import RecordKind

FILE: Final = "interceptors.json"


class InterceptorCodec:
    """Reads and writes the fields of an interceptor; its key is its name."""

    def __init__(self) -> None:
        self.patterns: dict[str, tuple[str, ...]] = {}
        """The tools of those that could not be read when they were last looked at."""

    def read(self, key: str, plain: Any) -> InterceptorFields:
        """Make fields of plain data; raises like `make_interceptor`."""
        try:
            fields = read_fields(plain)
            make_interceptor(key, fields)
        except ConfigError:
            self.patterns[key] = patterns_of(plain)
            raise
        return fields

    def write(self, value: InterceptorFields) -> object:
        """Make plain data of fields."""
        return msgspec.to_builtins(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that an interceptor cannot be read, and what that means."""
        about = f"'{where}' cannot be used" if key is None else f"{key!r} in '{where}' is damaged"
        effect = "calls of the tools that it is for are refused"
        hint = error.hint or "correct it"
        return Problem(ProblemCode.INTERCEPTORS_FILE, f"{about} ({error}); {effect}", hint, where)


class InterceptorRecords(RecordKind[InterceptorFields]):
    """The interceptors of the yard."""

    def remove(self, name: str, expected: frozenset[str], *, by: str = "") -> None:
        """Delete an interceptor that is at one of the expected versions, if any are named.

        Raises:
            UnknownNameError: There is none of that name.
            ConflictError: It is at another version.
            StoreError: It cannot be deleted.
        """
        names = self.names()
        if name not in names:
            raise unknown_interceptor(name, names)
        self.write_over(expected, name, None, by=by)


def unknown_interceptor(name: str, names: list[str]) -> UnknownNameError:
    """The error that names the interceptors there are."""
    near = closest(name, names) or names[:20]
    hint = f"there are: {', '.join(near)}" if names else "there are none"
    return UnknownNameError(f"unknown interceptor {name[:80]!r}", hint)
