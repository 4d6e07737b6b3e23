"""Secrets of the user: kept in the system's keyring, or in files that are the user's alone.

A keyring cannot say what it holds, so the names are kept in a file beside; values never are.
All of it blocks, and a keyring may ask the user to unlock it: on an event loop, use a thread.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from toolyard.core.errors import SecretError, StoreError, UnknownNameError
from toolyard.core.names import closest
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.marks import mark_of
from toolyard.stores.keyring import delete_keyring, read_keyring, write_keyring
from toolyard.stores.mask import MASK

SECRET_BYTES: Final = 64 * 1024
"""A key or a certificate has a few thousand."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")

Place = Literal["keyring", "file"]


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A secret we know of: its name, and where its value is."""

    name: str
    place: Place
    path: str = ""
    """Of a file."""
    ours: bool = False
    """We wrote the file, so removing the secret deletes it."""
    changed_at: float = 0.0
    """When its value was last set, in seconds since 1970."""

    @property
    def reference(self) -> str:
        """What stands for it in an entry."""
        return f"${{keyring:{self.name}}}" if self.place == "keyring" else f"${{file:{self.path}}}"


class Secrets:
    """The secrets of one user, by name."""

    def __init__(self, state_dir: Path) -> None:
        self.index = state_dir / "secrets.json"

    def known(self) -> dict[str, KeptSecret]:
        """Every secret that was set through us.

        Raises:
            StoreError: The list of names cannot be read.
        """
        try:
            raw = read_bounded(self.index)
            found = msgspec.json.decode(raw, type=list[KeptSecret])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"'{self.index}' is damaged", "delete it and set your secrets again"
            ) from error
        return {each.name: each for each in found}

    def set(self, name: str, value: str) -> KeptSecret:
        """Keep a value in the keyring.

        Raises:
            NoKeyringError: There is none.
            SecretError: The name or value cannot be used, or the keyring does not take it.
        """
        check_value(check_name(name), value)
        write_keyring(name, value)
        return self._note(KeptSecret(name, "keyring", changed_at=time.time()))

    def set_file(self, name: str, path: Path, value: str | None) -> KeptSecret:
        """Keep a value in a file; without a value, use the file that is there.

        Raises:
            SecretError: The file is not the user's alone, or there is none.
        """
        check_name(name)
        path = Path(os.path.abspath(os.path.expanduser(path)))
        if value is None:
            check_value(name, read_secret_file(str(path)))
        else:
            check_value(name, value)
            if path.exists():
                check_private(path)
            write_atomic(path, value.encode() + b"\n")
        before = self.known().get(name)
        ours = value is not None or (before is not None and before.ours)
        return self._note(KeptSecret(name, "file", str(path), ours, time.time()))

    def remove(self, name: str) -> KeptSecret:
        """Forget a secret and its value.

        Raises:
            UnknownNameError: There is no such secret.
            SecretError: The keyring does not let go of it.
        """
        kept = self.known().get(name)
        if kept is None and _is_in_keyring(name):
            kept = KeptSecret(name, "keyring")
        if kept is None:
            near = ", ".join(closest(name, self.known()) or self.known()) or "none"
            raise UnknownNameError(f"there is no secret '{name}'", f"there are: {near}")
        if kept.place == "keyring":
            delete_keyring(name)
        elif kept.ours:
            Path(kept.path).unlink(missing_ok=True)
        self._note(kept, gone=True)
        return kept

    def mark(self) -> tuple[int, ...]:
        """What changes whenever a secret is set or removed."""
        return mark_of(self.index)

    def _note(self, kept: KeptSecret, gone: bool = False) -> KeptSecret:
        with locked(self.index):
            known = self.known()
            known.pop(kept.name, None)
            if not gone:
                known[kept.name] = kept
            ordered = [known[name] for name in sorted(known)]
            write_atomic(self.index, msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")
        return kept


def check_name(name: str) -> str:
    """Give the name back if a secret may have it.

    Raises:
        SecretError: It may not.
    """
    if not _NAME.fullmatch(name):
        hint = "use 1 to 64 letters, digits, '_', '.' or '-', and begin with none of the last two"
        raise SecretError(f"{name[:80]!r} cannot name a secret", hint)
    return name


def check_value(name: str, value: str) -> None:
    """See that a value can be used.

    Raises:
        SecretError: It cannot.
    """
    MASK.add(value)
    if not value or "\0" in value:
        raise SecretError(f"the value of '{name}' is empty or holds a NUL", "give it again")
    if len(value.encode("utf-8", "surrogatepass")) > SECRET_BYTES:
        raise SecretError(f"the value of '{name}' has more than {SECRET_BYTES} bytes")


def _is_in_keyring(name: str) -> bool:
    try:
        read_keyring(name)
    except SecretError:
        return False
    return True


def read_secret_file(path: str) -> str:
    """Give what stands in a file that is the user's alone, without the line end after it.

    Raises:
        SecretError: It cannot be read, or others can.
    """
    if not os.path.isabs(path):
        raise SecretError(
            f"'{path}' is not an absolute path", "write ${file:/...} or ${file:~/...}"
        )
    try:
        check_private(Path(path))
        raw = read_bounded(Path(path), SECRET_BYTES)
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except FileNotFoundError:
        raise SecretError(
            f"there is no file '{path}'", f"write it: toolyard secret set NAME --file {path}"
        ) from None
    except UnicodeDecodeError:
        raise SecretError(f"'{path}' is no text", "name a file that holds the secret") from None
    except StoreError as error:
        raise SecretError(str(error), error.hint) from error


def check_private(path: Path) -> None:
    """See that a file is the user's, and that nobody else can read or change it.

    Raises:
        FileNotFoundError: There is no such file.
        SecretError: Others can.
    """
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretError(f"cannot read '{path}': {error.strerror}", "check the path") from error
    if seen.st_uid != os.geteuid():
        raise SecretError(f"'{path}' belongs to another user", "use a file of your own")
    if stat.S_IMODE(seen.st_mode) & 0o077:
        raise SecretError(f"others may read or change '{path}'", f"run: chmod 600 {path}")
