"""The client that we are to an issuer: as the user says, as the last time, or introduced anew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

import msgspec

from toolyard.core.errors import ConfigError, LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Url
from toolyard.features.auth.client_document import describe_client
from toolyard.links.grants import OAuthGrant
from toolyard.links.issuer_http import IssuerHttp
from toolyard.links.oauth_discovery import IssuerMetadata, is_same_issuer
from toolyard.links.token_requests import choose_method, read_client

BY_HAND: Final = "register a client with its issuer by hand, and name it with --client-id"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client as an issuer knows it; when empty, we introduce ourselves."""

    id: str = ""
    """As it was registered by hand."""
    secret: str = field(default="", repr=False)
    page: str = ""
    """The https address of a document that describes us."""
    port: int = 0
    """On which the browser comes back; 0 for any."""


def merge_client(client: OAuthClient, url: Url) -> OAuthClient:
    """Return a client as the one that a server's entry names, if it names one for people."""
    named = url.auth
    if named is None or named.grant != "authorization_code":
        return client
    return replace(client, id=named.client_id, secret=named.client_secret)


def former_callback(former: OAuthGrant | None) -> str:
    """The address to which browsers came back at the last login."""
    places = read_client(former.client if former else "").get("redirect_uris") or [""]
    return str(places[0])


async def introduce(
    http: IssuerHttp,
    issuer: IssuerMetadata,
    client: OAuthClient,
    former: OAuthGrant | None,
    callback: str,
    scope: str,
) -> JsonObject:
    """Return the registration to log in with.

    Raises:
        LinkError: The issuer wants a client that somebody registered by hand.
        ConfigError: The document that describes us cannot be used.
    """
    if client.id:
        return _by_hand(client, issuer, callback)
    if former is not None and _is_good(former, issuer, callback, scope):
        return read_client(former.client)
    if client.page and issuer.client_id_metadata_document_supported:
        return _by_document(client.page, callback)
    return await _register(http, issuer, callback, scope)


def _by_hand(client: OAuthClient, issuer: IssuerMetadata, callback: str) -> JsonObject:
    if not client.secret:
        how = {"token_endpoint_auth_method": "none"}
        return {"client_id": client.id, "redirect_uris": [callback], **how}
    method = choose_method(issuer.token_endpoint_auth_methods_supported, has_secret=True)
    return {
        "client_id": client.id,
        "client_secret": client.secret,
        "redirect_uris": [callback],
        "token_endpoint_auth_method": method or "client_secret_basic",
    }


def _by_document(page: str, callback: str) -> JsonObject:
    parts = urlsplit(page)
    if parts.scheme != "https" or parts.path in ("", "/"):
        raise ConfigError(f"{page!r} cannot name a client", "name an https address with a path")
    return {
        "client_id": page,
        "redirect_uris": [callback],
        "token_endpoint_auth_method": "none",
    }


def _is_good(former: OAuthGrant, issuer: IssuerMetadata, callback: str, scope: str) -> bool:
    """Return whether a former registration is known to this issuer, for all that is asked."""
    if not is_same_issuer(former.issuer, issuer.issuer) or former_callback(former) != callback:
        return False
    registered = str(read_client(former.client).get("scope") or "").split()
    # As this client nobody may ask for more than it was registered for.
    return not registered or {*scope.split()} <= {*registered}


async def _register(
    http: IssuerHttp, issuer: IssuerMetadata, callback: str, scope: str
) -> JsonObject:
    """Register a client of our own (RFC 7591)."""
    if not issuer.registration_endpoint:
        raise LinkError(f"{issuer.issuer} registers no clients by itself", BY_HAND)
    document = describe_client(callback, scope)
    method = choose_method(issuer.token_endpoint_auth_methods_supported)
    if method is not None:
        document["token_endpoint_auth_method"] = method
    headers = {"content-type": "application/json"}
    body = msgspec.json.encode(document)
    reply = await http.send("POST", issuer.registration_endpoint, headers, body)
    client = reply.fields()
    if reply.status not in (200, 201) or not isinstance(client.get("client_id"), str):
        raise LinkError(f"{issuer.issuer} did not register a client (HTTP {reply.status})", BY_HAND)
    client.setdefault("redirect_uris", [callback])
    if not client.get("token_endpoint_auth_method"):
        client["token_endpoint_auth_method"] = _implied_method(client, issuer)
    return client


def _implied_method(client: JsonObject, issuer: IssuerMetadata) -> str:
    """How a secret is shown of which nobody said it."""
    if not client.get("client_secret"):
        return "none"
    offered = issuer.token_endpoint_auth_methods_supported
    return choose_method(offered, has_secret=True) or "client_secret_basic"
