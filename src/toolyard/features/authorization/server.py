"""The hub's own authorization server: a person agrees, and a client gets tokens.

Between two steps nothing is kept: what was checked travels sealed, in a form or as a code. Only
when a client fetches its first token is something written down, under the id that the consent got.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from toolyard.core.caller import Caller, Role
from toolyard.core.errors import ConfigError
from toolyard.features.authorization.clients import OAuthClients
from toolyard.features.authorization.model import (
    ACCESS_SECONDS,
    CODE_SECONDS,
    IDLE_SECONDS,
    LOGIN_SECONDS,
    AuthorizationCode,
    AuthorizationRequest,
    ClientAuthorization,
    ClientConsent,
    LoginClient,
    OAuthError,
    challenge_of,
    digest,
    fits_seal,
    is_same,
    open_value,
    seal_value,
)
from toolyard.features.authorization.redirects import host_of, is_registered
from toolyard.features.authorization.store import AuthorizationStore, SpentError
from toolyard.features.members.accounts import Accounts
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.identity import MCP, ORDER_SCOPE, OWN_SCOPE, Identities
from toolyard.features.members.model import Member
from toolyard.features.members.own_issuer import OwnIssuer
from toolyard.features.members.passwords import Bucket
from toolyard.features.members.verifying import InvalidTokenError, verify_token
from toolyard.wire.seal import Seal

log = logging.getLogger(__name__)

PASSWORDS: Final = 30
"""Passwords that are looked at in a minute, whoever brings them for whatever account."""
AT_ONCE: Final = 2
"""Passwords that are looked at side by side: each takes a core, and 32 MiB."""
FIELDS: Final = 40
STATE_LONGEST: Final = 4096
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_LOGIN: Final = "oauth login"
_CONSENT: Final = "oauth consent"
_CODE: Final = "oauth code"

Form = Mapping[str, list[str]]


class RedirectedError(Exception):
    """A refusal that the browser takes back to the client."""

    def __init__(self, address: str) -> None:
        super().__init__("the client is told")
        self.address = address


class LoginRefusedError(Exception):
    """A person cannot go on; the text says why."""


class TokenAnswer(Struct, frozen=True):
    """The tokens of a client."""

    access_token: str
    refresh_token: str
    expires_in: int
    scope: str
    token_type: str = "Bearer"  # noqa: S105 - a type

    def __repr__(self) -> str:
        return "TokenAnswer(…)"


class AuthorizationServer:
    """Takes clients' wishes to people, and people's consent back; it lives on the doors' loop."""

    def __init__(
        self,
        issuer: OwnIssuer,
        identities: Identities,
        directory: MemberDirectory,
        accounts: Accounts,
        clients: OAuthClients,
        store: AuthorizationStore,
        clock: Callable[[], float],
        steady: Callable[[], float],
    ) -> None:
        """Build it on what there is.

        Args:
            clock: The time of day.
            steady: Goes on evenly, whatever the time of day.
        """
        self.issuer, self.accounts, self.clients, self.store = issuer, accounts, clients, store
        self._identities, self._directory = identities, directory
        self._seal = Seal(issuer.keys)
        self._clock = clock
        self._passwords = Bucket(PASSWORDS, 60.0, steady)
        self._at_once = asyncio.Semaphore(AT_ONCE)

    # A client's wish.

    async def begin(self, query: str) -> tuple[AuthorizationRequest, str]:
        """Check the wish that a browser brings; return it, and sealed for the form of the login.

        Raises:
            OAuthError: It is not to be trusted, and the browser is sent nowhere.
            RedirectedError: The client is told that it cannot be.
        """
        form = read_form(query)
        client = await self.clients.find(single(form, "client_id"))
        redirect = single(form, "redirect_uri")
        if not is_registered(redirect, client.redirects):
            text = "this client is not registered with the address it wants to be answered at"
            raise OAuthError("invalid_request", text)
        state = form["state"][0] if "state" in form else None
        if len(state or "") > STATE_LONGEST:
            raise OAuthError("invalid_request", "the state of the client is too long")
        try:
            request = self._check(form, client, redirect, state)
        except OAuthError as error:
            address = self._answer(redirect, state, error=error.code, error_description=str(error))
            raise RedirectedError(address) from error
        return request, seal_value(self._seal, _LOGIN, request)

    def _check(
        self, form: Form, client: LoginClient, redirect: str, state: str | None
    ) -> AuthorizationRequest:
        if single(form, "response_type") != "code":
            raise OAuthError("unsupported_response_type", "this hub gives codes alone")
        if single(form, "code_challenge_method") != "S256":
            raise OAuthError("invalid_request", "PKCE with S256 is needed")
        challenge = single(form, "code_challenge")
        if not _CHALLENGE.fullmatch(challenge):
            raise OAuthError("invalid_request", "the PKCE challenge is none of S256")
        request = AuthorizationRequest(
            client.id,
            client.name,
            client.is_described,
            redirect,
            state,
            challenge,
            self._resource(form) or f"{self.issuer.url}{MCP}",
            self._scopes(single(form, "scope")),
            self._clock() + LOGIN_SECONDS,
        )
        if not fits_seal(request):
            raise OAuthError("invalid_request", "the request is too long")
        return request

    def _resource(self, form: Form) -> str:
        """Return the part of the hub that a client names; empty if it names none."""
        addresses = {*form.get("resource", ())}
        if len(addresses) > 1 or not all(map(self._identities.is_resource, addresses)):
            text = f"tokens are for {self.issuer.url}{MCP}, or one path below it"
            raise OAuthError("invalid_target", text)
        return next(iter(addresses), "")

    def _scopes(self, words: str) -> tuple[str, ...]:
        """Return the scopes that mean something here; without a wish, those that all clients need.

        Clients ask for others, too (`openid`, `offline_access`), which changes nothing.
        """
        wanted = words.split()
        if not wanted:
            return self.issuer.scopes
        allowed = (*self.issuer.scopes, OWN_SCOPE, ORDER_SCOPE)
        return tuple(dict.fromkeys(word for word in wanted if word in allowed))

    # The person.

    def reopen(self, text: str) -> AuthorizationRequest:
        """Return the wish that the form of a login carries.

        Raises:
            OAuthError: It is none of ours, or too old.
        """
        request = open_value(self._seal, _LOGIN, text, AuthorizationRequest)
        if request is None or request.expires < self._clock():
            raise _outdated()
        return request

    async def log_in(
        self, request: AuthorizationRequest, email: str, password: str
    ) -> tuple[ClientConsent, Caller, str]:
        """Find out who is there; return what they are asked, who they are, and that sealed.

        Raises:
            LoginRefusedError: Nobody who could agree to it.
            StoreError: The accounts cannot be read.
        """
        if not self._passwords.take():
            raise LoginRefusedError("Too many people are logging in. Wait a minute, and try again.")
        async with self._at_once:
            member = await asyncio.to_thread(self.accounts.check, email, password)
        if member is None:
            raise LoginRefusedError(
                "Email address and password do not match. After several attempts, an account "
                "waits for up to 15 minutes."
            )
        caller = self._directory.caller(member.key)
        if caller is None:
            raise LoginRefusedError("You are not admitted to this hub now. Ask its keeper.")
        scopes = tuple(
            scope for scope in request.scopes if scope != ORDER_SCOPE or caller.role is Role.KEEPER
        )
        consent = ClientConsent(
            msgspec.structs.replace(request, scopes=scopes),
            member.subject,
            secrets.token_urlsafe(18),
            self._clock() + LOGIN_SECONDS,
        )
        return consent, caller, seal_value(self._seal, _CONSENT, consent)

    async def set_password(self, code: str, password: str) -> None:
        """Set the password of somebody who was invited.

        Raises:
            LoginRefusedError: Too many do so now.
            ConfigError: The password cannot be used.
            UnknownNameError: The code is not, or no longer, good.
            StoreError: It cannot be written.
        """
        if not self._passwords.take():
            raise LoginRefusedError("Too many people are logging in. Wait a minute, and try again.")
        async with self._at_once:
            await asyncio.to_thread(self.accounts.accept, code, password)

    def decide(self, text: str, *, agrees: bool) -> str:
        """Return the address by which the client learns how its person has decided.

        Raises:
            OAuthError: They were not asked, or too long ago.
        """
        consent = open_value(self._seal, _CONSENT, text, ClientConsent)
        if consent is None or consent.expires < self._clock():
            raise _outdated()
        request = consent.request
        if not agrees:
            text = "the person did not agree"
            return self._answer(
                request.redirect, request.state, error="access_denied", error_description=text
            )
        now = self._clock()
        code = AuthorizationCode(
            consent.grant,
            consent.subject,
            digest(request.client),
            request.client_name,
            request.redirect,
            request.challenge,
            request.resource,
            request.scopes,
            now,
            now + CODE_SECONDS,
        )
        log.info("a member let a client act for them", extra={"client": request.client_name})
        return self._answer(
            request.redirect, request.state, code=seal_value(self._seal, _CODE, code)
        )

    def _answer(self, redirect: str, state: str | None, **words: str) -> str:
        """Return the address to which a browser is sent back (RFC 9207: with the issuer)."""
        answer = {**words, "iss": self.issuer.url}
        if state is not None:
            answer["state"] = state
        parts = urlsplit(redirect)
        query = f"{parts.query}&{urlencode(answer)}" if parts.query else urlencode(answer)
        return urlunsplit(parts._replace(query=query))

    # The client, without the person.

    async def give_tokens(self, form: Form) -> TokenAnswer:
        """Give a client tokens for a code, or for a refresh token.

        Raises:
            OAuthError: It gets none.
            StoreError: What is kept cannot be read or written.
        """
        kind = single(form, "grant_type")
        if kind == "authorization_code":
            return await self._redeem(form)
        if kind == "refresh_token":
            return await self._renew(form)
        raise OAuthError("unsupported_grant_type", "this hub takes codes and refresh tokens")

    async def _redeem(self, form: Form) -> TokenAnswer:
        code = open_value(self._seal, _CODE, single(form, "code"), AuthorizationCode)
        if code is None:
            raise _invalid("the code is none of this hub")
        if code.grant in await asyncio.to_thread(self.store.read):
            # Whoever brings it now: somebody has a code that is not theirs.
            await self.end(code.grant, "its code was used twice")
            raise _invalid("the code was used before")
        self._check_code(code, form)
        member = await asyncio.to_thread(self._person, code.subject, code.agreed_at)
        if member is None:
            raise _invalid("the person is let in no longer")
        authorization = ClientAuthorization(
            code.subject,
            code.client,
            code.client_name,
            host_of(code.redirect),
            code.resource,
            code.scopes,
            code.agreed_at,
            self._clock(),
            self._clock() + IDLE_SECONDS,
            "",
        )
        try:
            refresh = await asyncio.to_thread(self.store.begin, code.grant, authorization)
        except SpentError as error:
            self._mark_ended(code.grant)
            raise _invalid("the code was used before") from error
        except ConfigError as error:
            raise OAuthError("temporarily_unavailable", str(error), 503) from error
        return self._issue(code.grant, authorization, member, refresh, code.scopes)

    def _check_code(self, code: AuthorizationCode, form: Form) -> None:
        """See that whoever brings a code is the client that it was made for."""
        if code.expires < self._clock():
            raise _invalid("the code has expired")
        if not is_same(code.client, digest(single(form, "client_id"))):
            raise _invalid("the code is another client's")
        if not is_same(code.redirect, single(form, "redirect_uri")):
            raise _invalid("the code was sent to another address")
        verifier = single(form, "code_verifier")
        if not _VERIFIER.fullmatch(verifier) or not is_same(code.challenge, challenge_of(verifier)):
            raise _invalid("the PKCE verifier is not that of the code")
        if self._resource(form) not in ("", code.resource):
            raise OAuthError("invalid_target", f"the code is for {code.resource}")

    async def _renew(self, form: Form) -> TokenAnswer:
        token, client = single(form, "refresh_token"), digest(single(form, "client_id"))
        wanted, resource = single(form, "scope").split(), self._resource(form)
        try:
            renewed = await asyncio.to_thread(self.store.renew, token, client)
        except SpentError as error:
            self._mark_ended(token.partition(".")[0])
            log.warning("a refresh token came twice; its login has ended")
            raise _invalid("the refresh token was used before; log in again") from error
        if renewed is None:
            raise _invalid("the refresh token is not, or no longer, good")
        grant, authorization, refresh = renewed
        member = await asyncio.to_thread(
            self._person, authorization.subject, authorization.began_at
        )
        if member is None:
            await self.end(grant, "the person is let in no longer")
            raise _invalid("the person is let in no longer")
        if resource not in ("", authorization.resource):
            raise OAuthError("invalid_target", f"the login is for {authorization.resource}")
        scopes = tuple(s for s in authorization.scopes if not wanted or s in wanted)
        return self._issue(grant, authorization, member, refresh, scopes)

    def _person(self, subject: str, since: float) -> Member | None:
        """Return the member who agreed at some time, unless they did so in vain. It blocks."""
        account = self.accounts.of_subject(subject)
        if account is None or account.password_at > since:
            return None
        member = self.accounts.member(account)
        return None if member is None or member.disabled else member

    def _issue(
        self,
        grant: str,
        authorization: ClientAuthorization,
        member: Member,
        refresh: str,
        scopes: tuple[str, ...],
    ) -> TokenAnswer:
        now = int(self._clock())
        claims = {
            "iss": self.issuer.url,
            "sub": member.subject,
            "aud": authorization.resource,
            "iat": now,
            "exp": now + int(ACCESS_SECONDS),
            "jti": secrets.token_urlsafe(12),
            "scope": " ".join(scopes),
            "email": member.email,
            "name": member.name,
            "groups": list(member.groups),
            "toolyard_grant": grant,
        }
        access = self.issuer.sign(claims)
        return TokenAnswer(access, refresh, int(ACCESS_SECONDS), " ".join(scopes))

    async def revoke(self, form: Form) -> None:
        """End what a token came of, if the client that it was made for says so (RFC 7009).

        Raises:
            OAuthError: The request cannot be read.
            StoreError: It cannot be written.
        """
        token, client = single(form, "token"), digest(single(form, "client_id"))
        grant = token.partition(".")[0]
        if token.startswith("eyJ"):
            try:
                verified = verify_token(token.encode(), self.issuer, "groups", self._clock())
            except InvalidTokenError:
                return
            grant = verified.grant
            secret = ""
        else:
            secret = token.partition(".")[2]
        authorization = (await asyncio.to_thread(self.store.read)).get(grant)
        if authorization is None or not is_same(authorization.client, client):
            return
        if secret and not is_same(authorization.refresh, digest(secret)):
            return
        await self.end(grant, "its client has logged out")

    def is_good(self, authorization: ClientAuthorization) -> bool:
        """Tell whether a client can still fetch tokens by an authorization."""
        return authorization.is_alive and authorization.expires_at >= self._clock()

    def member_of(self, authorization: ClientAuthorization) -> str:
        """Return the key of the member for whom a client acts."""
        return f"{self.issuer.url}#{authorization.subject}"

    async def end(self, grant: str, why: str) -> None:
        """End an authorization, here at once, and at other replicas as soon as they hear of it.

        Raises:
            StoreError: It cannot be written.
        """
        await asyncio.to_thread(self.store.end, grant, why)
        self._mark_ended(grant)

    def _mark_ended(self, grant: str) -> None:
        self.take_ended(self.issuer.ended | {grant})

    def take_ended(self, grants: frozenset[str]) -> None:
        """Let nobody in from now on by a token that came of these logins."""
        self.issuer.ended = grants
        self._identities.review()


def read_form(text: str) -> dict[str, list[str]]:
    """Read fields as a form or an address carries them.

    Raises:
        OAuthError: They cannot be read.
    """
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS, errors="strict")
    except ValueError as error:
        raise OAuthError("invalid_request", "the fields cannot be read") from error


def single(form: Form, name: str) -> str:
    """Return a field that stands there once, or is empty.

    Raises:
        OAuthError: It stands there several times.
    """
    values = form.get(name, [])
    if len(values) > 1:
        raise OAuthError("invalid_request", f"{name} is there more than once")
    return values[0] if values else ""


def _invalid(text: str) -> OAuthError:
    return OAuthError("invalid_grant", text)


def _outdated() -> OAuthError:
    return OAuthError("invalid_request", "this page is too old; begin again in your client")
