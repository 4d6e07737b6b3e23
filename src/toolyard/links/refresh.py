"""Renews a grant: one request to whoever issued it, with nothing but what it needs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from toolyard.core.errors import LinkError
from toolyard.links.grants import GrantStore, OAuthGrant
from toolyard.links.issuer_http import IssuerHttp
from toolyard.links.refusals import AuthNeededError
from toolyard.links.token_requests import ClientProof, read_client, request_tokens


async def refresh(grant: OAuthGrant) -> OAuthGrant:
    """Return the grant with new tokens.

    Raises:
        AuthNeededError: The issuer refuses: a person has to log in again.
        LinkError: The issuer cannot be reached, must not be, or is not able to now.
    """
    form = {
        "grant_type": "refresh_token",
        "refresh_token": grant.refresh_token,
        "resource": grant.resource,
    }
    http = IssuerHttp(grant.url)
    try:
        tokens = await request_tokens(
            http, grant.issuer, grant.token_endpoint, proof_of(grant), form
        )
    except AuthNeededError as error:
        text = f"{grant.issuer} does not renew the login"
        raise AuthNeededError(text, error.status) from error
    except LinkError as error:
        raise LinkError(f"a login could not be renewed: {error}", error.hint) from error
    return replace(
        grant,
        access_token=tokens.access_token,
        # Both may be left out when they stay as they were.
        refresh_token=tokens.refresh_token or grant.refresh_token,
        scope=tokens.scope or grant.scope,
        issued_at=tokens.issued_at,
        expires_at=tokens.expires_at,
        id_token=tokens.id_token or grant.id_token,
    )


async def renew(grants: GrantStore, key: str, old: OAuthGrant | None) -> OAuthGrant:
    """Return a newer grant than `old`, which another process may have obtained already.

    Raises:
        AuthNeededError: Nobody renews it: a person has to log in again.
        LinkError: It cannot be renewed now.
        StoreError, SecretError: It cannot be read or kept.
    """
    hold = grants.hold(key)
    await asyncio.to_thread(hold.__enter__)
    try:
        current = await asyncio.to_thread(grants.read, key)
        if current is not None and (old is None or current.access_token != old.access_token):
            return current
        if current is None or not current.refresh_token:
            raise AuthNeededError("the login cannot be renewed", 401)
        grant = await refresh(current)
        await asyncio.to_thread(grants.write, grant)
        return grant
    finally:
        await asyncio.to_thread(hold.__exit__, None, None, None)


def proof_of(grant: OAuthGrant) -> ClientProof:
    """How we prove to the issuer of a grant that it is ours."""
    client = read_client(grant.client)
    secret, method = client.get("client_secret"), client.get("token_endpoint_auth_method")
    return ClientProof(str(client.get("client_id", "")), str(secret or ""), str(method or "none"))
