"""Notes, kept by each engine that needs nothing but a folder."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.database import Database
from toolyard.records.document import DocumentFile, DocumentRecords
from toolyard.records.folder import FolderRecords
from toolyard.records.follow import Follower
from toolyard.records.protocol import Records
from toolyard.records.schema import MIGRATIONS
from toolyard.records.sqlite import SqliteRecords

A, B = "note a", "note b"
"""Keys that every engine can have; one of them tells the kind of a record by its first word."""


@dataclass(frozen=True, slots=True)
class Note:
    """A value to keep."""

    text: str
    tags: tuple[str, ...] = ()


class NoteCodec:
    """Reads and writes notes."""

    def read(self, key: str, plain: Any) -> Note:
        if not isinstance(plain, dict) or not isinstance(plain.get("text"), str):
            raise ConfigError("it has no text", "write one")
        return Note(plain["text"], tuple(plain.get("tags", ())))

    def write(self, value: Note) -> dict[str, Any]:
        return {"text": value.text} | ({"tags": list(value.tags)} if value.tags else {})

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        return Problem(ProblemCode.AGENTS_RECORD, f"{key}: {error}", error.hint, where)


def open_folder(path: Path, follower: Follower | None, stack: ExitStack) -> Records[Note]:
    return FolderRecords(path / "notes", NoteCodec(), follower)


def open_document(path: Path, follower: Follower | None, stack: ExitStack) -> Records[Note]:
    return DocumentRecords(DocumentFile(path / "notes.json", follower), NoteCodec(), top="notes")


def open_sqlite(path: Path, follower: Follower | None, stack: ExitStack) -> Records[Note]:
    database = Database(path / "notes.db", MIGRATIONS)
    stack.callback(database.close)
    return SqliteRecords(database, NoteCodec(), ("note",), follower)


FILE_ENGINES = {"folder": open_folder, "document": open_document, "sqlite": open_sqlite}
