"""Which secrets there are, which servers use them, and which are missing; never their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from toolyard.core.errors import SecretError
from toolyard.core.model import Server
from toolyard.stores.expand import find_secrets
from toolyard.stores.keyring import read_keyring
from toolyard.stores.secrets import KeptSecret, Secrets, read_secret_file


@dataclass(frozen=True, slots=True)
class SecretRow:
    """One secret."""

    name: str
    """Of a file that nobody gave a name, its path."""
    reference: str
    """What stands for it in an entry."""
    place: Literal["keyring", "file", "missing"]
    used_by: tuple[str, ...] = ()
    problem: str = ""


def take_stock(secrets: Secrets, servers: Iterable[Server]) -> list[SecretRow]:
    """All secrets that are kept, and all that a server refers to. It blocks.

    Raises:
        StoreError: The list of names cannot be read.
    """
    used = find_uses(servers)
    known = secrets.known().values()
    rows = [_row(kept, used.pop(kept.reference[2:-1], ())) for kept in known]
    for reference, names in used.items():
        kind, _, name = reference.partition(":")
        kept = KeptSecret(name, "keyring") if kind == "keyring" else KeptSecret(name, "file", name)
        rows.append(_row(kept, names))
    return sorted(rows, key=lambda row: row.name)


def find_uses(servers: Iterable[Server]) -> dict[str, tuple[str, ...]]:
    """Which servers refer to which secret, such as `keyring:name`."""
    found: dict[str, list[str]] = {}
    for server in servers:
        for reference in find_secrets(server.endpoint, server.folder):
            found.setdefault(reference, []).append(server.id.name)
    return {reference: tuple(names) for reference, names in found.items()}


def _row(kept: KeptSecret, used_by: tuple[str, ...]) -> SecretRow:
    try:
        if kept.place == "keyring":
            read_keyring(kept.name)
        else:
            read_secret_file(kept.path)
    except SecretError as error:
        return SecretRow(kept.name, kept.reference, "missing", used_by, f"{error}; {error.hint}")
    return SecretRow(kept.name, kept.reference, kept.place, used_by)
