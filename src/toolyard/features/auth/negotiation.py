"""The choices of a login: how to prove who we are to an issuer, and what to ask of it.

The SDK reads what an issuer says about itself, but takes none of these choices from it. They are
made between its requests, on what it exposes. Like it, this is loaded only while somebody logs in.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata, TokenEndpointAuthMethod
from pydantic import AnyUrl

from toolyard.features.auth.callback import HOST
from toolyard.links.grants import join_scopes

PREFERRED: Final[tuple[TokenEndpointAuthMethod, ...]] = (
    "none",
    "client_secret_post",
    "client_secret_basic",
)
"""The ways to prove to an issuer who a client is, best first: a program on the user's machine keeps
no secret, so it has none where that is allowed."""
DEFAULT: Final = ("client_secret_basic",)
"""The ways of an issuer that names none (RFC 8414, section 2)."""


def choose_method(offered: object, *, has_secret: bool = False) -> TokenEndpointAuthMethod | None:
    """The way to prove who we are that suits us best; None if none of the offered ones does."""
    ways = offered if isinstance(offered, list) and offered else DEFAULT
    return next((way for way in PREFERRED[has_secret:] if way in ways), None)


def is_same_issuer(one: str, other: str) -> bool:
    """True if two identifiers name one issuer: the same text, or but for one slash at the end.

    Identifiers are to be compared as they are, so that nobody passes for another issuer and gets
    its codes. The slash is no way to do that: it is taken off before the address of an issuer's
    metadata is made (RFC 8414, section 3.1), so both spellings lead to the same document, on the
    same host, and there cannot be one issuer for each. Frameworks that rewrite addresses add it.
    """
    return one == other or one + "/" == other or one == other + "/"


def client_metadata(callback: str, scope: str) -> OAuthClientMetadata:
    """The client that we are, asking for this scope beside the one that the server names."""

    class ScopedMetadata(OAuthClientMetadata):
        """Keeps its scope whatever the SDK finds out."""

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "scope":
                value = join_scopes(value or "", scope) or None
            super().__setattr__(name, value)

    return ScopedMetadata(
        client_name="Toolyard",
        redirect_uris=[AnyUrl(callback)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        application_type="native" if urlsplit(callback).hostname == HOST else "web",
    )


class Negotiation(httpx2.Auth):
    """The SDK's login, with a look at every answer before the SDK takes it."""

    def __init__(self, provider: OAuthClientProvider) -> None:
        self._provider = provider

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Pass its requests on, and the answers back."""
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                answer = yield outgoing
                outgoing = await flow.asend(await self._read(outgoing, answer))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _read(self, request: httpx2.Request, answer: httpx2.Response) -> httpx2.Response:
        """The answer as the SDK should see it."""
        if "/.well-known/" not in request.url.path or answer.status_code != 200:
            return answer
        try:
            metadata = msgspec.json.decode(await answer.aread())
        except msgspec.DecodeError:
            return answer
        if not isinstance(metadata, dict) or not isinstance(metadata.get("issuer"), str):
            return answer
        context = self._provider.context
        offered = metadata.get("token_endpoint_auth_methods_supported")
        context.client_metadata.token_endpoint_auth_method = choose_method(offered)
        expected = context.auth_server_url
        if expected is None or not is_same_issuer(metadata["issuer"], expected):
            return answer
        spelled = msgspec.json.encode({**metadata, "issuer": expected})
        return httpx2.Response(200, content=spelled, request=request)


def complete(provider: OAuthClientProvider) -> None:
    """Say how a secret is shown of which nobody said it: registered by hand, or by few words."""
    client, issuer = provider.context.client_info, provider.context.oauth_metadata
    if client is None or client.token_endpoint_auth_method or not client.client_secret:
        return
    offered = issuer.token_endpoint_auth_methods_supported if issuer is not None else None
    client.token_endpoint_auth_method = choose_method(offered, has_secret=True)
