"""The inventory of secrets: which there are, who uses them, which are missing; never a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from toolyard.core.errors import SecretError
from toolyard.core.model import Server
from toolyard.features.secrets.model import KeptSecret
from toolyard.features.secrets.store import Secrets
from toolyard.records.secrets.expand import find_secrets


@dataclass(frozen=True, slots=True)
class SecretRow:
    """One secret."""

    name: str
    """Its path, if it is a file that nobody gave a name."""
    reference: str
    """The text that stands for it in an entry."""
    place: Literal["keyring", "file", "database", "missing"]
    used_by: tuple[str, ...] = ()
    problem: str = ""


def take_stock(secrets: Secrets, servers: Iterable[Server]) -> list[SecretRow]:
    """Return all secrets that are kept, and all that a server refers to. It blocks.

    Raises:
        StoreError: The list of names cannot be read.
    """
    uses = find_uses(servers)
    rows = [_row(secrets, secret, uses.pop(secret.key, ())) for secret in secrets.list().values()]
    for key, names in uses.items():
        kind, _, name = key.partition(":")
        is_file = kind == "file"
        secret = KeptSecret(name, "file", name) if is_file else KeptSecret(name, "keyring")
        rows.append(_row(secrets, secret, names))
    return sorted(rows, key=lambda row: row.name)


def find_uses(servers: Iterable[Server]) -> dict[str, tuple[str, ...]]:
    """Return the names of the servers that refer to a secret, by its key."""
    uses: dict[str, list[str]] = {}
    for server in servers:
        for key in find_secrets(server.endpoint, server.folder):
            uses.setdefault(key, []).append(server.id.name)
    return {key: tuple(names) for key, names in uses.items()}


def _row(secrets: Secrets, secret: KeptSecret, used_by: tuple[str, ...]) -> SecretRow:
    try:
        secrets.read(secret)
    except SecretError as error:
        text = f"{error}; {error.hint}"
        return SecretRow(secret.name, secret.reference, "missing", used_by, text)
    return SecretRow(secret.name, secret.reference, secret.place, used_by)
