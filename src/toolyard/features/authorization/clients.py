"""The clients that people log in with: described at an address of theirs, or registered here.

A registration is sealed into the client's id, so a flood of them fills nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from toolyard.core.errors import LinkError
from toolyard.features.authorization.model import (
    LoginClient,
    OAuthError,
    open_value,
    seal_value,
)
from toolyard.features.authorization.redirects import is_redirect
from toolyard.features.members.passwords import Bucket
from toolyard.links.addresses import is_loopback, is_loopback_name, is_public, resolve
from toolyard.wire.download import download_json
from toolyard.wire.seal import Seal

REGISTRATION_BYTES: Final = 16 * 1024
REDIRECTS: Final = 10
NAME_LONGEST: Final = 100
ID_ROOM: Final = 2000
"""Bytes of a client's description that fit into its id."""
UNUSED_SECONDS: Final = 90 * 86400.0
"""A registration that nobody logs in with is forgotten after so long."""
DOCUMENT_LIMIT: Final = 16 * 1024
DOCUMENTS: Final = 200
DOCUMENT_SECONDS: Final = 300.0
"""The time for which a document is taken as it was."""
FETCHES: Final = 30
"""Documents that are fetched in a minute, whoever asks."""
_PURPOSE: Final = "oauth client"
_OF_SECRETS: Final = ("client_secret", "client_secret_expires_at")

Fetch = Callable[[str, int, str], tuple[int, bytes]]
"""Returns status and body of an address, within a size, from a host that was judged."""


class ClientMetadata(Struct, frozen=True):
    """What a client says of itself (RFC 7591)."""

    redirect_uris: list[str]
    client_name: str = ""
    client_id: str = ""
    token_endpoint_auth_method: str = "none"  # noqa: S105 - a method


class Registration(Struct, frozen=True):
    """The answer to a registration: what was understood of it."""

    client_id: str
    client_id_issued_at: int
    client_name: str
    redirect_uris: list[str]
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    response_types: tuple[str, ...] = ("code",)
    token_endpoint_auth_method: str = "none"  # noqa: S105 - a method


class OAuthClients:
    """Knows clients by their ids."""

    def __init__(
        self,
        seal: Seal,
        hub: str,
        is_used: Callable[[str], bool],
        clock: Callable[[], float],
        fetch: Fetch = download_json,
        *,
        documents: bool = True,
    ) -> None:
        """Know the clients that come to a hub.

        Args:
            hub: Its address. If that is on the loopback, documents may be there, too.
            is_used: Tells whether somebody is logged in with the client of an id.
            documents: Clients may describe themselves.
        """
        self._seal, self._is_used, self._clock, self._fetch = seal, is_used, clock, fetch
        self._takes_documents = documents
        self._is_local = is_loopback_name(urlsplit(hub).hostname or "")
        self._documents: dict[str, tuple[float, LoginClient]] = {}
        self._fetches = Bucket(FETCHES, 60.0, clock)

    def register(self, body: bytes) -> Registration:
        """Take a client's description, and give it an id.

        Raises:
            OAuthError: It cannot be used.
        """
        if len(body) > REGISTRATION_BYTES:
            raise OAuthError("invalid_client_metadata", "this description is too long")
        metadata = _read_metadata(body)
        now = self._clock()
        client = LoginClient("", _name(metadata), tuple(metadata.redirect_uris), now)
        if len(msgspec.json.encode(client)) > ID_ROOM:
            raise OAuthError("invalid_client_metadata", "name fewer or shorter addresses")
        client_id = seal_value(self._seal, _PURPOSE, client)
        return Registration(client_id, int(now), client.name, list(client.redirects))

    async def find(self, client_id: str) -> LoginClient:
        """Return the client of an id.

        Raises:
            OAuthError: It has none that could be known.
        """
        if self._is_address(client_id):
            if not self._takes_documents:
                raise OAuthError("invalid_client", "clients have to register at this hub", 401)
            return await self._described(client_id)
        client = open_value(self._seal, _PURPOSE, client_id, LoginClient)
        if client is None:
            raise OAuthError("invalid_client", "this client is not registered here", 401)
        is_old = self._clock() - client.registered_at > UNUSED_SECONDS
        if is_old and not await asyncio.to_thread(self._is_used, client_id):
            raise OAuthError("invalid_client", "the registration of this client has expired", 401)
        return msgspec.structs.replace(client, id=client_id)

    def _is_address(self, client_id: str) -> bool:
        return client_id.startswith("https://") or (
            self._is_local and client_id.startswith("http://")
        )

    async def _described(self, client_id: str) -> LoginClient:
        now = self._clock()
        fetched_at, client = self._documents.get(client_id, (0.0, None))
        if client is not None and now - fetched_at < DOCUMENT_SECONDS:
            return client
        if not self._fetches.take():
            raise OAuthError("temporarily_unavailable", "too many clients came at once", 503)
        client = await self._fetch_client(client_id)
        self._documents.pop(client_id, None)
        self._documents[client_id] = now, client
        while len(self._documents) > DOCUMENTS:
            del self._documents[next(iter(self._documents))]
        return client

    async def _fetch_client(self, client_id: str) -> LoginClient:
        address = await self._judge(client_id)
        try:
            status, body = await asyncio.to_thread(self._fetch, client_id, DOCUMENT_LIMIT, address)
        except OSError as error:
            raise _unreachable(client_id) from error
        if status != 200:
            text = f"there is no description of this client at {client_id[:200]}"
            raise OAuthError("invalid_client", text)
        metadata = _read_metadata(body)
        if metadata.client_id != client_id:
            raise OAuthError("invalid_client", "the description at this address is another's")
        if metadata.token_endpoint_auth_method not in ("none", "private_key_jwt"):
            raise OAuthError("invalid_client", "this client wants to share a secret")
        return LoginClient(
            client_id, _name(metadata), tuple(metadata.redirect_uris), is_described=True
        )

    async def _judge(self, client_id: str) -> str:
        """Return the address of the host that a document is on; nobody is asked for it again."""
        parts = _document_parts(client_id)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            addresses = await resolve(parts.hostname or "", port)
        except LinkError as error:
            raise _unreachable(client_id) from error
        is_near = self._is_local and all(map(is_loopback, addresses))
        is_far = parts.scheme == "https" and all(map(is_public, addresses))
        if not is_near and not is_far:
            text = f"{parts.hostname!r} is not on the open network; no client is described there"
            raise OAuthError("invalid_client", text)
        return addresses[0]


def _unreachable(client_id: str) -> OAuthError:
    text = (
        f"the hub cannot reach {client_id[:200]}, where this client describes itself; if it never "
        "can, whoever keeps the hub starts it with TOOLYARD_CLIENT_DOCUMENTS=off"
    )
    return OAuthError("invalid_client", text)


def _document_parts(client_id: str) -> Any:
    try:
        parts = urlsplit(client_id)
        _ = parts.port
    except ValueError:
        parts = None
    is_odd = (
        parts is None
        or not parts.hostname
        or parts.path in ("", "/")
        or parts.fragment
        or parts.username is not None
        or len(client_id) > 2048
        or not client_id.isascii()
        or not client_id.isprintable()
        or any(word in (".", "..") for word in parts.path.split("/"))
    )
    if is_odd:
        raise OAuthError("invalid_client", "the id of this client is no address of a document")
    return parts


def _read_metadata(body: bytes) -> ClientMetadata:
    try:
        plain = msgspec.json.decode(body)
        metadata = msgspec.convert(plain, ClientMetadata)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OAuthError("invalid_client_metadata", f"this describes no client: {error}") from error
    if any(name in plain for name in _OF_SECRETS):
        raise OAuthError("invalid_client_metadata", "clients share no secrets with this hub")
    addresses = metadata.redirect_uris
    if not 0 < len(addresses) <= REDIRECTS or not all(map(is_redirect, addresses)):
        text = (
            f"redirect_uris are 1 to {REDIRECTS} addresses: https, http on 127.0.0.1, [::1] or "
            "localhost, or a scheme of the program's own"
        )
        raise OAuthError("invalid_redirect_uri", text)
    return metadata


def _name(metadata: ClientMetadata) -> str:
    """Return the name that a client gives itself, as a person can be shown it."""
    visible = "".join(char for char in metadata.client_name if char.isprintable())
    return " ".join(visible.split())[:NAME_LONGEST] or "a client without a name"
