"""Which definitions of the catalog are servers of the yard, and what they were given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolyard.core.catalog import DefinitionError
from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Pairs, Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.edit import remove_member, set_member
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.jsonc import parse

TOP: Final = "servers"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

Mark = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Addition:
    """One added server: whether it is on, and the values of its variables."""

    enabled: bool = True
    values: Pairs = field(default=(), repr=False)


class AddedFile:
    """The file `added.json`; while it cannot be read, what it last said stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark: Mark = ()
        self._known: dict[str, Addition] = {}
        self._problems: tuple[Problem, ...] = ()

    def load(self) -> tuple[dict[str, Addition], tuple[Problem, ...]]:
        """Give what was added, by name; read again only if it changed."""
        mark = self.mark()
        if mark != self._mark:
            self._mark = mark
            self._read()
        return dict(self._known), self._problems

    def mark(self) -> Mark:
        """Give what changes whenever the file does; None if there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)

    def put(self, name: str, values: Mapping[str, str]) -> None:
        """Add a server; values it was given before stay unless they are given anew.

        Raises:
            ConfigError: A value cannot be used, or the file cannot be read as JSON.
            StoreError: The file cannot be read or written.
        """
        for key, value in values.items():
            if not _VARIABLE.fullmatch(key) or "\0" in value:
                raise DefinitionError(
                    f"{key[:80]!r} cannot be given a value",
                    "use letters, digits and '_' in its name, and no NUL in the value",
                )

        def edit(text: bytes) -> bytes:
            text = set_member(text, [TOP, name, "enabled"], True)
            for key, value in values.items():
                text = set_member(text, [TOP, name, "values", key], value)
            return text

        self._change(edit)

    def remove(self, name: str) -> None:
        """Forget a server and its values.

        Raises:
            UnknownNameError: It was not added.
            ConfigError, StoreError: The file cannot be used.
        """
        self._change(lambda text: remove_member(text, [TOP, name]), name)

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Switch a server on or off.

        Raises:
            UnknownNameError: It was not added.
            ConfigError, StoreError: The file cannot be used.
        """
        self._change(lambda text: set_member(text, [TOP, name, "enabled"], enabled), name)

    def _change(self, edit: Callable[[bytes], bytes], must: str = "") -> None:
        with locked(self.path):
            try:
                text = read_bounded(self.path)
            except FileNotFoundError:
                text = b""
            if must and must not in _read(text):
                raise UnknownNameError(
                    f"server {must[:80]!r} was not added from the catalog",
                    "see: toolyard catalog list --added",
                )
            new = edit(text)
            parse(new)
            if new != text:
                write_atomic(self.path, new)

    def _read(self) -> None:
        try:
            self._known, self._problems = _read(read_bounded(self.path)), ()
        except FileNotFoundError:
            self._known, self._problems = {}, ()
        except (StoreError, ConfigError) as error:
            text = f"'{self.path}' cannot be used: {error}"
            self._problems = (Problem(ProblemCode.CATALOG_ADDED, text, error.hint, str(self.path)),)


def _read(text: bytes) -> dict[str, Addition]:
    root = parse(text).root
    plain: Any = root.plain() if root else {}
    servers = plain.get(TOP, {}) if isinstance(plain, dict) else None
    if not isinstance(servers, dict):
        raise DefinitionError("it does not hold a list of servers", f'write {{"{TOP}": {{}}}}')
    return {name: _addition(each) for name, each in servers.items() if isinstance(each, dict)}


def _addition(entry: dict[str, Any]) -> Addition:
    values = entry.get("values")
    pairs = values.items() if isinstance(values, dict) else ()
    return Addition(entry.get("enabled") is not False, tuple((k, str(v)) for k, v in pairs))
