"""The records of members and of admissions: a file each, or rows of a shared database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Generic

import msgspec

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.features.members.model import Admission, Member, Value, read_fields
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept, RecordKind

MOST: Final = 10_000
"""Members and admissions that are kept."""


class StructCodec(Generic[Value]):
    """Reads and writes values that are structs; their keys are among their fields."""

    def __init__(self, kind: type[Value], effect: str) -> None:
        """Be the codec of a kind; `effect` says what a record that cannot be read leads to."""
        self._kind, self._effect = kind, effect

    def read(self, key: str, plain: Any) -> Value:
        """Make a value of plain data; raises like `read_fields`."""
        return read_fields(plain, self._kind)

    def write(self, value: Value) -> object:
        """Make plain data of a value."""
        return msgspec.to_builtins(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that something cannot be read."""
        about = f"'{where}' cannot be used" if key is None else f"{key!r} in '{where}' is damaged"
        hint = error.hint or "correct it, or bring a copy back"
        return Problem(ProblemCode.MEMBERS_FILE, f"{about} ({error}); {self._effect}", hint, where)


class MemberRecords(RecordKind[Member]):
    """The members, by their keys."""

    def find(self, name: str) -> Member:
        """Return the member whose email address, subject or key this is.

        Raises:
            UnknownNameError: There is none.
            ConfigError: There are several.
            StoreError: The members cannot be read.
        """
        return find_member(present(readable(self.read()).values.values()), name)


class AdmissionRecords(RecordKind[Admission]):
    """The admissions, by their groups."""

    def remove(self, group: str, *, by: str = "") -> None:
        """Delete the admission of a group.

        Raises:
            UnknownNameError: There is none.
            StoreError: It cannot be deleted.
        """
        if group not in self.names():
            near = ", ".join(closest(group, self.names()) or self.names()[:20])
            hint = f"there are: {near}" if near else "see: toolyard member admission set"
            raise UnknownNameError(f"the group {group[:80]!r} has no admission", hint)
        self.write(group, None, by=by)


def find_member(members: Iterable[Member], name: str) -> Member:
    """Return the one of these members whose email address, subject or key this is.

    Raises:
        UnknownNameError: There is none.
        ConfigError: There are several.
    """
    members = list(members)
    matching = [m for m in members if name in (m.key, m.subject, m.email)]
    if len(matching) > 1:
        keys = ", ".join(member.key for member in matching)
        raise ConfigError(f"{name[:80]!r} stands for several members", f"name one of: {keys}")
    if matching:
        return matching[0]
    labels = sorted(member.email or member.subject for member in members)
    near = ", ".join(closest(name, labels) or labels[:20])
    hint = f"there are: {near}" if near else "members are made when they first log in"
    raise UnknownNameError(f"unknown member {name[:80]!r}", hint)


def open_members(places: RecordPlaces, folder: Path) -> MemberRecords:
    """Open the records of members; as a file they are in this folder."""
    codec = StructCodec(Member, "no new members are let in")
    return MemberRecords(places.document("member", folder / "members.json", codec, top="members"))


def open_admissions(places: RecordPlaces, folder: Path) -> AdmissionRecords:
    """Open the records of admissions; as a file they are in this folder."""
    codec = StructCodec(Admission, "it admits nobody")
    path = folder / "admissions.json"
    return AdmissionRecords(places.document("admission", path, codec, top="admissions"))


def readable(kept: Kept[Member]) -> Kept[Member]:
    """Return what was read.

    Raises:
        StoreError: It could not be.
    """
    if kept.failure is not None:
        raise StoreError(kept.failure.text, kept.failure.hint)
    return kept


def present(members: Any) -> list[Member]:
    """The members who were not removed."""
    return [member for member in members if not member.removed_at]
