"""Questions and orders about secrets; their values never come out."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.features.secrets.inventory import SecretRow, take_stock
from toolyard.features.secrets.store import Secrets
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.records.secrets.secret_files import SECRET_BYTES
from toolyard.yard import Yard

TOP = "/api/v1/secrets"
ONE = "/api/v1/secrets/{name}"


class SecretRows(Struct, frozen=True):
    """Every secret by name, where it is kept, and who uses it."""

    secrets: list[SecretRow]
    keyring: bool
    """Whether they can be kept by name alone: in one, or in the database that hubs share."""


class NewSecret(Struct, frozen=True):
    """The value of a secret."""

    name: str
    value: Annotated[str, Meta(min_length=1, max_length=SECRET_BYTES)]
    or_file: bool = False
    """Keep it in a private file of the hub's state if this system has no keyring."""


class SecretName(Struct, frozen=True):
    """The secret that is meant."""

    name: str


@operation("GET", TOP, needs=Needs.FILES)
async def list_secrets(yard: Yard, order: NoInput) -> SecretRows:
    """List secrets."""
    servers = [entry.server for entry in yard.snapshot.entries.values()]
    secrets = yard.part(Secrets)
    rows = await asyncio.to_thread(take_stock, secrets, servers)
    return SecretRows(rows, await asyncio.to_thread(secrets.place_of_new) != "file")


@operation("PUT", ONE, needs=Needs.FILES)
async def put_secret(yard: Yard, order: NewSecret) -> Done:
    """Keep a secret in the keyring."""
    secrets = yard.part(Secrets)
    store = secrets.keep if order.or_file else secrets.set
    await asyncio.to_thread(store, order.name, order.value)
    return Done()


@operation("DELETE", ONE, needs=Needs.FILES, errors=(422,))
async def remove_secret(yard: Yard, order: SecretName) -> Done:
    """Forget a secret."""
    await asyncio.to_thread(yard.part(Secrets).remove, order.name)
    return Done()
