"""Questions and orders about secrets; their values never come out."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.features.members.store import MemberRecords
from toolyard.features.members.visible import find_visible
from toolyard.features.secrets.inventory import SecretRow, take_stock
from toolyard.features.secrets.model import check_secret_name, check_value
from toolyard.features.secrets.store import Secrets
from toolyard.links.credentials import Credentials
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.records.secrets.expand import find_member_secrets
from toolyard.records.secrets.member_secrets import MemberSecrets
from toolyard.records.secrets.secret_files import SECRET_BYTES
from toolyard.yard import Yard

TOP = "/api/v1/secrets"
ONE = "/api/v1/secrets/{name}"
MEMBERS = "/api/v1/member-secrets"
MEMBERS_ONE = "/api/v1/member-secrets/{name}"
OWN = f"{OWN_PATHS}secrets"
OWN_ONE = f"{OWN_PATHS}secrets/{{name}}"
TAG = "secrets"
Value = Annotated[str, Meta(min_length=1, max_length=SECRET_BYTES)]


class SecretRows(Struct, frozen=True):
    """Every secret by name, where it is kept, and who uses it."""

    secrets: list[SecretRow]
    keyring: bool
    """Whether they can be kept by name alone: in one, or in the database that hubs share."""


class NewSecret(Struct, frozen=True):
    """The value of a secret."""

    name: str
    value: Value
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
    await _apply(yard)
    return Done()


@operation("DELETE", ONE, needs=Needs.FILES, errors=(422,))
async def remove_secret(yard: Yard, order: SecretName) -> Done:
    """Forget a secret."""
    await asyncio.to_thread(yard.part(Secrets).remove, order.name)
    await _apply(yard)
    return Done()


class MemberSecretRow(Struct, frozen=True):
    """A secret of a member, which `${member:NAME}` stands for when they call."""

    name: str
    is_set: bool
    """False if servers use it, and the member has none yet."""
    changed_at: float
    """The time at which it was set, in seconds since 1970; 0 if it was not."""
    used_by: list[str]


class MemberSecretRows(Struct, frozen=True):
    """The secrets of a member: those they have, and those that servers would use."""

    secrets: list[MemberSecretRow]


class SecretsMember(Struct, frozen=True):
    """The member who is meant: an email address, a subject or a key."""

    member: str


class NewMemberSecret(Struct, frozen=True):
    """The value of a member's secret."""

    name: str
    member: str
    value: Value


class MemberSecretName(Struct, frozen=True):
    """The secret of a member that is meant."""

    name: str
    member: str


class NewOwnSecret(Struct, frozen=True):
    """The value of a secret of whoever asks."""

    name: str
    value: Value


@operation("GET", MEMBERS, tag=TAG, needs=Needs.FILES, errors=(404,))
async def list_member_secrets(yard: Yard, order: SecretsMember) -> MemberSecretRows:
    """List the secrets of a member by name."""
    return await _rows(yard, await _find(yard, order.member))


@operation("PUT", MEMBERS_ONE, tag=TAG, needs=Needs.FILES, errors=(422,))
async def put_member_secret(yard: Yard, order: NewMemberSecret) -> Done:
    """Keep a secret for a member; their servers start anew with it."""
    return await _put(yard, await _find(yard, order.member), order.name, order.value)


@operation("DELETE", MEMBERS_ONE, tag=TAG, needs=Needs.FILES)
async def remove_member_secret(yard: Yard, order: MemberSecretName) -> Done:
    """Forget a secret of a member."""
    return await _remove(yard, await _find(yard, order.member), order.name)


@operation("GET", OWN, tag=TAG, role=Role.MEMBER)
async def list_own_secrets(yard: Yard, order: NoInput) -> MemberSecretRows:
    """List the secrets of the member who asks, by name."""
    member = yard.own_member()
    return await _rows(yard, member, find_visible(yard, member))


@operation("PUT", OWN_ONE, tag=TAG, role=Role.MEMBER, errors=(422,))
async def put_own_secret(yard: Yard, order: NewOwnSecret) -> Done:
    """Keep a secret for the member who asks; their servers start anew with it."""
    return await _put(yard, yard.own_member(), order.name, order.value)


@operation("DELETE", OWN_ONE, tag=TAG, role=Role.MEMBER)
async def remove_own_secret(yard: Yard, order: SecretName) -> Done:
    """Forget a secret of the member who asks."""
    return await _remove(yard, yard.own_member(), order.name)


async def _find(yard: Yard, name: str) -> str:
    """Return the key of the member whom a name stands for."""
    return (await asyncio.to_thread(yard.part(MemberRecords).find, name)).key


async def _rows(yard: Yard, member: str, visible: frozenset[str] | None = None) -> MemberSecretRows:
    """The secrets of a member, with the servers that use them, as far as they may be named."""
    kept = await asyncio.to_thread(yard.part(MemberSecrets).of, member)
    uses: dict[str, list[str]] = {name: [] for name in kept}
    for entry in yard.snapshot.entries.values():
        if visible is not None and entry.alias not in visible:
            continue
        for name in find_member_secrets(entry.server.endpoint):
            uses.setdefault(name, []).append(entry.alias)
    rows = [
        MemberSecretRow(name, name in kept, kept[name].changed_at if name in kept else 0.0, users)
        for name, users in sorted(uses.items())
    ]
    return MemberSecretRows(rows)


async def _put(yard: Yard, member: str, name: str, value: str) -> Done:
    check_value(check_secret_name(name), value)
    await asyncio.to_thread(yard.part(MemberSecrets).put, member, name, value)
    await _apply(yard)
    return Done()


async def _remove(yard: Yard, member: str, name: str) -> Done:
    await asyncio.to_thread(yard.part(MemberSecrets).remove, member, name)
    await _apply(yard)
    return Done()


async def _apply(yard: Yard) -> None:
    """Have servers use what was written down, in a hub.

    Whoever calls next gets a process with the new value at once. If the hub heard of the change
    after that, it would start that process anew, amid the call.
    """
    if Credentials in yard.parts:
        await yard.part(Credentials).catch_up()
