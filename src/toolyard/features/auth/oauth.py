"""Logs in at a remote server: finds its issuer, introduces us, sends a person there, takes tokens.

The whole way of the MCP specification with nothing but our own HTTP, so that it works with the base
package and costs a hub neither a second nor the memory of a large library. What comes out is kept
as a grant.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec

from toolyard.core.errors import ConfigError, LinkError, ToolyardError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Url
from toolyard.features.auth.callback import Callback, PublicCallbacks, listening
from toolyard.features.auth.client_document import HOST
from toolyard.features.auth.registration import (
    OAuthClient,
    former_callback,
    introduce,
    merge_client,
)
from toolyard.links.addresses import check_link
from toolyard.links.grants import (
    GrantStore,
    ListedGrant,
    OAuthGrant,
    grant_key,
    join_scopes,
    server_key,
)
from toolyard.links.issuer_http import IssuerHttp, IssuerReply
from toolyard.links.knocking import knock
from toolyard.links.oauth_discovery import Discovery, IssuerMetadata, discover
from toolyard.links.refusals import AuthNeededError, ScopeNeededError, refusal
from toolyard.links.token_requests import ClientProof, IssuedTokens, request_tokens
from toolyard.records.secrets.mask import MASK
from toolyard.wire import jsonrpc

LOGIN_SECONDS: Final = 300.0
"""For the person: to find the password, the phone, the right account."""
OFFLINE: Final = "offline_access"
"""The scope by which issuers of OpenID give tokens that can be renewed."""
ROUNDS: Final = 2
"""A server that asks for more than it named at first is followed once, not for ever."""


async def login(
    name: str,
    url: Url,
    grants: GrantStore,
    show: Callable[[str], None],
    client: OAuthClient | None = None,
    seconds: float = LOGIN_SECONDS,
    callbacks: PublicCallbacks | None = None,
    member: str = "",
    tie: str = "",
    rounds: int = ROUNDS,
) -> ListedGrant:
    """Log in; `show` gets the address of the page on which the person agrees.

    The browser comes back to one of `callbacks`, or to a port of this machine. The login is that
    of a member, by key, or of the hub's owner. With a tie, no other browser than the one that has
    it can finish it. A server that then asks for more has the person agree again, up to so many
    `rounds`; where there is one, the login is kept, and its link says what it lacks.

    Raises:
        LinkError: It did not work out.
        ConfigError: The port is taken, or the client cannot be used.
    """
    if client is None or not client.id:
        client = merge_client(client or OAuthClient(), url)
    if callbacks is not None and not client.page:
        client = replace(client, page=callbacks.page)
    key = grant_key(url.url, member)
    former = await asyncio.to_thread(_read, grants, key)
    scope = await asyncio.to_thread(_wanted, grants, key, former)
    async with AsyncExitStack() as stack:
        callback = await _listen(stack, former, client, callbacks, tie)
        attempt = _Attempt(name, url, callback, show, seconds, rounds)
        try:
            grant = await attempt.run(client, former, scope)
            grant = replace(grant, member=member)
        except LinkError as error:
            raise _failed(name, error) from error
    return await asyncio.to_thread(grants.write, grant)


def _failed(name: str, error: LinkError) -> LinkError:
    """The error with the name of the server in it."""
    text = " ".join(MASK.hide(str(error)).split())[:400]
    if repr(name) in text:
        return error
    return LinkError(f"the login at {name!r} failed: {text}", error.hint or "start it again")


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
    tie: str,
) -> Callback:
    """Listen where we did the last time: some issuers compare the port too."""
    if callbacks is not None:
        return await stack.enter_async_context(callbacks.open(tie))
    place = urlsplit(former_callback(former))
    wished = client.port or (place.port if place.hostname == HOST else None) or 0
    try:
        return await stack.enter_async_context(listening(wished))
    except OSError as error:
        if client.port:
            raise ConfigError(f"port {client.port} is in use", "choose another") from error
    return await stack.enter_async_context(listening())


@dataclass(frozen=True, slots=True)
class _Consent:
    """A request for a person's consent, and what will prove that the answer is to it."""

    state: str
    verifier: str
    scope: str

    @property
    def challenge(self) -> str:
        """The text by which the issuer will know the verifier (RFC 7636)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class _Attempt:
    """One login, from the first refusal to the grant."""

    def __init__(
        self,
        name: str,
        url: Url,
        callback: Callback,
        show: Callable[[str], None],
        seconds: float,
        rounds: int,
    ) -> None:
        self._name = name
        self._url = url
        self._key = server_key(url.url)
        self._callback = callback
        self._show = show
        self._seconds = seconds
        self._rounds = rounds
        self._http = IssuerHttp(url.url)

    async def run(self, client: OAuthClient, former: OAuthGrant | None, scope: str) -> OAuthGrant:
        """Log in, once more if the server then asks for more; return the grant."""
        reply = await knock(self._http, self._url)
        if reply.status not in (401, 403):
            raise LinkError(
                f"{self._name!r} asks for no login (HTTP {reply.status})", "use it as it is"
            )
        grant = former
        for _ in range(self._rounds):
            grant = await self._obtain(reply, client, grant, scope)
            reply = await knock(self._http, self._url, f"Bearer {grant.access_token}")
            if reply.status not in (401, 403):
                return grant
            lacking = refusal(self._name, reply.status, reply.headers)
            if not isinstance(lacking, ScopeNeededError):
                break
            if self._rounds == 1:
                return grant
            scope = join_scopes(grant.scope, lacking.scope)
        text = f"{self._name!r} does not accept the login (HTTP {reply.status}){_reason(reply)}"
        raise LinkError(text, "start it again")

    async def _obtain(
        self, reply: IssuerReply, client: OAuthClient, former: OAuthGrant | None, scope: str
    ) -> OAuthGrant:
        """Do what it takes after a refusal; return the grant."""
        found = await discover(self._http, self._key, reply.headers)
        _check_pkce(self._name, found.issuer)
        asked = _scope_to_ask(found, scope)
        registration = await introduce(
            self._http, found.issuer, client, former, self._callback.address, asked
        )
        consent = _Consent(secrets.token_urlsafe(32), secrets.token_urlsafe(48), asked)
        code = await self._consent(found, str(registration["client_id"]), consent)
        tokens = await self._exchange(found, registration, consent, code)
        return OAuthGrant(
            url=self._key,
            issuer=found.issuer.issuer,
            token_endpoint=found.issuer.token_endpoint,
            client=msgspec.json.encode(registration).decode(),
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            resource=found.resource,
            # Who grants all that was asked for need not repeat it (RFC 6749, section 5.1).
            scope=tokens.scope or asked,
            issued_at=tokens.issued_at,
            expires_at=tokens.expires_at,
        )

    async def _consent(self, found: Discovery, client_id: str, consent: _Consent) -> str:
        """Send the person to the issuer; return the code that they bring back."""
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": self._callback.address,
            "state": consent.state,
            "code_challenge": consent.challenge,
            "code_challenge_method": "S256",
            "resource": found.resource,
            "scope": consent.scope,
        }
        if OFFLINE in consent.scope.split():
            query["prompt"] = "consent"  # or it is not granted (OpenID Connect Core, section 11)
        place = found.issuer.authorization_endpoint
        words = urlencode({name: value for name, value in query.items() if value})
        page = check_link(f"{place}{'&' if '?' in place else '?'}{words}")
        self._callback.expect(consent.state)
        self._show(page)
        return self._read_answer(await self._callback.wait(self._seconds), found.issuer)

    def _read_answer(self, brought: Mapping[str, str], issuer: IssuerMetadata) -> str:
        """The code in what a browser brought back, if it is from the issuer that was asked."""
        _check_sender(brought.get("iss"), issuer)
        if "error" in brought:
            why = jsonrpc.encode(brought.get("error_description") or brought["error"])
            raise LinkError(f"the login at {self._name!r} was refused: {why.decode()[:300]}")
        if not brought.get("code"):
            raise LinkError("the browser came back without a code")
        return brought["code"]

    async def _exchange(
        self, found: Discovery, registration: JsonObject, consent: _Consent, code: str
    ) -> IssuedTokens:
        """Give the code for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback.address,
            "code_verifier": consent.verifier,
            "resource": found.resource,
        }
        proof = ClientProof(
            str(registration["client_id"]),
            str(registration.get("client_secret") or ""),
            str(registration.get("token_endpoint_auth_method") or "none"),
        )
        MASK.add(proof.secret)
        issuer = found.issuer
        try:
            return await request_tokens(
                self._http, issuer.issuer, issuer.token_endpoint, proof, form
            )
        except AuthNeededError as error:
            raise LinkError(str(error), "start it again") from error


def _reason(reply: IssuerReply) -> str:
    """The reason that a server gives for a refusal (RFC 9457), if it gives one."""
    detail = reply.fields().get("detail")
    if not isinstance(detail, str):
        return ""
    return f": {' '.join(MASK.hide(detail).split())[:200]}"


def _check_pkce(name: str, issuer: IssuerMetadata) -> None:
    if "S256" not in (issuer.code_challenge_methods_supported or ()):
        raise LinkError(
            f"{name!r} is logged in to without PKCE, which is not safe",
            "ask its author to offer the method S256",
        )


def _check_sender(sender: str | None, issuer: IssuerMetadata) -> None:
    """See that the issuer which answers is the one that was asked, to the letter (RFC 9207)."""
    hint = "ask whoever runs the server: what it says about its login disagrees"
    if sender is None and issuer.authorization_response_iss_parameter_supported:
        raise LinkError("the answer does not say which issuer it is from (iss)", hint)
    if sender not in (None, issuer.issuer):
        raise LinkError(f"the answer's issuer (iss) is a mismatch: {str(sender)[:200]!r}", hint)


def _scope_to_ask(found: Discovery, wanted: str) -> str:
    scope = join_scopes(found.scope, wanted)
    if scope and OFFLINE in (found.issuer.scopes_supported or ()):
        return join_scopes(scope, OFFLINE)
    return scope
