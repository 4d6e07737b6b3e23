"""The journal of our changes in clients' files: a record of each, with the file as it was.

A folder in our own state: `ID.json` says what was done, `ID.before` is the file as it was. Both
are for their owner alone, because clients' files hold secrets. A file whose servers the hub took
over is sealed: its secrets were moved, and must not lie in a copy.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

import msgspec

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.features.clients.backup_key import BackupKey
from toolyard.features.clients.places import LARGEST
from toolyard.features.secrets.store import Secrets
from toolyard.records.directories import make_private
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.secrets.sealing import seal, unseal

KEPT: Final = 500
"""Changes; older ones are forgotten with their backups."""
What = Literal["connected", "disconnected"]
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, by the clock of this machine."""
    return datetime.now(UTC)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one file."""

    id: str
    """Begins with the time, for people; what came first is told by `number`."""
    at: str
    client: str
    path: str
    what: What
    before: str
    """The hash of the file as it was; empty if there was none."""
    after: str
    """The hash of what was written; empty if the file was taken away."""
    entry: str
    """The hash of our entry in what was written; empty if it has none."""
    base: str
    project: str = ""
    made: tuple[str, ...] = ()
    """Folders that were made for it, the outermost first."""
    undone: str = ""
    """The time at which it was undone."""
    number: int = 0
    """Counts the changes: two may fall into one millisecond, and clocks are set back. Records
    without one are older than all that have one."""
    modes: tuple[int, int] | None = None
    """The mode of the file before and after, if it was changed."""
    batch: str = ""
    """The same for all changes of one order, which are undone together."""
    ended: str = ""
    """The token that stopped working with it; undoing it has it work again."""
    replaced: tuple[tuple[str, ...], ...] = ()
    """The ways to entries that left with it; of a disconnected client, to those that came back."""
    sealed: bool = False
    """The backup can be read with the key of backups only."""


class Journal:
    """The folder with the records."""

    def __init__(self, folder: Path, clock: Clock = utc_now) -> None:
        self.folder = folder
        self._clock = clock
        self._key = BackupKey(Secrets(folder.parent))  # the secrets of the same state

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While inside, no other process of ours changes a client's file.

        Raises:
            StoreError: Another one does, for too long.
        """
        make_private(str(self.folder))
        with locked(self.folder / "changes"):
            yield

    def records(self) -> list[Record]:
        """All changes, the newest first; what cannot be read is left out."""
        records = []
        for file in self.folder.glob("*.json") if self.folder.is_dir() else ():
            with suppress(OSError, StoreError, msgspec.DecodeError):
                records.append(msgspec.json.decode(read_bounded(file), type=Record))
        return sorted(records, key=lambda record: (record.number, record.id), reverse=True)

    def get(self, id_: str) -> Record:
        """One change.

        Raises:
            UnknownNameError: There is none of that id.
        """
        for record in self.records():
            if record.id == id_:
                return record
        raise UnknownNameError(
            f"there is no change {id_[:80]!r}", "see them with: toolyard undo --list"
        )

    def backup(self, record: Record) -> bytes | None:
        """The bytes of the file before a change; None if there was no file.

        Raises:
            StoreError: The backup is gone or damaged.
        """
        if not record.before:
            return None
        file = self.backup_file(record)
        try:
            data = read_bounded(file, LARGEST)
        except FileNotFoundError:
            raise StoreError(f"the backup '{file}' is gone", "change the file by hand") from None
        if record.sealed:
            data = unseal(self._key.find(), data)
        if hash_of(data) != record.before:
            raise StoreError(f"the backup '{file}' is damaged", "change the file by hand")
        return data

    def backup_file(self, record: Record) -> Path:
        """The file that holds the backup of a change."""
        return self.folder / f"{record.id}.before"

    def add(self, record: Record, before: bytes | None) -> Record:
        """Keep a change, before it is made: a backup that is not needed does no harm.

        Inside `alone` only, which keeps two changes from getting the same number.

        Raises:
            SecretError: The key of backups cannot be kept.
            StoreError: It cannot be written.
        """
        earlier = self.records()
        numbered = msgspec.structs.replace(record, number=earlier[0].number + 1 if earlier else 1)
        if before is not None:
            sealed = seal(self._key.make(), before) if record.sealed else before
            write_atomic(self.backup_file(numbered), sealed)
        self.write(numbered)
        for old in earlier[KEPT - 1 :]:
            self.forget(old)
        return numbered

    def new_id(self) -> tuple[str, str]:
        """A new id, and the time it begins with."""
        now = self._clock()
        stamp = now.strftime("%Y%m%d-%H%M%S%f")[:-3]
        return f"{stamp}-{secrets.token_hex(2)}", now.isoformat(timespec="seconds")

    def write(self, record: Record) -> None:
        """Write a record anew.

        Raises:
            StoreError: It cannot be written.
        """
        write_atomic(self.folder / f"{record.id}.json", msgspec.json.encode(record) + b"\n")

    def forget(self, record: Record) -> None:
        """Take a record and its backup away."""
        for ending in ("json", "before"):
            with suppress(OSError):
                (self.folder / f"{record.id}.{ending}").unlink()


class PastChange(Protocol):
    """A change of the past, as the journal or an answer has it."""

    @property
    def undone(self) -> str:
        """The time at which it was undone; empty if it stands."""
        ...

    @property
    def batch(self) -> str:
        """The order it was part of, if that changed several files."""
        ...


Past = TypeVar("Past", bound=PastChange)


def last_order(changes: Sequence[Past]) -> list[Past]:
    """The changes of the last order that was not undone; all are given the newest first.

    Raises:
        ConfigError: There is none.
    """
    standing = [change for change in changes if not change.undone]
    if not standing:
        raise ConfigError("there is no change to undo", "see them with: toolyard undo --list")
    newest = standing[0]
    if not newest.batch:
        return [newest]
    return [change for change in standing if change.batch == newest.batch]


def hash_of(data: bytes | None) -> str:
    """The mark that tells one content from another; empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()
