"""Grants for which the hub's issuer vouches: the member has logged in there, and nowhere else.

Two ways lead to them. By `identity` the issuer gives an assertion for the authorization server of
the server (ID-JAG, MCP's enterprise-managed authorization), which gives a token for it (RFC 7523).
By `exchange` the issuer gives that token itself (RFC 8693).
"""

from __future__ import annotations

import hashlib
import time
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.endpoint import RegisteredClient
from toolyard.core.errors import LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Url
from toolyard.links.client_grants import make_proof
from toolyard.links.grants import OAuthGrant, server_key
from toolyard.links.issuer_http import IssuerHttp
from toolyard.links.knocking import knock
from toolyard.links.oauth_discovery import (
    IssuerMetadata,
    ProtectedResource,
    check_issuer,
    find_metadata,
    find_protected,
)
from toolyard.links.refresh import proof_of
from toolyard.links.refusals import (
    AuthNeededError,
    TokensRefusedError,
    readable_scope,
    wanted_scope,
)
from toolyard.links.token_requests import (
    ClientProof,
    IssuedTokens,
    post_grant,
    read_token,
    read_tokens,
    request_tokens,
)

EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
OF_ASSERTION: Final = "urn:ietf:params:oauth:token-type:id-jag"
OF_IDENTITY: Final = "urn:ietf:params:oauth:token-type:id_token"
OF_ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
_REFUSED: Final = "ask whoever runs the login service to let you use this server"


def personal_key(url: Url, client: RegisteredClient, member: str) -> str:
    """Return the key of such a grant; a member has one for each way to be let in."""
    parts = (client.grant, client.client_id, client.client_secret, client.private_key)
    words = (*parts, client.scope, client.issuer, client.audience, member)
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]
    return f"{server_key(url.url)} person {digest}"


async def obtain_for(
    name: str, url: Url, client: RegisteredClient, login: OAuthGrant
) -> OAuthGrant:
    """Return a fresh grant of a member at a server.

    Args:
        login: The member's login at the hub's issuer.

    Raises:
        AuthNeededError: The login has ended.
        LinkError: An issuer refuses, or cannot be found or reached; or what the server says of its
            tokens disagrees with its entry, and nothing was sent to anybody.
        ConfigError: The key of the client cannot be used.
    """
    http, key = IssuerHttp(url.url), server_key(url.url)
    refusal = (await knock(http, url)).headers
    resource = await find_protected(http, key, refusal)
    named = wanted_scope(refusal) or readable_scope(" ".join(resource.scopes_supported or ()))
    scope = client.scope or named
    by_assertion = client.grant == "identity"
    give = _by_assertion if by_assertion else _by_exchange
    issuer, endpoint, tokens = await give(name, http, client, login, resource, scope)
    return OAuthGrant(
        url=key,
        issuer=issuer,
        token_endpoint=endpoint,
        client="",
        access_token=tokens.access_token,
        resource=resource.resource,
        scope=tokens.scope or scope,
        issued_at=tokens.issued_at,
        expires_at=tokens.expires_at,
        member=login.member,
    )


_Given = tuple[str, str, IssuedTokens]


async def _by_assertion(
    name: str,
    http: IssuerHttp,
    client: RegisteredClient,
    login: OAuthGrant,
    resource: ProtectedResource,
    scope: str,
) -> _Given:
    check_issuer(resource, client.issuer)
    issuer = await find_metadata(http, client.issuer)
    _check_endpoint(issuer, client.issuer)
    wanted = {
        "requested_token_type": OF_ASSERTION,
        "audience": issuer.issuer,
        "resource": resource.resource,
        "scope": scope,
        "subject_token": _id_token(name, login),
        "subject_token_type": OF_IDENTITY,
    }
    fields = await _exchange(name, login, wanted)
    if fields.get("issued_token_type") != OF_ASSERTION:
        raise LinkError(f"{login.issuer} gave no assertion of identity for {name!r}", _REFUSED)
    form = {
        "grant_type": BEARER,
        "assertion": read_token(login.issuer, fields),
        "scope": scope,
        "resource": resource.resource,
    }
    proof = _prove(client, issuer)
    try:
        tokens = await request_tokens(http, issuer.issuer, issuer.token_endpoint, proof, form)
    except TokensRefusedError as error:
        # Another login of the person would end here again.
        raise LinkError(f"{name!r} is not entered: {error}", _REFUSED) from error
    return issuer.issuer, issuer.token_endpoint, tokens


async def _by_exchange(
    name: str,
    http: IssuerHttp,
    client: RegisteredClient,
    login: OAuthGrant,
    resource: ProtectedResource,
    scope: str,
) -> _Given:
    check_issuer(resource, login.issuer)
    wanted = {
        "requested_token_type": OF_ACCESS,
        "audience": client.audience,
        "resource": "" if client.audience else resource.resource,
        "scope": scope,
        "subject_token": login.access_token,
        "subject_token_type": OF_ACCESS,
    }
    fields = await _exchange(name, login, wanted)
    if fields.get("issued_token_type") not in (None, OF_ACCESS):
        raise LinkError(f"{login.issuer} gave no access token for {name!r}", _REFUSED)
    return login.issuer, login.token_endpoint, read_tokens(login.issuer, fields)


async def _exchange(name: str, login: OAuthGrant, wanted: dict[str, str]) -> JsonObject:
    """Have the hub's issuer give something for what the member's login gave us."""
    http = IssuerHttp(login.issuer)
    form = {"grant_type": EXCHANGE, **wanted}
    try:
        return await post_grant(http, login.issuer, login.token_endpoint, proof_of(login), form)
    except TokensRefusedError as error:
        if error.code == "invalid_grant":
            raise _log_in_again(name, error.status) from error
        raise LinkError(f"{name!r} is not entered: {error}", _REFUSED) from error


def _id_token(name: str, login: OAuthGrant) -> str:
    if not login.id_token or time.time() >= login.id_expires_at:
        raise _log_in_again(name)
    return login.id_token


def _log_in_again(name: str, status: int = 401) -> AuthNeededError:
    text = f"{name!r} needs your login at this hub's page"
    return AuthNeededError(text, status, "log in there, then call again")


def _check_endpoint(metadata: IssuerMetadata, issuer: str) -> None:
    """See that assertions and secrets go to the host that the entry names, and to no other."""
    theirs, ours = urlsplit(metadata.token_endpoint), urlsplit(issuer)
    if (theirs.scheme, theirs.netloc.lower()) != (ours.scheme, ours.netloc.lower()):
        text = f"the tokens of {issuer[:200]!r} are said to come from another host"
        raise LinkError(text, "ask whoever runs it: nothing was sent there")


def _prove(client: RegisteredClient, issuer: IssuerMetadata) -> ClientProof:
    if client.client_secret or client.private_key:
        return make_proof(client, issuer)
    return ClientProof(client.client_id)
