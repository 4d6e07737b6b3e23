"""Changes of clients' files: planned and shown first, then made, and undone to the last byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from toolyard.core.errors import ConfigError, StoreError, TakenError
from toolyard.core.fields import FaultsError
from toolyard.core.model import Endpoint, Url
from toolyard.core.server_entries import LAUNCH_KEYS, SWITCH_KEYS
from toolyard.features.clients.formats import put, raw_entry, remove
from toolyard.features.clients.journal import (
    Journal,
    Record,
    What,
    hash_of,
    last_order,
)
from toolyard.features.clients.known import FORMER_IDS, find_client
from toolyard.features.clients.ours import is_ours
from toolyard.features.clients.places import Place
from toolyard.features.clients.plan import (
    ChangePlan,
    is_narrowing,
    missing_folders,
    mode_of,
    narrowed,
    read_file,
    remove_folders,
    write_plan,
)
from toolyard.features.clients.shapes import BY_VARIABLE
from toolyard.installation import NAME


class Changes:
    """Puts our entry into clients' files and takes it out; keeps how to undo that."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def plan_connect(self, place: Place, endpoint: Endpoint) -> ChangePlan:
        """Plan to put the hub into a file.

        Raises:
            TakenError: The name is in use for something else.
            ConfigError: The file cannot be used as it is, or the client cannot take it.
            StoreError: The file cannot be read.
        """
        raw = place.client.shape.write(endpoint)
        before = read_file(place)
        with _about(place):
            present = _entry(place, before)
            if present is not None and not _holds_ours(place, present):
                raise TakenError(
                    f"{place.client.title} has another server '{NAME}' in '{place.path}'",
                    "rename it there, and try again",
                )
            raw = raw | _added_keys(present) if present else raw
            after = before if present == raw else _put(place, before or b"", raw)
        modes = narrowed(place) if _holds_secret(endpoint) else self._former_modes(place)
        return ChangePlan(place, "connected", before, after, modes)

    def plan_disconnect(self, place: Place) -> ChangePlan:
        """Plan to take the hub out of a file.

        A file that nobody touched since it was connected becomes what it was before, every byte.

        Raises:
            TakenError: What has the name is not ours.
            ConfigError: The file cannot be used as it is.
            StoreError: The file cannot be read.
        """
        before = read_file(place)
        with _about(place):
            present = _entry(place, before)
            if before is None or present is None:
                return ChangePlan(place, "disconnected", before, before)
            if not _holds_ours(place, present):
                raise TakenError(
                    f"the server '{NAME}' in '{place.path}' is not this hub", "it was left alone"
                )
            is_certain, earlier = self._earlier(place, before)
            after = earlier if is_certain else _remove(place, before)
        return ChangePlan(place, "disconnected", before, after, self._former_modes(place))

    def _former_modes(self, place: Place) -> tuple[int, int] | None:
        """The mode a file has and had, if we took it from others and nobody changed it since."""
        for record in self.journal.records():
            if record.path == str(place.path) and not record.undone and is_narrowing(record.modes):
                old, new = record.modes
                return (new, old) if mode_of(place) == new else None
        return None

    def _earlier(self, place: Place, data: bytes) -> tuple[bool, bytes | None]:
        """The file as it was before we came into it, if all changes since were ours."""
        records = [record for record in self.journal.records() if record.path == str(place.path)]
        earlier: bytes | None = data
        for record in records:  # the newest first, so this goes back in time
            if record.undone or record.after != hash_of(earlier):
                continue
            try:
                earlier = self.journal.backup(record)
            except StoreError:
                return False, None
            if _entry(place, earlier) is None:
                return True, earlier
        return False, None

    def apply(self, plan: ChangePlan) -> Record | None:
        """Make a change; None if there was nothing to do.

        Raises:
            ConfigError: The file is another than it was when the change was planned.
            StoreError: It cannot be written.
        """
        with self.journal.alone():
            if read_file(plan.place) != plan.before:
                raise ConfigError(
                    f"'{plan.place.path}' was changed meanwhile, and was left alone", "try again"
                )
            if not plan.changes:
                return None
            record = self.journal.add(self._record(plan), plan.before)
            try:
                write_plan(plan)
            except StoreError:
                self.journal.forget(record)
                raise
            return record

    def last(self) -> list[Record]:
        """The changes of the last order that was not undone, the newest first.

        Raises:
            ConfigError: There is none.
        """
        return last_order(self.journal.records())

    def plan_undo(self, id_: str = "") -> tuple[Record, ChangePlan]:
        """Plan to undo a change; without an id the newest that was not undone.

        Raises:
            UnknownNameError: There is none.
            ConfigError: It cannot be undone any more.
            StoreError: The file or the backup cannot be read.
        """
        record = self._chosen(id_)
        place = place_of(record)
        now = read_file(place)
        was = self.journal.backup(record)
        what: What = "disconnected" if record.what == "connected" else "connected"
        old, new = record.modes or (None, None)
        modes = (new, old) if old and new and mode_of(place) == new else None
        if hash_of(now) == record.after:
            return record, ChangePlan(place, what, now, was, modes)
        with _about(place):
            return record, ChangePlan(
                place, what, now, self._merged(record, place, now, was), modes
            )

    def _merged(
        self, record: Record, place: Place, now: bytes | None, was: bytes | None
    ) -> bytes | None:
        """The file as it is, with only our entry put back to what it was."""
        if now == was:
            return now
        if _hash_entry(_entry(place, now)) != record.entry:
            raise ConfigError(
                f"the entry '{NAME}' was changed since",
                f"look at it; what the file held is in {self.journal.backup_file(record)}",
            )
        entry = _entry(place, was)
        data = now or b""
        return _remove(place, data) if entry is None else _put(place, data, entry)

    def undo(self, record: Record, plan: ChangePlan) -> None:
        """Undo a change as planned.

        Raises:
            ConfigError: The file is another than it was when this was planned.
            StoreError: It cannot be written.
        """
        with self.journal.alone():
            if read_file(plan.place) != plan.before:
                raise ConfigError(f"'{plan.place.path}' was changed meanwhile", "try again")
            if plan.changes:
                write_plan(plan)
            if plan.after is None:
                remove_folders(record.made)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.journal.write(msgspec.structs.replace(record, undone=now))

    def _record(self, plan: ChangePlan) -> Record:
        id_, at = self.journal.new_id()
        place = plan.place
        return Record(
            id=id_,
            at=at,
            client=place.client.name,
            path=str(place.path),
            what=plan.what,
            before=hash_of(plan.before),
            after=hash_of(plan.after),
            entry=_hash_entry(_entry(place, plan.after)),
            base=str(place.base),
            project=place.project,
            made=tuple(map(str, missing_folders(place.path.parent))),
            modes=plan.modes,
            ended=plan.ended,
            batch=plan.batch,
        )

    def _chosen(self, id_: str) -> Record:
        if id_:
            record = self.journal.get(id_)
            if record.undone:
                raise ConfigError(
                    f"the change '{id_}' was undone already", "there is no more to do"
                )
            return record
        return self.last()[0]


def place_of(record: Record) -> Place:
    """The file a record is about.

    Raises:
        UnknownNameError: Its client is not known any more.
    """
    client = find_client(FORMER_IDS.get(record.client, record.client))
    return Place(client, Path(record.base), Path(record.path), record.project)


@contextmanager
def _about(place: Place) -> Iterator[None]:
    """Say of which file an error is, and that it was left alone."""
    try:
        yield
    except ConfigError as error:
        hint = error.hint or "correct the file, and try again"
        raise ConfigError(f"'{place.path}' was left alone: {error}", hint) from error


def _entry(place: Place, data: bytes | None) -> Any:
    return None if data is None else raw_entry(place.client.shape, data, NAME)


def _put(place: Place, data: bytes, raw: Any) -> bytes:
    return put(place.client.shape, data, NAME, raw)


def _remove(place: Place, data: bytes) -> bytes:
    return remove(place.client.shape, data, NAME)


def _holds_ours(place: Place, raw: Any) -> bool:
    try:
        entry = place.client.shape.read(NAME, raw)
    except FaultsError:
        return False
    return is_ours(NAME, entry.endpoint)


def _added_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """The keys that somebody added to our entry, beside those that start, reach or switch it."""
    ours = (*LAUNCH_KEYS, *SWITCH_KEYS, *BY_VARIABLE)
    return {key: value for key, value in raw.items() if key not in ours}


def _hash_entry(raw: Any) -> str:
    if raw is None:
        return ""
    return hash_of(json.dumps(raw, sort_keys=True, default=str).encode())


def _holds_secret(endpoint: Endpoint) -> bool:
    return isinstance(endpoint, Url) and bool(endpoint.headers)
