"""Records as members of one JSON document, whose comments and other bytes are kept."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.records.edit import remove_member, set_member
from toolyard.records.files import READ_LIMIT, locked, read_bounded, write_atomic
from toolyard.records.follow import ChangeSignal, Follower
from toolyard.records.jsonc import JsoncError, parse
from toolyard.records.marks import Revision, mark_of, rights_of, version_of
from toolyard.records.protocol import ABSENT, Codec, Kept, check_version

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class DocumentFile:
    """One JSON file that people edit too: read as it is, changed in place, followed."""

    def __init__(
        self,
        path: Path,
        follower: Follower | None = None,
        *,
        largest: int = READ_LIMIT,
        through_links: bool = False,
    ) -> None:
        """Args: `through_links` lets a file that is a link be changed where it points to."""
        self.path = path
        self._largest = largest
        self._through_links = through_links
        self._changes = follower.follow(path) if follower else ChangeSignal()
        # Whose folder it is in decides, too, whether a file can be used.
        self._revision = Revision(lambda: (mark_of(path), rights_of(path.parent)), self._changes)

    def revision(self) -> int:
        """A number that is another as soon as the file is."""
        return self._revision.look()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`."""
        await self._revision.changed(after)

    def load(self) -> bytes:
        """Give what is there.

        Raises:
            FileNotFoundError: There is no file.
            StoreError: It cannot be read.
        """
        return read_bounded(self.path, self._largest)

    def change(self, edit: Callable[[bytes], bytes], *, by: str = "") -> None:
        """Write what `edit` makes of the file; it gets no bytes where there is none.

        A file does not say `by` whom it was written.

        Raises:
            ConfigError: The file is not JSON, or would not be; it is unchanged.
            StoreError: It cannot be read or written.
        """
        target = Path(os.path.realpath(self.path)) if self._through_links else self.path
        with locked(target):
            try:
                data = read_bounded(target, self._largest)
            except FileNotFoundError:
                data = b""
            new = edit(data)
            parse(new)  # never leave a file behind that we cannot read ourselves
            if new != data:
                write_atomic(target, new)
        self._changes.tell_soon()


class DocumentRecords(Generic[Value]):
    """The records below one key of a document, or those of the document itself."""

    def __init__(
        self,
        file: DocumentFile,
        codec: Codec[Value],
        *,
        top: str = "",
        check: Callable[[Any], None] = lambda _: None,
        blank: bytes = b"",
        names_once: bool = False,
    ) -> None:
        """Read records of a file.

        Args:
            top: The key below which they stand.
            check: Raises ConfigError or StoreError if the document is none of ours.
            blank: The document to begin with where there is none.
            names_once: A name that stands there twice is an error, as one of both would be lost.
        """
        self.path = file.path
        self._file, self._codec = file, codec
        self._top = [top] if top else []
        self._check, self._blank = check, blank
        self._names_once = names_once

    def read(self) -> Kept[Value]:
        """Read all records; a bad one is a problem, and costs that one alone."""
        revision = self._file.revision()
        try:
            plain = self._plain(self._file.load())
        except FileNotFoundError:
            return Kept(revision)
        except (ConfigError, StoreError) as error:
            return Kept(revision, failure=self._codec.problem(None, str(self.path), error))
        records: dict[str, tuple[Value, int]] = {}
        troubles: dict[str, tuple[Problem, int]] = {}
        for key, record in plain.items():
            version = _version(record)
            try:
                records[key] = (self._codec.read(key, record), version)
            except ConfigError as error:
                troubles[key] = (self._codec.problem(key, str(self.path), error), version)
        return Kept(revision, records, troubles)

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        plain = None if value is None else json.loads(json.dumps(self._codec.write(value)))
        if value is not None:
            self._codec.read(key, plain)  # never write what we cannot read ourselves

        def edit(data: bytes) -> bytes:
            data = data or self._blank
            before = self._plain(data)
            version = _version(before[key]) if key in before else ABSENT
            check_version(key, expect, version)
            path = [*self._top, key]
            if value is None:
                return remove_member(data, path)
            return set_changed(data, path, before.get(key), self._joined(key, before, plain))

        self._file.change(edit)
        log.debug("record written", extra={"file": str(self.path), "key": key, "by": by})
        return ABSENT if value is None else _version(plain)

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`."""
        await self._file.changed(after)

    def revision(self) -> int:
        """The revision that `read` would give."""
        return self._file.revision()

    def _joined(self, key: str, before: JsonObject, plain: Any) -> Any:
        """A record with the members of the present one that are not ours to change."""
        try:
            ours = self._codec.write(self._codec.read(key, before.get(key)))
        except ConfigError:
            return plain
        if not isinstance(plain, dict) or not isinstance(before[key], dict):
            return plain
        return {name: at for name, at in before[key].items() if name not in ours} | plain

    def _plain(self, data: bytes) -> JsonObject:
        """The records of a text, as plain data.

        Raises:
            ConfigError, StoreError: It is not what it should be.
        """
        plain = _parse_once(data) if self._names_once else _parse(data)
        if isinstance(plain, dict):
            self._check(plain)
            for key in self._top:
                plain = plain.get(key, {})
        if not isinstance(plain, dict):
            name = f"'{self._top[0]}'" if self._top else "it"
            raise ConfigError(f"{name} is not a JSON object", "write it as { ... }")
        return plain


def set_changed(data: bytes, path: Sequence[str], before: Any, after: Any) -> bytes:
    """Give the text with the member at `path` made `after`; what is equal keeps its bytes."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return set_member(data, path, after)
    for key in before:
        if key not in after:
            data = remove_member(data, [*path, key])
    for key, value in after.items():
        if key not in before or _text(before[key]) != _text(value):
            data = set_changed(data, [*path, key], before.get(key), value)
    return data


def _parse(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)  # a hundred times quicker, and most files have no comments
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        root = parse(data).root
        return root.plain() if root is not None else {}


def _parse_once(data: bytes) -> Any:
    document = parse(data)
    for member in document.duplicates:
        place = document.place(member.start)
        raise JsoncError(f"{member.key!r} stands there twice", *place, "rename or delete one")
    return document.root.plain() if document.root is not None else {}


def _version(plain: Any) -> int:
    return version_of(_text(plain).encode())


def _text(plain: Any) -> str:
    """One spelling of plain data; `==` would take 1 for true."""
    return json.dumps(plain, sort_keys=True)
