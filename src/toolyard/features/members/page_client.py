"""The page as an OAuth client of the issuer: its name there, where it sends people, and tokens.

Loaded only where somebody logs in.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from toolyard.core.caller import TurnedAway
from toolyard.features.members.issuer import is_trusted_address
from toolyard.wire.download import post

ANSWER_BYTES: Final = 256 * 1024
EXCHANGES: Final = 8
"""Requests for tokens under way at the same time: strangers must not have the hub send many."""
REGISTERED_SECONDS: Final = 12 * 3600.0
"""The time after which the page registers anew: an issuer may forget whom it does not know well."""
COMES_BACK: Final = "/ui/login"
"""The path of the page to which the issuer sends a browser back."""
DESCRIPTION: Final = "/ui/client.json"
"""The path at which the page describes itself to issuers that look for it there."""
OFFLINE: Final = "offline_access"
"""The scope by which issuers of OpenID give tokens that can be renewed."""
WELCOME_SCOPES: Final = ("openid", "profile", "email", "groups", OFFLINE)
"""The scopes that are asked for wherever the issuer has them."""
WITHOUT: Final = "none"
BY_HEADER: Final = "client_secret_basic"
BY_FORM: Final = "client_secret_post"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
"""The grant by which the issuer vouches for members at servers; it is for clients that named it."""
_METHOD: Final = "token_endpoint_auth_method"
_AWAY: Final = TurnedAway(503, "the login service does not answer; try again in a minute")
_FORM: Final = "application/x-www-form-urlencoded"
Post = Callable[[str, bytes, Mapping[str, str], int], tuple[int, bytes]]


class LoginEndpoints(Struct, frozen=True):
    """The part of an issuer's metadata by which somebody logs in."""

    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    scopes_supported: tuple[str, ...] = ()
    token_endpoint_auth_methods_supported: tuple[str, ...] = (BY_HEADER,)
    grant_types_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False


class PageClient(Struct, frozen=True):
    """The page as the issuer knows it."""

    client_id: str
    client_secret: str = ""
    method: str = msgspec.field(default=WITHOUT, name=_METHOD)
    """The way in which it proves who it is."""

    def __repr__(self) -> str:
        """Show its name alone."""
        return f"PageClient({self.client_id!r})"


class GivenTokens(Struct, frozen=True):
    """The tokens that an issuer gave."""

    access_token: str
    refresh_token: str = ""
    id_token: str = ""

    def __repr__(self) -> str:
        """Show nothing of them."""
        return "GivenTokens(...)"


class _ClientDescription(Struct, frozen=True, omit_defaults=True):
    """The page as it describes itself to an issuer."""

    client_name: str
    redirect_uris: list[str]
    grant_types: list[str]
    response_types: list[str]
    method: str = msgspec.field(name=_METHOD)
    client_uri: str
    client_id: str = ""


class TokenRequests:
    """Sends people to the issuer, and gets tokens for what they bring back."""

    def __init__(
        self,
        home: str,
        configured: PageClient | None,
        clock: Callable[[], float],
        send: Post = post,
        near: str = "",
    ) -> None:
        """Be the client of the page at `home`, by a name that was agreed on, or by its own.

        Args:
            near: The address of the same hub on this machine, if it is its own issuer: what others
                reach it at need not lead back to it from here.
        """
        self.home = home
        self._near = near
        self._configured = configured
        self._clock = clock
        self._send = send
        self._registered: PageClient | None = None
        self._registered_at = 0.0
        self._registering = asyncio.Lock()
        self._under_way = 0

    @property
    def comes_back(self) -> str:
        """The address to which the issuer sends a browser back."""
        return self.home + COMES_BACK

    def describe(
        self, method: str = WITHOUT, client_id: str = "", *, exchanges: bool = False
    ) -> bytes:
        """Return the page's description of itself."""
        grants = ["authorization_code", "refresh_token", *([EXCHANGE] if exchanges else [])]
        about = "Toolyard", [self.comes_back], grants, ["code"], method, self.home
        return msgspec.json.encode(_ClientDescription(*about, client_id=client_id))

    async def find_client(self, login: LoginEndpoints) -> PageClient | TurnedAway:
        """Return the page as the issuer knows it; it is registered there if need be."""
        methods = login.token_endpoint_auth_methods_supported
        if self._configured is not None:
            return _with_method(self._configured, methods)
        is_read = login.client_id_metadata_document_supported and not self._near
        if is_read and self.home.startswith("https:"):
            return PageClient(self.home + DESCRIPTION)
        if login.registration_endpoint:
            return await self._register(login)
        text = (
            f"this page is not known at the login service: register it there with the address "
            f"{self.comes_back}, and start the hub with TOOLYARD_PAGE_CLIENT=its client id"
        )
        return TurnedAway(501, text)

    async def _register(self, login: LoginEndpoints) -> PageClient | TurnedAway:
        async with self._registering:
            is_fresh = self._clock() - self._registered_at < REGISTERED_SECONDS
            if self._registered is not None and is_fresh:
                return self._registered
            client = await self._ask_for_name(login, exchanges=does_exchange(login))
            if isinstance(client, TurnedAway) and does_exchange(login):
                # It may not let just anybody exchange; to log in is what matters most.
                client = await self._ask_for_name(login, exchanges=False)
            if isinstance(client, PageClient):
                self._registered, self._registered_at = client, self._clock()
            return client

    async def _ask_for_name(
        self, login: LoginEndpoints, *, exchanges: bool
    ) -> PageClient | TurnedAway:
        method = _choose_method(login.token_endpoint_auth_methods_supported)
        description = self.describe(method, exchanges=exchanges)
        head = {"Content-Type": "application/json"}
        return _read_client(
            await self._post(login.registration_endpoint, description, head), method
        )

    def begin(
        self,
        login: LoginEndpoints,
        client: PageClient,
        state: str,
        verifier: str,
        scopes: Iterable[str],
        *,
        lasts: bool = True,
    ) -> str:
        """Return the address at which somebody logs in; one that lasts can be renewed."""
        digest = hashlib.sha256(verifier.encode()).digest()
        wanted = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": self.comes_back,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": f"{self.home}/mcp",
        }
        wished = (scope for scope in WELCOME_SCOPES if lasts or scope != OFFLINE)
        welcome = [scope for scope in wished if scope in login.scopes_supported]
        if scope := " ".join(dict.fromkeys((*welcome, *scopes))):
            wanted["scope"] = scope
        if OFFLINE in welcome:
            wanted["prompt"] = "consent"  # or it is not granted (OpenID Connect Core, section 11)
        beside = "&" if "?" in login.authorization_endpoint else "?"
        return f"{login.authorization_endpoint}{beside}{urlencode(wanted)}"

    async def exchange(
        self, login: LoginEndpoints, client: PageClient, code: str, verifier: str
    ) -> GivenTokens | TurnedAway:
        """Return the tokens for what a browser brought back."""
        wanted = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.comes_back,
            "code_verifier": verifier,
        }
        return await self._ask(login, client, wanted)

    async def refresh(
        self, login: LoginEndpoints, client: PageClient, refresh_token: str
    ) -> GivenTokens | TurnedAway:
        """Return new tokens for an old one."""
        wanted = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._ask(login, client, wanted)

    async def _ask(
        self, login: LoginEndpoints, client: PageClient, wanted: Mapping[str, str]
    ) -> GivenTokens | TurnedAway:
        form = {**wanted, "client_id": client.client_id, "resource": f"{self.home}/mcp"}
        head = {"Content-Type": _FORM}
        if client.method == BY_FORM:
            form["client_secret"] = client.client_secret
        elif client.client_secret:
            pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
            head["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        answer = await self._post(login.token_endpoint, urlencode(form).encode(), head)
        return _read_tokens(answer)

    async def _post(
        self, url: str, body: bytes, head: Mapping[str, str]
    ) -> tuple[int, bytes] | TurnedAway:
        if not is_trusted_address(url):
            return TurnedAway(502, "the login service names an address that is not https")
        if self._under_way >= EXCHANGES:
            return TurnedAway(503, "many people log in at this moment; try again")
        if self._near and url.startswith(f"{self.home}/"):
            url = self._near + url.removeprefix(self.home)
        self._under_way += 1
        try:
            return await asyncio.to_thread(self._send, url, body, head, ANSWER_BYTES)
        except OSError:
            return _AWAY
        finally:
            self._under_way -= 1


def read_endpoints(metadata: bytes) -> LoginEndpoints | TurnedAway:
    """Read where people log in; the issuer's metadata may be empty."""
    if not metadata:
        return _AWAY
    try:
        login = msgspec.json.decode(metadata, type=LoginEndpoints)
    except (msgspec.DecodeError, RecursionError):
        return TurnedAway(502, "the login service does not say where people log in")
    if not is_trusted_address(login.authorization_endpoint):
        return TurnedAway(502, "the login service names an address that is not https")
    return login


def does_exchange(login: LoginEndpoints | TurnedAway) -> bool:
    """Tell whether an issuer says that it exchanges tokens."""
    return isinstance(login, LoginEndpoints) and EXCHANGE in (login.grant_types_supported or ())


def _with_method(client: PageClient, methods: Iterable[str]) -> PageClient:
    """Return a client that proves itself as the issuer takes it."""
    if not client.client_secret:
        return client
    is_post = BY_FORM in methods and BY_HEADER not in methods
    method = BY_FORM if is_post else BY_HEADER
    return msgspec.structs.replace(client, method=method)


def _choose_method(methods: Iterable[str]) -> str:
    """The way to prove itself that the page registers for: with PKCE it needs no secret."""
    usable = (WITHOUT, BY_HEADER, BY_FORM)
    return next((method for method in usable if method in methods), WITHOUT)


def _read_client(answer: tuple[int, bytes] | TurnedAway, method: str) -> PageClient | TurnedAway:
    if isinstance(answer, TurnedAway):
        return answer
    status, body = answer
    if status not in (200, 201):
        text = f"the login service does not register this page (status {status})"
        return TurnedAway(502, f"{text}; register it there, and set TOOLYARD_PAGE_CLIENT")
    try:
        client = msgspec.json.decode(body, type=PageClient)
    except (msgspec.DecodeError, RecursionError):
        return TurnedAway(502, "the answer of the login service to a registration cannot be read")
    is_told = _METHOD.encode() in body
    return client if is_told else msgspec.structs.replace(client, method=method)


def _read_tokens(answer: tuple[int, bytes] | TurnedAway) -> GivenTokens | TurnedAway:
    if isinstance(answer, TurnedAway):
        return answer
    status, body = answer
    if status >= 500:
        return _AWAY
    try:
        return msgspec.json.decode(body, type=GivenTokens)
    except (msgspec.DecodeError, RecursionError):
        return TurnedAway(403, "the login service did not confirm this login; log in again")
