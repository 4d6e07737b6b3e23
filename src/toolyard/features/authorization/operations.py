"""Questions and orders about the clients that people have logged in with, at the hub itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.errors import UnknownNameError
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.invitations import has_accounts
from toolyard.operation import Done, NoInput, operation
from toolyard.yard import Yard

if TYPE_CHECKING:
    from toolyard.features.authorization.model import ClientAuthorization
    from toolyard.features.authorization.server import AuthorizationServer

TOP = "/api/v1/authorizations"
ONE = f"{TOP}/{{id}}"
OWN = f"{OWN_PATHS}authorizations"
OWN_ONE = f"{OWN}/{{id}}"


class AuthorizationRow(Struct, frozen=True):
    """A client that acts for a member, who logged in with it."""

    id: str
    """Stands for it here; it opens nothing."""
    member: str
    """The key of the member."""
    email: str
    """The member's address; their subject where the hub has none."""
    client: str
    """The name that the client gave itself."""
    host: str
    """The host that their browser was sent back to."""
    scopes: list[str]
    since: str
    last_used: str
    """The time at which it last fetched a token; it does so every few minutes while it works."""
    until: str
    """The time at which it ends by itself, unless it is used before."""


class AuthorizationList(Struct, frozen=True):
    """The clients that people have logged in with; none where an issuer logs them in."""

    clients: list[AuthorizationRow]


class AuthorizationId(Struct, frozen=True):
    """The client that is meant, by its id."""

    id: str


@operation("GET", TOP)
async def list_authorizations(yard: Yard, order: NoInput) -> AuthorizationList:
    """The clients that members have logged in with at the hub itself."""
    return _list(yard, await _read(yard))


@operation("DELETE", ONE, errors=(404,))
async def end_authorization(yard: Yard, order: AuthorizationId) -> Done:
    """Log a client out; its tokens are worthless from now on, and its sessions end."""
    return await _end(yard, await _read(yard), order, "a keeper has ended it")


@operation("GET", OWN, role=Role.MEMBER)
async def list_own_authorizations(yard: Yard, order: NoInput) -> AuthorizationList:
    """The clients that the member who asks has logged in with."""
    return _list(yard, await _read_own(yard))


@operation("DELETE", OWN_ONE, role=Role.MEMBER, errors=(404,))
async def end_own_authorization(yard: Yard, order: AuthorizationId) -> Done:
    """Log a client of the member who asks out."""
    return await _end(yard, await _read_own(yard), order, "the member has ended it")


def _server(yard: Yard) -> AuthorizationServer | None:
    """The hub's own server; None where people log in elsewhere, or nobody does."""
    if not has_accounts(yard):
        return None
    from toolyard.features.authorization.server import AuthorizationServer

    return yard.part(AuthorizationServer) if AuthorizationServer in yard.parts else None


async def _read(yard: Yard) -> Mapping[str, ClientAuthorization]:
    """All clients that are logged in, by id."""
    server = _server(yard)
    if server is None:
        return {}
    kept = await asyncio.to_thread(server.store.read)
    return {key: client for key, client in kept.items() if server.is_good(client)}


async def _read_own(yard: Yard) -> Mapping[str, ClientAuthorization]:
    member, server = yard.own_member(), _server(yard)
    kept = await _read(yard)
    return {
        key: client
        for key, client in kept.items()
        if server is not None and server.member_of(client) == member
    }


def _list(yard: Yard, clients: Mapping[str, ClientAuthorization]) -> AuthorizationList:
    server = _server(yard)
    if server is None:
        return AuthorizationList([])
    directory = yard.part(MemberDirectory)
    rows = [
        _row(key, client, server.member_of(client), directory) for key, client in clients.items()
    ]
    rows.sort(key=lambda row: row.last_used, reverse=True)
    return AuthorizationList(sorted(rows, key=lambda row: (row.email, row.client)))


def _row(
    key: str, client: ClientAuthorization, member: str, directory: MemberDirectory
) -> AuthorizationRow:
    person = directory.get(member)
    return AuthorizationRow(
        key,
        member,
        (person.email if person is not None else "") or client.subject,
        client.client_name,
        client.redirect_host,
        list(client.scopes),
        _moment(client.began_at),
        _moment(client.used_at),
        _moment(client.expires_at),
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


async def _end(
    yard: Yard, clients: Mapping[str, ClientAuthorization], order: AuthorizationId, why: str
) -> Done:
    """End one of these.

    Raises:
        UnknownNameError: It is not among them.
    """
    server = _server(yard)
    if server is None or order.id not in clients:
        raise UnknownNameError("this client is logged in no longer", "look again")
    await server.end(order.id, why)
    return Done()
