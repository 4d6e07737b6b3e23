"""Finds out who issues the tokens of a server, and how, from what both say about themselves.

The way of the MCP specification: the challenge of the server, its metadata as a protected resource
(RFC 9728), the metadata of the authorization server that it names (RFC 8414, or OpenID). A server
of the revision 2025-03-26 has no metadata of its own, and issues its tokens itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from toolyard.core.errors import LinkError
from toolyard.links.issuer_http import IssuerHttp, IssuerReply
from toolyard.links.refusals import readable_scope, wanted_scope
from toolyard.wire.http1 import Headers

RESOURCE: Final = "/.well-known/oauth-protected-resource"
SERVER: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"
_METADATA: Final = re.compile(rb'\bresource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)
_DISAGREES: Final = "ask whoever runs the server: what it says about its login disagrees"

_Document = TypeVar("_Document", bound=msgspec.Struct)


class ProtectedResource(msgspec.Struct, frozen=True):
    """The parts of a server's metadata that a login needs."""

    resource: str = ""
    authorization_servers: list[str] = []
    scopes_supported: list[str] | None = None


class IssuerMetadata(msgspec.Struct, frozen=True):
    """The parts of an authorization server's metadata that we use."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str = ""
    revocation_endpoint: str = ""
    scopes_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """The issuer of a server's tokens, and what to ask of it."""

    issuer: IssuerMetadata
    resource: str
    """The name of the server that the tokens are for, as it calls itself."""
    scope: str
    """The scope that the server names; empty if it names none."""


async def discover(http: IssuerHttp, url: str, refusal: Headers) -> Discovery:
    """Find the issuer of a server that answered with this refusal.

    Args:
        url: The address of the server, without its query, which may be secret.

    Raises:
        LinkError: It cannot be found, or what is said about it disagrees.
    """
    resource = await _find_resource(http, url, _told_metadata(refusal))
    issuer = await _find_issuer(http, url, resource)
    named = wanted_scope(refusal)
    if not named and resource is not None:
        named = readable_scope(" ".join(resource.scopes_supported or ()))
    return Discovery(issuer, (resource.resource if resource else "") or url, named)


async def find_protected(http: IssuerHttp, url: str, refusal: Headers) -> ProtectedResource:
    """Return what a server that answered with this refusal says about its tokens.

    Raises:
        LinkError: It says nothing now, or that it is another.
    """
    resource = await _find_resource(http, url, _told_metadata(refusal)) or ProtectedResource()
    return msgspec.structs.replace(resource, resource=resource.resource or url)


def check_issuer(resource: ProtectedResource, issuer: str) -> None:
    """See that a server takes tokens of an issuer, if it says whose it takes.

    Raises:
        LinkError: It takes those of others alone.
    """
    names = resource.authorization_servers
    if names and not any(is_same_issuer(name, issuer) for name in names):
        text = f"the issuer is a mismatch: the server takes tokens of {names[0][:200]!r} alone"
        raise LinkError(text, "check 'issuer' in the 'auth' of its entry, and TOOLYARD_ISSUER")


async def find_metadata(http: IssuerHttp, issuer: str) -> IssuerMetadata:
    """Return what an authorization server says about itself.

    Raises:
        LinkError: It says nothing, or that it is another.
    """
    for address in _metadata_addresses(issuer):
        metadata = _read(await http.get(address), IssuerMetadata)
        if metadata is None:
            continue
        if not is_same_issuer(metadata.issuer, issuer):
            text = (
                f"the issuer is a mismatch: {metadata.issuer[:200]!r} instead of {issuer[:200]!r}"
            )
            raise LinkError(text, _DISAGREES)
        return metadata
    raise LinkError(
        f"the authorization server {issuer[:200]!r} has no metadata",
        "check that the server and its login page can be reached",
    )


def is_same_issuer(one: str, other: str) -> bool:
    """True if two identifiers name one issuer: the same text, or but for one slash at the end.

    Identifiers are to be compared as they are, so that nobody passes for another issuer and gets
    its codes. The slash is no way to do that: it is taken off before the address of an issuer's
    metadata is made (RFC 8414, section 3.1), so both spellings lead to the same document, on the
    same host, and there cannot be one issuer for each. Frameworks that rewrite addresses add it.
    """
    return one == other or one + "/" == other or one == other + "/"


async def _find_resource(http: IssuerHttp, url: str, told: str) -> ProtectedResource | None:
    """The metadata of a server; None if it has none, as before 2025-06-18."""
    failed = 0
    for address in dict.fromkeys(filter(None, (told, *_resource_addresses(url)))):
        reply = await http.get(address)
        resource = _read(reply, ProtectedResource)
        if resource is not None:
            _check_resource(resource, url)
            return resource
        if reply.status >= 500 or reply.status == 429:
            failed = reply.status
    if failed:
        # It says nothing about whether there are metadata, so no other way must be taken.
        raise LinkError(f"the server's metadata cannot be had now (HTTP {failed})", "try again")
    return None


async def _find_issuer(
    http: IssuerHttp, url: str, resource: ProtectedResource | None
) -> IssuerMetadata:
    if resource is not None and resource.authorization_servers:
        return await find_metadata(http, resource.authorization_servers[0])
    return await find_metadata(http, _origin(url))


def _check_resource(resource: ProtectedResource, url: str) -> None:
    """See that metadata are of this server: tokens for another would be of use there."""
    if resource.resource and not covers(resource.resource, url):
        text = f"the resource is a mismatch: it is {resource.resource[:200]!r} by its metadata"
        raise LinkError(text, _DISAGREES)


def covers(resource: str, url: str) -> bool:
    """True if a protected resource is this address, or one above it on the same host."""
    try:
        mine, theirs = urlsplit(url), urlsplit(resource)
        same_place = (mine.hostname, _port(mine)) == (theirs.hostname, _port(theirs))
    except ValueError:
        return False
    top = theirs.path.rstrip("/") + "/"
    is_above = (mine.path.rstrip("/") + "/").startswith(top)
    return same_place and mine.scheme == theirs.scheme.lower() and is_above


def _port(parts: Any) -> int:
    return parts.port or (443 if parts.scheme.lower() == "https" else 80)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _resource_addresses(url: str) -> list[str]:
    origin, path = _origin(url), urlsplit(url).path.rstrip("/")
    return [f"{origin}{RESOURCE}{path}", f"{origin}{RESOURCE}"]


def _metadata_addresses(issuer: str) -> list[str]:
    origin, path = _origin(issuer), urlsplit(issuer).path.rstrip("/")
    places = [f"{SERVER}{path}", f"{OPENID}{path}", f"{path}{OPENID}"]
    return list(dict.fromkeys(f"{origin}{place}" for place in places))


def _told_metadata(refusal: Headers) -> str:
    match = _METADATA.search(refusal.get(b"www-authenticate", b""))
    return (match[1] or match[2] or b"").decode("latin-1") if match else ""


def _read(reply: IssuerReply, kind: type[_Document]) -> _Document | None:
    """The document in a reply; None if there is none."""
    if reply.status != 200:
        return None
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except msgspec.MsgspecError:
        return None
