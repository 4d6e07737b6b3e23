"""What the user says of clients: one small JSON file beside the servers file, written whole.

All of it blocks; the file is small.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.passport import OVERRIDES, Override, read_override, unknown_passport
from toolyard.core.problems import ProblemCode
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.jsonc import parse

FILE: Final = "passports.json"
LARGEST: Final = 256 * 1024

Mark = tuple[int, int, int, int]
"""What changes whenever the file does; zeros while there is none."""


@dataclass(frozen=True, slots=True)
class LoadedPassports:
    """All that can be used, what is wrong with the rest, and whether the file could be read."""

    overrides: tuple[Override, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_readable: bool = True


class PassportsFile:
    """The file with what the user says of clients."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> LoadedPassports:
        """Read all of it; a bad entry costs that entry alone."""
        try:
            said = self._read()
        except (ConfigError, StoreError) as error:
            return LoadedPassports((), (self._problem(error),), is_readable=False)
        overrides: list[Override] = []
        problems: list[Problem] = []
        for name, entries in said.items():
            try:
                overrides.append(read_override(name, entries))
            except ConfigError as error:
                problems.append(self._problem(error))
        return LoadedPassports(tuple(overrides[:OVERRIDES]), tuple(problems))

    def mark(self) -> Mark:
        """What changes whenever the file does."""
        try:
            seen = self.path.stat()
        except OSError:
            return (0, 0, 0, 0)
        return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)

    def put(self, override: Override) -> None:
        """Say something of a client, beside what was said before.

        Raises:
            ConfigError: It cannot be used.
            StoreError: The file cannot be read or written.
        """
        with locked(self.path):
            said = self._read()
            before = said.get(override.name)
            entries = {**(before if isinstance(before, dict) else {}), **override.said}
            said[override.name] = read_override(override.name, entries).said
            if len(said) > OVERRIDES:
                raise ConfigError(f"there are {OVERRIDES} clients already", "reset one first")
            self._write(said)

    def remove(self, name: str) -> None:
        """Take back what was said of a client.

        Raises:
            UnknownNameError: Nothing was.
            ConfigError, StoreError: The file cannot be read or written.
        """
        with locked(self.path):
            said = self._read()
            if name not in said:
                raise unknown_passport(name, said)
            del said[name]
            self._write(said)

    def _read(self) -> dict[str, Any]:
        try:
            data = read_bounded(self.path, LARGEST)
        except FileNotFoundError:
            return {}
        root = parse(data).root if data.strip() else None
        said = root.plain() if root is not None else {}
        if not isinstance(said, dict):
            raise ConfigError(f"'{self.path}' is not a JSON object", "correct or remove the file")
        return said

    def _write(self, said: dict[str, Any]) -> None:
        text = json.dumps(said, indent=2, ensure_ascii=True)
        write_atomic(self.path, text.encode() + b"\n")

    def _problem(self, error: ConfigError | StoreError) -> Problem:
        text = str(error) if str(self.path) in str(error) else f"in '{self.path}': {error}"
        return Problem(
            ProblemCode.PASSPORTS_FILE,
            text,
            error.hint or "correct or remove the file",
            str(self.path),
        )
