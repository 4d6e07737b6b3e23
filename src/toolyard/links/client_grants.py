"""Grants of clients that are let in by themselves, without a person (client credentials)."""

from __future__ import annotations

import hashlib
from typing import Final

from toolyard.core.endpoint import RegisteredClient
from toolyard.core.model import Url
from toolyard.links.grants import OAuthGrant, server_key
from toolyard.links.issuer_http import IssuerHttp
from toolyard.links.knocking import knock
from toolyard.links.oauth_discovery import IssuerMetadata, discover, is_same_issuer
from toolyard.links.refusals import AuthNeededError
from toolyard.links.token_requests import ClientProof, choose_method, request_tokens
from toolyard.records.secrets.mask import MASK

_HINT: Final = "check 'auth' in the server's entry: its client, secret or key, and scope"


def client_of(url: Url) -> RegisteredClient | None:
    """The client by which an address is entered without a person, if there is one."""
    client = url.auth
    return client if client is not None and client.grant == "client_credentials" else None


def client_key(url: Url, client: RegisteredClient) -> str:
    """Return the key of a client's grant: servers at one address may have different clients."""
    proof = (client.client_secret, client.private_key)
    parts = (client.client_id, *proof, client.scope, client.issuer)
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return f"{server_key(url.url)} client {digest}"


async def obtain(name: str, url: Url, client: RegisteredClient, seen: str = "") -> OAuthGrant:
    """Return a fresh grant of a client.

    Args:
        seen: The issuer that the client was shown to before, if the entry names none.

    Raises:
        AuthNeededError: The issuer refuses the client, or is not the one that the client is for.
        LinkError: The issuer cannot be found or reached, or is not able to now.
        ConfigError: The key of the client cannot be used.
    """
    http, key = IssuerHttp(url.url), server_key(url.url)
    found = await discover(http, key, (await knock(http, url)).headers)
    scope = client.scope or found.scope
    form = {"grant_type": "client_credentials", "scope": scope, "resource": found.resource}
    issuer = found.issuer
    _check_issuer(name, issuer.issuer, client.issuer or seen)
    try:
        tokens = await request_tokens(
            http, issuer.issuer, issuer.token_endpoint, make_proof(client, issuer), form
        )
    except AuthNeededError as error:
        raise AuthNeededError(f"{name!r} is not entered: {error}", error.status, _HINT) from error
    return OAuthGrant(
        url=key,
        issuer=issuer.issuer,
        token_endpoint=issuer.token_endpoint,
        client="",
        access_token=tokens.access_token,
        resource=found.resource,
        scope=tokens.scope or scope,
        issued_at=tokens.issued_at,
        expires_at=tokens.expires_at,
    )


def _check_issuer(name: str, told: str, expected: str) -> None:
    """See that a client is shown to its own issuer: a server could name one that collects secrets.

    Raises:
        AuthNeededError: The server names another; nothing was sent there.
    """
    if expected and not is_same_issuer(told, expected):
        text = f"{name!r} now names the issuer {told[:200]!r}, and its client is for {expected!r}"
        hint = f'if that is right, write "issuer": "{told[:200]}" into \'auth\' of its entry'
        raise AuthNeededError(f"{text}; nothing was sent there", 401, hint)


def make_proof(client: RegisteredClient, issuer: IssuerMetadata) -> ClientProof:
    """How a client proves who it is, as its issuer wants it."""
    if client.private_key:
        return ClientProof(client.client_id, "", "private_key_jwt", client.private_key)
    MASK.add(client.client_secret)
    method = choose_method(issuer.token_endpoint_auth_methods_supported, has_secret=True)
    return ClientProof(client.client_id, client.client_secret, method or "client_secret_basic")
