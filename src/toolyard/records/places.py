"""The engine of every kind of record, picked in one place.

Files and SQLite, where people can edit and copy them; PostgreSQL where hubs share one memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from toolyard.core.errors import ConfigError
from toolyard.installation import how_to_add
from toolyard.records.audit import AuditedRecords
from toolyard.records.database import Database
from toolyard.records.document import DocumentFile, DocumentRecords
from toolyard.records.files import READ_LIMIT
from toolyard.records.folder import LARGEST, MOST, FolderRecords
from toolyard.records.follow import Follower
from toolyard.records.protocol import Codec, Records
from toolyard.records.sqlite import SqliteRecords

if TYPE_CHECKING:
    from toolyard.records.postgres.documents import SharedDocument
    from toolyard.records.postgres.sealed import SealedRecords
    from toolyard.records.postgres.shared import SharedDatabase

Value = TypeVar("Value")
SealedKind = Literal["secret", "grant", "member_secret"]
SEALED_KINDS: Final[tuple[SealedKind, ...]] = ("secret", "grant", "member_secret")
"""The kinds of records that only hubs with the key can read."""


class JointRecords(Records[Value], Protocol[Value]):
    """Records of several kinds, whose keys begin with their kind."""

    def write_all(
        self, values: Mapping[str, Value | None], *, expect: Mapping[str, int], by: str = ""
    ) -> int:
        """Write or delete some records together or not at all; give their new version.

        Raises:
            ConfigError: One cannot be used.
            ConflictError: One is at another version than `expect` says of it.
            StoreError: They cannot be written.
        """
        ...


class RecordPlaces:
    """Opens records where the settings want them."""

    def __init__(self, follower: Follower, shared: SharedDatabase | None = None) -> None:
        self.follower = follower
        self.shared = shared
        """The database of all hubs of a team, if there is one."""

    def refresh(self) -> None:
        """See what other hubs wrote a moment ago; files are read as they are anyway. It blocks.

        Raises:
            StoreError: The database cannot be read.
        """
        if self.shared is not None:
            self.shared.refresh()

    def folder(
        self,
        kind: str,
        folder: Path,
        codec: Codec[Value],
        *,
        largest: int = LARGEST,
        most: int = MOST,
    ) -> Records[Value]:
        """Open records that are files of a folder."""
        if self.shared is None:
            records = FolderRecords(folder, codec, self.follower, largest=largest, most=most)
            return AuditedRecords(records, kind, codec)
        return self._rows(kind, codec, most)

    def document(
        self,
        kind: str,
        path: Path,
        codec: Codec[Value],
        *,
        top: str = "",
        check: Callable[[Any], None] = lambda _: None,
        blank: bytes = b"",
        largest: int = READ_LIMIT,
        names_once: bool = False,
    ) -> Records[Value]:
        """Open records that are members of one JSON document."""
        if self.shared is None:
            file = DocumentFile(path, self.follower, largest=largest)
            records = DocumentRecords(
                file, codec, top=top, check=check, blank=blank, names_once=names_once
            )
            return AuditedRecords(records, kind, codec)
        return self._rows(kind, codec)

    def joint(
        self,
        database: Database | None,
        codec: Codec[Value],
        kinds: Collection[str],
        also: Collection[str] = (),
    ) -> JointRecords[Value] | None:
        """Open records of several kinds that are rows; None if there is no database.

        Changes of other kinds count `also`, though their owner reads them.
        """
        if self.shared is not None:
            from toolyard.records.postgres.records import PostgresRecords

            return PostgresRecords(self.shared, codec, kinds, also=also)
        return SqliteRecords(database, codec, kinds, self.follower) if database else None

    def shared_document(self, kind: str, top: str) -> SharedDocument | None:
        """Open the document that takes the place of a file; None if it is one."""
        if self.shared is None:
            return None
        from toolyard.records.postgres.documents import SharedDocument

        return SharedDocument(self.shared, kind, top)

    def sealed(
        self, kind: SealedKind, about: type[Value], keys: Sequence[str]
    ) -> SealedRecords[Value] | None:
        """Open records that are sealed with a key; None where hubs share no database, or no key."""
        if self.shared is None or not keys:
            return None
        from toolyard.records.postgres.sealed import SealedRecords
        from toolyard.wire.seal import Seal

        return SealedRecords(self.shared, kind, about, Seal(keys))

    def _rows(self, kind: str, codec: Codec[Value], most: int | None = None) -> Records[Value]:
        from toolyard.records.postgres.records import MOST as MOST_ROWS
        from toolyard.records.postgres.records import PostgresRecords

        assert self.shared is not None
        return PostgresRecords(self.shared, codec, (kind,), most=most or MOST_ROWS)


def open_places(
    follower: Follower, address: str | None, schema: str, *, follows: bool = False
) -> RecordPlaces:
    """Open the places for a database, if its address is given; its driver is imported only then.

    Args:
        follows: A hub follows the database, so that reading need not ask it.

    Raises:
        ConfigError: The address cannot be used, or the driver is not installed.
    """
    if not address:
        return RecordPlaces(follower)
    try:
        from toolyard.records.postgres.shared import SharedDatabase
    except ImportError as error:
        text = f"TOOLYARD_DATABASE needs the package 'psycopg' ({error})"
        raise ConfigError(text, how_to_add("team")) from error
    return RecordPlaces(follower, SharedDatabase(address, schema, follows=follows))
