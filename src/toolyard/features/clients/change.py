"""Changes of clients' files: planned and shown first, then made, and undone to the last byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

import msgspec

from toolyard.core.errors import ConfigError, StoreError, TakenError, ToolyardError
from toolyard.core.known_clients import FORMER_IDS
from toolyard.core.model import Endpoint
from toolyard.features.clients.entry_edits import (
    added_keys,
    drop,
    hash_raw,
    holds_ours,
    holds_secret,
    own_raw,
    put_back,
    put_own,
    remove_own,
)
from toolyard.features.clients.journal import (
    Journal,
    Record,
    What,
    hash_of,
    last_order,
)
from toolyard.features.clients.known import find_client
from toolyard.features.clients.places import Place
from toolyard.features.clients.plan import (
    ChangePlan,
    Way,
    is_narrowing,
    missing_folders,
    mode_of,
    narrowed,
    read_file,
    remove_folders,
    write_plan,
)
from toolyard.installation import NAME


class Changes:
    """Puts our entry into clients' files and takes it out; keeps how to undo that."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def plan_connect(
        self, place: Place, endpoint: Endpoint | None, replaced: Sequence[Way] = ()
    ) -> ChangePlan:
        """Plan to put the hub into a file, in place of the entries in `replaced`.

        Without an endpoint the hub's entry stays as it is.

        Raises:
            TakenError: The name is in use for something else.
            ConfigError: The file cannot be used as it is, or the client cannot take it.
            StoreError: The file cannot be read.
        """
        raw = place.client.shape.write(endpoint) if endpoint else None
        before = read_file(place)
        with _about(place):
            present = own_raw(place, before)
            if present is not None and not holds_ours(place, present):
                raise TakenError(
                    f"{place.client.title} has another server '{NAME}' in '{place.path}'",
                    "rename it there, and try again",
                )
            raw = raw | added_keys(present) if raw and present else raw
            after = before if raw in (None, present) else put_own(place, before or b"", raw)
            after = drop(place, after, replaced)
        modes = None
        if endpoint:
            modes = narrowed(place) if holds_secret(endpoint) else self._former_modes(place)
        return ChangePlan(place, "connected", before, after, modes, replaced=tuple(replaced))

    def plan_disconnect(self, place: Place) -> ChangePlan:
        """Plan to take the hub out of a file.

        A file that nobody touched since it was connected becomes what it was before, every byte.
        Otherwise the entries that the hub had replaced come back.

        Raises:
            TakenError: What has the name is not ours.
            ConfigError: The file cannot be used as it is.
            StoreError: The file cannot be read.
        """
        before = read_file(place)
        with _about(place):
            present = own_raw(place, before)
            if before is None or present is None:
                return ChangePlan(place, "disconnected", before, before)
            if not holds_ours(place, present):
                raise TakenError(
                    f"the server '{NAME}' in '{place.path}' is not this hub", "it was left alone"
                )
            is_certain, earlier = self._earlier(place, before)
            after, ways = (earlier, ()) if is_certain else self._restored(place, before)
        modes = self._former_modes(place)
        return ChangePlan(place, "disconnected", before, after, modes, replaced=ways)

    def plan_return(self, place: Place) -> ChangePlan:
        """Plan to bring back what a file without the hub had to give, beside one that has it.

        Raises:
            ConfigError: The file cannot be used as it is.
            StoreError: The file cannot be read.
        """
        before = read_file(place)
        standing = self._standing(place)
        if before is None or not standing:
            return ChangePlan(place, "disconnected", before, before)
        with _about(place):
            after, ways = self._restored(place, before)
            if len(standing) == 1 and standing[0].after == hash_of(before):
                after = self.journal.backup(standing[0]) or b""  # every byte
        return ChangePlan(place, "disconnected", before, after, replaced=ways)

    def _standing(self, place: Place) -> list[Record]:
        """The changes since a client was disconnected last, the newest first."""
        records = self.journal.records()
        records = [r for r in records if r.path == str(place.path) and not r.undone]
        return list(takewhile(lambda record: record.what == "connected", records))

    def _restored(self, place: Place, data: bytes) -> tuple[bytes, tuple[Way, ...]]:
        """The file without the hub, with the entries that it had replaced; and these."""
        data = remove_own(place, data)
        ways: list[Way] = []
        for record in self._standing(place):
            if record.replaced:
                data = put_back(place, data, self.journal.backup(record), record.replaced)
                ways += record.replaced
        return data, tuple(ways)

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
            if own_raw(place, earlier) is None:
                return True, earlier
        return False, None

    def apply(self, plan: ChangePlan) -> Record | None:
        """Make a change; None if there was nothing to do.

        Raises:
            ConfigError: The file is another than it was when the change was planned.
            StoreError: It cannot be written.
        """
        with self.journal.alone():
            for part in (plan, *plan.beside):
                if read_file(part.place) != part.before:
                    text = f"'{part.place.path}' was changed meanwhile, and was left alone"
                    raise ConfigError(text, "try again")
            batch = plan.batch or (uuid4().hex if plan.beside else "")
            parts = [replace(part, batch=batch) for part in plan.files]
            records = self._make(parts)
            return records[0] if records else None

    def _make(self, parts: Sequence[ChangePlan]) -> list[Record]:
        """Change all files or none."""
        made: list[tuple[ChangePlan, Record]] = []
        try:
            for part in parts:
                made.append((part, self.journal.add(self._record(part), part.before)))
                write_plan(part)
        except ToolyardError:
            for part, record in made:
                if read_file(part.place) != part.before:
                    write_plan(part.reverse)
                self.journal.forget(record)
            raise
        return [record for _, record in made]

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
        after = was
        if hash_of(now) != record.after:
            with _about(place):
                after = self._merged(record, place, now, was)
        return record, ChangePlan(place, what, now, after, modes, replaced=record.replaced)

    def _merged(
        self, record: Record, place: Place, now: bytes | None, was: bytes | None
    ) -> bytes | None:
        """The file as it is, with our entry and those it replaced put back to what they were."""
        if now == was:
            return now
        if hash_raw(own_raw(place, now)) != record.entry:
            raise ConfigError(
                f"the entry '{NAME}' was changed since",
                f"look at it; what the file held is in {self.journal.backup_file(record)}",
            )
        entry = own_raw(place, was)
        data = now or b""
        data = remove_own(place, data) if entry is None else put_own(place, data, entry)
        if record.what == "connected":
            return put_back(place, data, was, record.replaced)
        return drop(place, data, record.replaced)

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
            entry=hash_raw(own_raw(place, plan.after)),
            base=str(place.base),
            project=place.project,
            made=tuple(map(str, missing_folders(place.path.parent))),
            modes=plan.modes,
            ended=plan.ended,
            batch=plan.batch,
            replaced=plan.replaced,
            sealed=bool(plan.replaced),
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
