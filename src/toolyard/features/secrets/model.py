"""Secrets by name; their values are elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import SecretError
from toolyard.records.secrets.mask import MASK
from toolyard.records.secrets.secret_files import SECRET_BYTES, SecretPlace

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A secret by its name, and the place of its value."""

    name: str
    place: SecretPlace
    path: str = ""
    """The path, if it is kept in a file."""
    ours: bool = False
    """We wrote the file, so removing the secret deletes it."""
    changed_at: float = 0.0
    """The time at which its value was last set, in seconds since 1970."""

    @property
    def key(self) -> str:
        """The kind of place and the secret's name there, as a reference has them."""
        return f"file:{self.path}" if self.place == "file" else f"keyring:{self.name}"

    @property
    def reference(self) -> str:
        """The text that stands for it in an entry."""
        return f"${{{self.key}}}"


def check_secret_name(name: str) -> str:
    """Return the name if a secret may have it.

    Raises:
        SecretError: It may not.
    """
    if not _NAME.fullmatch(name):
        hint = "use 1 to 64 letters, digits, '_', '.' or '-', and begin with none of the last two"
        raise SecretError(f"{name[:80]!r} cannot name a secret", hint)
    return name


def check_value(name: str, value: str) -> None:
    """Check that a value can be used.

    Raises:
        SecretError: It cannot.
    """
    MASK.add(value)
    if not value or "\0" in value:
        raise SecretError(f"the value of '{name}' is empty or holds a NUL", "give it again")
    if len(value.encode("utf-8", "surrogatepass")) > SECRET_BYTES:
        raise SecretError(f"the value of '{name}' has more than {SECRET_BYTES} bytes")
