"""The records of what the user says of clients: one small JSON document beside the servers file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.passport import OVERRIDES, Override, read_override, unknown_passport
from toolyard.core.problems import ProblemCode
from toolyard.records.document import DocumentFile, DocumentRecords
from toolyard.records.follow import Follower
from toolyard.records.protocol import ABSENT, Records, amend

FILE: Final = "passports.json"
LARGEST: Final = 256 * 1024


class PassportCodec:
    """Reads and writes what is said of a client; its key is the client's name."""

    def read(self, key: str, plain: Any) -> Override:
        """Make an override of plain data; raises like `read_override`."""
        return read_override(key, plain)

    def write(self, value: Override) -> dict[str, bool | int]:
        """Make plain data of an override."""
        return value.said

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that what is said of a client, or of all, cannot be used."""
        text = str(error) if where in str(error) else f"in '{where}': {error}"
        return Problem(
            ProblemCode.PASSPORTS_FILE, text, error.hint or "correct or remove the file", where
        )


def open_passports(path: Path, follower: Follower | None = None) -> DocumentRecords[Override]:
    """Open the records of what a file says of clients."""
    return DocumentRecords(DocumentFile(path, follower, largest=LARGEST), PassportCodec())


def put_passport(records: Records[Override], override: Override) -> None:
    """Say something of a client, beside what was said before.

    Raises:
        ConfigError: It cannot be used, or there is too much of it.
        StoreError: The file cannot be read or written.
    """
    kept = records.read()
    if kept.version(override.name) == ABSENT and len(kept.versions) >= OVERRIDES:
        raise ConfigError(f"there are {OVERRIDES} clients already", "reset one first")

    def joined(before: Override | None) -> Override:
        said = before.said if before is not None else {}
        return read_override(override.name, {**said, **override.said})

    amend(records, override.name, joined)


def remove_passport(records: Records[Override], name: str) -> None:
    """Take back what was said of a client.

    Raises:
        UnknownNameError: Nothing was.
        ConfigError, StoreError: The file cannot be read or written.
    """
    kept = records.read()
    if kept.failure is None and name not in kept.versions:
        raise unknown_passport(name, kept.versions)
    records.write(name, None)
