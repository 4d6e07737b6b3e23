"""The records of sharing: evidence about servers, and the questions they were seen to ask."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, Protocol

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.sharing import Asking, Evidence, Tried
from toolyard.records.database import Database
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Records
from toolyard.records.sqlite import NEW_REVISION
from toolyard.records.state import RESTORE

KINDS: Final = ("evidence", "asking")
"""The kinds of records that it is where hubs share a database."""
_SHAREABLE: Final = {"shareable": True, "not": False}


class SharingTable(Protocol):
    """Evidence and questions, one of each per server; may be used from any thread.

    Every method raises StoreError if the database fails.
    """

    def put(self, evidence: Evidence) -> None:
        """Write evidence down, in place of older; whoever follows agents' records notices."""
        ...

    def get(self, server: str) -> Evidence | None:
        """Return the evidence about a server, if it was ever tried."""
        ...

    def tried(self) -> dict[str, Tried]:
        """Return the verdicts on servers, by server."""
        ...

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down the questions of a server, in place of older; as with `put`."""
        ...

    def asking(self) -> dict[str, Asking]:
        """Return the questions of servers, by server."""
        ...


class SharingStore:
    """Evidence and questions, wherever they are kept; without a database there are none."""

    def __init__(self, table: SharingTable | None) -> None:
        self._table = table

    def put(self, evidence: Evidence) -> None:
        """Write evidence down, in place of older; whoever follows agents' records notices.

        Raises:
            StoreError: It cannot be written.
        """
        if self._table is None:
            text = "the evidence cannot be kept: the database is not open"
            raise StoreError(text, RESTORE)
        self._table.put(evidence)

    def get(self, server: str) -> Evidence | None:
        """Return the evidence about a server, if it was ever tried.

        Raises:
            StoreError: It cannot be read.
        """
        return self._table.get(server) if self._table is not None else None

    def tried(self) -> dict[str, Tried]:
        """Return the verdicts on servers, by server; raises like `get`."""
        return self._table.tried() if self._table is not None else {}

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down the questions of a server, in place of older; raises like `put`."""
        if self._table is None:
            raise StoreError("what servers ask cannot be kept: the database is not open", RESTORE)
        self._table.put_asking(server, asking)

    def asking(self) -> dict[str, Asking]:
        """Return the questions of servers, by server; raises like `get`."""
        return self._table.asking() if self._table is not None else {}


class SqliteSharing:
    """Evidence and questions as rows of the hub's database; see `SharingTable`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, evidence: Evidence) -> None:
        """Write evidence down."""
        text = msgspec.json.encode(asdict(evidence)).decode()
        row = (evidence.server, evidence.launch, evidence.verdict, text)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO sharing VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)

    def get(self, server: str) -> Evidence | None:
        """Return the evidence about a server."""
        sql = "SELECT evidence FROM sharing WHERE server = ?"
        rows = self._database.read(sql, (server,))
        return msgspec.json.decode(rows[0][0], type=Evidence) if rows else None

    def tried(self) -> dict[str, Tried]:
        """Return all verdicts."""
        rows: list[Any] = self._database.read("SELECT server, launch, verdict FROM sharing")
        return {server: Tried(launch, _SHAREABLE.get(verdict)) for server, launch, verdict in rows}

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down the questions of a server."""
        row = (server, asking.launch, asking.question, asking.roots)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO asking VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)

    def asking(self) -> dict[str, Asking]:
        """Return all questions."""
        rows: list[Any] = self._database.read("SELECT server, launch, question, roots FROM asking")
        return {
            server: Asking(launch, question, bool(roots))
            for server, launch, question, roots in rows
        }


class SharingCodec:
    """Reads and writes evidence and questions; a key is the kind and the server."""

    def read(self, key: str, plain: Any) -> Evidence | Asking:
        """Make evidence or questions of plain data.

        Raises:
            ConfigError: It is neither.
        """
        kind: type[Evidence] | type[Asking] = Evidence if key.startswith("evidence ") else Asking
        try:
            return msgspec.convert(plain, kind)
        except msgspec.ValidationError as error:
            raise ConfigError(str(error), "try the server again") from error

    def write(self, value: Evidence | Asking) -> object:
        """Make plain data of evidence or questions."""
        return msgspec.to_builtins(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that what was tried cannot be read."""
        return Problem(ProblemCode.AGENTS_RECORD, str(error), error.hint, where)


class SharedSharing:
    """Evidence and questions as records of a shared database; see `SharingTable`."""

    def __init__(self, records: Records[Evidence | Asking]) -> None:
        self._records = records

    def put(self, evidence: Evidence) -> None:
        """Write evidence down."""
        self._records.write(f"evidence {evidence.server}", evidence)

    def get(self, server: str) -> Evidence | None:
        """Return the evidence about a server."""
        value = self._values().get(f"evidence {server}")
        return value if isinstance(value, Evidence) else None

    def tried(self) -> dict[str, Tried]:
        """Return all verdicts."""
        return {v.server: v.gist for v in self._values().values() if isinstance(v, Evidence)}

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down the questions of a server."""
        self._records.write(f"asking {server}", asking)

    def asking(self) -> dict[str, Asking]:
        """Return all questions."""
        return {
            key.partition(" ")[2]: value
            for key, value in self._values().items()
            if isinstance(value, Asking)
        }

    def _values(self) -> dict[str, Evidence | Asking]:
        kept = self._records.read()
        if kept.failure is not None:
            raise StoreError(kept.failure.text, kept.failure.hint)
        return kept.values


def open_sharing(places: RecordPlaces, database: Database | None) -> SharingStore:
    """Open what was tried: rows of the hub's database, or records of a shared one."""
    if places.shared is None:
        return SharingStore(SqliteSharing(database) if database is not None else None)
    records = places.joint(None, SharingCodec(), KINDS)
    return SharingStore(SharedSharing(records) if records is not None else None)
