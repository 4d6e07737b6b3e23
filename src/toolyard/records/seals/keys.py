"""The keys that seal logs: of the hubs that share one, or of a file that only this user reads.

Whoever can write the database alone does not have them, and so can forge no seal.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.database import Row
from toolyard.records.files import read_bounded

KEY_FILE: Final = "history.key"
MARK: Final = 8
"""Bytes of the mark of a row."""
_DERIVED: Final = b"toolyard history"
"""Tells the key that seals logs from others that are made from the same one."""
_SHORTEST: Final = 32
_encode: Final = msgspec.msgpack.Encoder().encode


class SealKey:
    """A key that seals; its id says which it is, and nothing about it."""

    def __init__(self, secret: bytes) -> None:
        self._key = blake2b(secret, digest_size=32, person=_DERIVED).digest()
        self.id = blake2b(self._key, digest_size=6, person=b"id").hexdigest()

    def digest(self, value: object) -> bytes:
        """Return the digest of plain data."""
        return blake2b(_encode(value), digest_size=32, key=self._key, person=b"seal").digest()

    @cached_property
    def _empty(self) -> blake2b:
        return blake2b(digest_size=MARK, key=self._key, person=b"row")

    def mark_rows(self, base: Sequence[str], columns: Sequence[str], rows: Sequence[Row]) -> bytes:
        """Return the marks of rows, one after the other.

        Args:
            base: The columns that every row has; they come first.
            columns: All columns that these have. What is empty in others than the base is as if it
                was not there, so a column that a later version adds changes no mark.
        """
        start, begin = len(base), self._empty.copy
        more = sorted((name, place) for place, name in enumerate(columns[start:], start))
        marks = bytearray()
        for row in rows:
            mark = begin()
            mark.update(_encode(row[:start]))
            for name, place in more:
                if row[place]:
                    mark.update(_encode((name, row[place])))
            marks += mark.digest()
        return bytes(marks)


class SealKeys:
    """The key that seals from now on, and those that others were sealed with."""

    def __init__(self, secrets_: Sequence[bytes]) -> None:
        keys = [SealKey(secret) for secret in secrets_]
        self.newest = keys[0]
        self._by_id = {key.id: key for key in keys}

    def get(self, id_: str) -> SealKey | None:
        """Return the key of this id, if it is here."""
        return self._by_id.get(id_)


def open_keys(folder: Path, shared: Sequence[str] = ()) -> SealKeys:
    """Return the keys of this hub: those that hubs share, else that of the file, made if need be.

    Raises:
        StoreError: The file can neither be read nor made.
    """
    own = _read_own(folder / KEY_FILE, make=not shared)
    return SealKeys([*(key.encode() for key in shared), *([own] if own else [])])


def _read_own(path: Path, *, make: bool) -> bytes:
    """Return the key in a file, which is made by one process alone; empty if there is none."""
    if make:
        with suppress(FileExistsError):
            _make(path)
    try:
        key = read_bounded(path, 1024).strip()
    except FileNotFoundError:
        return b""
    if len(key) < _SHORTEST:
        hint = "put the right one back, or remove it: what it sealed can no longer be checked then"
        raise StoreError(f"{path} holds no key", hint)
    return key


def _make(path: Path) -> None:
    """Write a new key, whole or not at all, unless there is one."""
    if path.exists():
        return
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError as error:
        text = f"cannot write the key that seals the history ({error})"
        raise StoreError(text, f"make {path.parent} writable") from error
    finally:
        part.unlink(missing_ok=True)
