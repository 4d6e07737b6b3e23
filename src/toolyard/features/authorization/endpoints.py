"""The addresses of the authorization server: pages for people, and answers for clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from toolyard.core.caller import Caller
from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.open_pages import OpenPage, PageAnswer, PageRequest
from toolyard.features.authorization import forms
from toolyard.features.authorization.model import ClientConsent, OAuthError
from toolyard.features.authorization.preview import PathViews, ToolPreview, preview
from toolyard.features.authorization.server import (
    AuthorizationServer,
    Form,
    LoginRefusedError,
    RedirectedError,
    read_form,
    single,
)
from toolyard.features.members.identity import MCP
from toolyard.features.members.own_issuer import (
    AUTHORIZE,
    CONSENT,
    INVITATION,
    KEY_SET,
    REGISTER,
    REVOKE,
    TOKEN,
)

log = logging.getLogger(__name__)

FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
_AWAY: Final = "The hub cannot read what it keeps now. Try again in a minute."
Serve = Callable[[PageRequest], Awaitable[PageAnswer]]


def make_pages(server: AuthorizationServer, views: Callable[[], PathViews]) -> Sequence[OpenPage]:
    """The pages of an authorization server; the views are there once the doors are open."""
    people, clients = _PeoplePages(server, views), _ClientPages(server)
    return (
        OpenPage(AUTHORIZE, ("GET", "POST"), _for_people(people.authorize)),
        OpenPage(CONSENT, ("POST",), _for_people(people.decide)),
        OpenPage(INVITATION, ("GET", "POST"), _for_people(people.accept)),
        OpenPage(TOKEN, ("POST",), _for_clients(clients.token)),
        OpenPage(REGISTER, ("POST",), _for_clients(clients.register)),
        OpenPage(REVOKE, ("POST",), _for_clients(clients.revoke)),
        OpenPage(KEY_SET, ("GET",), _for_clients(clients.keys)),
    )


class _PeoplePages:
    """The pages that a person sees."""

    def __init__(self, server: AuthorizationServer, views: Callable[[], PathViews]) -> None:
        self._server, self._views = server, views

    async def authorize(self, request: PageRequest) -> PageAnswer:
        """Ask who is there, and then whether they agree."""
        if request.method == "POST":
            return await self._log_in(_form(request))
        try:
            wish, sealed = await self._server.begin(request.query)
        except RedirectedError as error:
            return PageAnswer(302, headers={"location": error.address, **forms.headers()})
        return _html(forms.login_page(wish, sealed))

    async def _log_in(self, form: Form) -> PageAnswer:
        sealed, email = single(form, "request"), single(form, "email")[:254]
        wish = self._server.reopen(sealed)
        try:
            consent, caller, agreed = await self._server.log_in(
                wish, email, single(form, "password")
            )
        except LoginRefusedError as error:
            return _html(forms.login_page(wish, sealed, str(error), email), 403)
        page = forms.consent_page(consent, caller.name, self._preview(consent, caller), agreed)
        return _html(page, redirect=wish.redirect)

    def _preview(self, consent: ClientConsent, caller: Caller) -> ToolPreview:
        path = consent.request.resource.removeprefix(self._server.issuer.url).rstrip("/")
        path = path if path.startswith(MCP) else MCP
        return preview(self._views(), path, caller)

    async def decide(self, request: PageRequest) -> PageAnswer:
        """Take a person's decision back to the client."""
        form = _form(request)
        agrees = single(form, "decision") == "allow"
        address = self._server.decide(single(form, "consent"), agrees=agrees)
        return PageAnswer(303, headers={"location": address, **forms.headers()})

    async def accept(self, request: PageRequest) -> PageAnswer:
        """Let somebody who was invited set a password."""
        form = read_form(request.query) if request.method == "GET" else _form(request)
        code, accounts = single(form, "code"), self._server.accounts
        try:
            account = await asyncio.to_thread(accounts.invited, code)
            if request.method == "GET":
                return _html(forms.invitation_page(code, account.email))
            password = single(form, "password")
            if password != single(form, "again"):
                text = "The two passwords differ."
                return _html(forms.invitation_page(code, account.email, text), 400)
            await self._server.set_password(code, password)
        except ConfigError as error:
            text = f"{str(error).capitalize()}: {error.hint}."
            return _html(forms.invitation_page(code, account.email, text), 400)
        except UnknownNameError as error:
            text = f"{str(error).capitalize()}. {error.hint.capitalize()}."
            return _html(forms.message_page("This link does not work", text), 404)
        except LoginRefusedError as error:
            return _html(forms.invitation_page(code, account.email, str(error)), 429)
        text = f"Log in as {account.email} wherever a client asks you to: {self._server.issuer.url}"
        return _html(forms.message_page("The password is set", text))


class _ClientPages:
    """The addresses that clients ask."""

    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server

    async def token(self, request: PageRequest) -> PageAnswer:
        """Give tokens."""
        answer = await self._server.give_tokens(_form(request))
        return PageAnswer(200, msgspec.json.encode(answer), {**_JSON, "pragma": "no-cache"})

    async def register(self, request: PageRequest) -> PageAnswer:
        """Register a client."""
        registration = self._server.clients.register(request.body)
        return PageAnswer(201, msgspec.json.encode(registration), _JSON)

    async def revoke(self, request: PageRequest) -> PageAnswer:
        """End a login; the answer is the same whatever the token was."""
        await self._server.revoke(_form(request))
        return PageAnswer(200, b"", _JSON)

    async def keys(self, request: PageRequest) -> PageAnswer:
        """Show the public keys."""
        return PageAnswer(200, self._server.issuer.describe_keys(), _JSON)


def _for_people(serve: Serve) -> Serve:
    async def guarded(request: PageRequest) -> PageAnswer:
        try:
            return await serve(request)
        except OAuthError as error:
            text = f"{str(error)[:1].upper()}{str(error)[1:]}."
            return _html(forms.message_page("This login cannot go on", text), 400)
        except StoreError as error:
            log.warning("a login cannot go on", extra={"why": str(error)})
            return _html(forms.message_page("This login cannot go on", _AWAY), 503)

    return guarded


def _for_clients(serve: Serve) -> Serve:
    async def guarded(request: PageRequest) -> PageAnswer:
        try:
            return await serve(request)
        except OAuthError as error:
            body = {"error": error.code, "error_description": _ascii(str(error))}
            return PageAnswer(error.status, msgspec.json.encode(body), _JSON)
        except StoreError as error:
            log.warning("a client gets no tokens", extra={"why": str(error)})
            body = {"error": "temporarily_unavailable", "error_description": _AWAY}
            return PageAnswer(503, msgspec.json.encode(body), _JSON)

    return guarded


def _form(request: PageRequest) -> Form:
    if request.content_type.partition(";")[0].strip().lower() != FORM:
        raise OAuthError("invalid_request", f"send {FORM}")
    try:
        return read_form(request.body.decode("ascii"))
    except UnicodeDecodeError as error:
        raise OAuthError("invalid_request", "the form is not encoded") from error


def _html(page: str, status: int = 200, redirect: str = "") -> PageAnswer:
    return PageAnswer(status, page.encode(), forms.headers(redirect))


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace('"', "'").replace("\\", "/")
