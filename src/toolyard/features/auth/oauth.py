"""Logs in at a remote server, with the client of the official SDK.

Only this module and `negotiation` know the SDK, and only while somebody logs in: it is large, and a
hub that serves needs nothing of it. What it finds out is kept as a grant.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from toolyard.core.errors import ConfigError, LinkError, ToolyardError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Url
from toolyard.features.auth.callback import HOST, Callback, PublicCallbacks, listening
from toolyard.features.auth.guarded import guarded_http
from toolyard.installation import how_to_add
from toolyard.links.addresses import check_link
from toolyard.links.grants import GrantStore, ListedGrant, OAuthGrant, join_scopes, server_key
from toolyard.links.greeting import ENVELOPE
from toolyard.records.secrets.mask import MASK
from toolyard.wire import era, jsonrpc

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider, OAuthFlowError
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

LOGIN_SECONDS: Final = 300.0
"""For the person: to find the password, the phone, the right account."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client as an issuer knows it; when empty, we introduce ourselves."""

    id: str = ""
    """As it was registered by hand."""
    secret: str = ""
    page: str = ""
    """The https address of a document that describes us."""
    port: int = 0
    """On which the browser comes back; 0 for any."""


async def login(
    name: str,
    url: Url,
    grants: GrantStore,
    show: Callable[[str], None],
    client: OAuthClient | None = None,
    seconds: float = LOGIN_SECONDS,
    callbacks: PublicCallbacks | None = None,
) -> ListedGrant:
    """Log in; `show` gets the address of the page on which the person agrees.

    The browser comes back to one of `callbacks`, or to a port of this machine.

    Raises:
        LinkError: It did not work out.
        ConfigError: The SDK is not installed, or the port is taken.
    """
    await asyncio.to_thread(_load)
    key = server_key(url.url)
    former = await asyncio.to_thread(_read, grants, key)
    scope = await asyncio.to_thread(_wanted, grants, key, former)
    async with AsyncExitStack() as stack:
        callback = await _listen(stack, former, client or OAuthClient(), callbacks)
        attempt = _Attempt(name, callback, show, seconds)
        storage = _Storage(_client_of(former, callback, client or OAuthClient(), scope))
        # Without its query, which may be secret: issuers are told which server this is for.
        provider = attempt.provider(key, storage, (client or OAuthClient()).page, scope)
        status = await _knock(name, url, provider)
        grant = _grant(name, key, provider, status)
    return await asyncio.to_thread(grants.write, grant)


def _load() -> None:
    try:
        # It takes a second, and most never need it.
        importlib.import_module("mcp.client.auth")
    except ImportError as error:
        raise ConfigError("logging in needs the package 'mcp'", how_to_add("login")) from error
    # It writes a traceback for whatever we turn into one sentence, and answers of token endpoints.
    for quiet in ("mcp.client.auth", "mcp.shared", "httpx2", "httpcore2"):
        logging.getLogger(quiet).setLevel(logging.CRITICAL)


def _read(grants: GrantStore, key: str) -> OAuthGrant | None:
    try:
        return grants.read(key)
    except ToolyardError:
        return None  # what cannot be read is replaced


def _wanted(grants: GrantStore, key: str, former: OAuthGrant | None) -> str:
    """The scope to ask for beside what the server names: what it refused, and what we have."""
    listed = grants.listed().get(key)
    if former is None or listed is None or not listed.wanted:
        return ""
    return join_scopes(former.scope, listed.wanted)


async def _listen(
    stack: AsyncExitStack,
    former: OAuthGrant | None,
    client: OAuthClient,
    callbacks: PublicCallbacks | None,
) -> Callback:
    """Listen where we did the last time: some issuers compare the port too."""
    if callbacks is not None:
        return await stack.enter_async_context(callbacks.open())
    place = urlsplit(_callback_of(former))
    wished = client.port or (place.port if place.hostname == HOST else None) or 0
    try:
        return await stack.enter_async_context(listening(wished))
    except OSError as error:
        if client.port:
            raise ConfigError(f"port {client.port} is in use", "choose another") from error
    return await stack.enter_async_context(listening())


def _registration(former: OAuthGrant | None) -> JsonObject:
    """The registration by which an issuer knows us, from the last login."""
    registration = msgspec.json.decode(former.client) if former is not None else {}
    return registration if isinstance(registration, dict) else {}


def _callback_of(former: OAuthGrant | None) -> str:
    """The address to which browsers came back at the last login."""
    places = _registration(former).get("redirect_uris") or [""]
    return str(places[0])


def _client_of(
    former: OAuthGrant | None, callback: Callback, client: OAuthClient, scope: str
) -> OAuthClientInformationFull | None:
    """The client that we are already, by the user or from before at this place, for this scope."""
    from mcp.shared.auth import OAuthClientInformationFull
    from pydantic import AnyUrl

    if client.id:
        return OAuthClientInformationFull(
            client_id=client.id,
            client_secret=client.secret or None,
            redirect_uris=[AnyUrl(callback.address)],
            token_endpoint_auth_method=None if client.secret else "none",
        )
    if former is None or _callback_of(former) != callback.address:
        return None
    registered = str(_registration(former).get("scope") or "")
    if registered and not set(scope.split()) <= set(registered.split()):
        return None  # as this client nobody may ask for more than it was registered for
    return OAuthClientInformationFull.model_validate_json(former.client)


class _Storage:
    """The SDK's storage while it works; only a whole grant is kept for good."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class _Attempt:
    """One login: what happens between the page and the callback."""

    def __init__(
        self, name: str, callback: Callback, show: Callable[[str], None], seconds: float
    ) -> None:
        self._name = name
        self._callback = callback
        self._show = show
        self._seconds = seconds
        self._provider: OAuthClientProvider | None = None

    def provider(self, url: str, storage: _Storage, page: str, scope: str) -> OAuthClientProvider:
        """The SDK's side of it."""
        from mcp.client.auth import OAuthClientProvider

        from toolyard.features.auth.negotiation import client_metadata

        metadata = client_metadata(self._callback.address, scope)
        try:
            self._provider = OAuthClientProvider(
                url, metadata, storage, self._redirect, self._answer, page or None
            )
        except ValueError as error:
            raise ConfigError(str(error), "name an https address with a path") from error
        return self._provider

    async def _redirect(self, url: str) -> None:
        from toolyard.features.auth.negotiation import complete

        assert self._provider is not None
        complete(self._provider)
        metadata = self._provider.context.oauth_metadata
        if metadata is None or "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise LinkError(
                f"{self._name!r} is logged in to without PKCE, which is not safe",
                "ask its author to offer the method S256",
            )
        state = parse_qs(urlsplit(check_link(url)).query).get("state", [""])[-1]
        self._callback.expect(state)
        self._show(url)

    async def _answer(self) -> AuthorizationCodeResult:
        from mcp.shared.auth import AuthorizationCodeResult

        brought = await self._callback.wait(self._seconds)
        if "error" in brought:
            why = jsonrpc.encode(brought.get("error_description") or brought["error"])
            raise LinkError(f"the login at {self._name!r} was refused: {why.decode()[:300]}")
        return AuthorizationCodeResult(
            code=brought.get("code", ""),
            state=brought.get("state"),
            iss=self._as_expected(brought.get("iss")),
        )

    def _as_expected(self, issuer: str | None) -> str | None:
        """The issuer that answered, spelled as in its metadata: the SDK compares every byte."""
        from toolyard.features.auth.negotiation import is_same_issuer

        assert self._provider is not None
        metadata = self._provider.context.oauth_metadata
        expected = str(metadata.issuer) if metadata is not None else ""
        return expected if issuer is not None and is_same_issuer(issuer, expected) else issuer


async def _knock(name: str, url: Url, provider: OAuthClientProvider) -> int:
    """Ask the server something harmless, and do what it takes to be let in; gives the status."""
    import httpx2
    from mcp.client.auth import OAuthFlowError

    from toolyard.features.auth.negotiation import Negotiation

    params = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": ENVELOPE}}
    headers = {
        **{key: value for key, value in url.headers if key.lower() != "authorization"},
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": era.MODERN,
        "mcp-method": "server/discover",
    }
    try:
        async with guarded_http(url.url) as http:
            content = jsonrpc.encode(params)
            flow = Negotiation(provider)
            answer = await http.post(url.url, content=content, headers=headers, auth=flow)
    except OAuthFlowError as error:
        raise LinkError(f"the login at {name!r} failed: {_short(error)}", _cure(error)) from error
    except httpx2.HTTPError as error:
        text = f"the login at {name!r} failed: {_short(error) or type(error).__name__}"
        raise LinkError(text, "check that the server and its login page can be reached") from error
    except ValueError as error:  # what a server said of itself makes no sense
        raise LinkError(f"the login at {name!r} failed: {type(error).__name__}") from error
    return answer.status_code


def _cure(error: OAuthFlowError) -> str:
    from mcp.client.auth import OAuthRegistrationError

    if isinstance(error, OAuthRegistrationError):
        return "register a client with its issuer by hand, and name it with --client-id"
    if "mismatch" in str(error):
        return "whoever runs the server must mend this: what it says about its login disagrees"
    return "start it again"


def _grant(name: str, key: str, provider: OAuthClientProvider, status: int) -> OAuthGrant:
    context = provider.context
    tokens, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
    if tokens is None or client is None or metadata is None:
        raise LinkError(f"{name!r} asks for no login (HTTP {status})", "use it as it is")
    if status in (401, 403):
        raise LinkError(f"{name!r} does not accept the login (HTTP {status})", "start it again")
    now = time.time()
    return OAuthGrant(
        url=key,
        issuer=str(metadata.issuer),
        token_endpoint=str(metadata.token_endpoint),
        client=client.model_dump_json(exclude_none=True),
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or "",
        resource=context.get_resource_url(),
        scope=tokens.scope or "",
        issued_at=now,
        expires_at=now + tokens.expires_in if tokens.expires_in else 0.0,
    )


def _short(error: Exception) -> str:
    return " ".join(MASK.hide(str(error)).split())[:300]
