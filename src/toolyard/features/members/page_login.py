"""The page lets people in by their own name, as a client of the issuer.

Nothing is kept here between two steps: a login under way is in the `state` that the issuer sends
back, and a page that was let in is in its key. Both are sealed, so any replica takes them up.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Caller, TurnedAway, beyond_role
from toolyard.core.open_pages import LINK_STATE, TIE_LONGEST, TIE_SHORTEST
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.identity import Identities, LoggedIn
from toolyard.features.members.login_keeping import LoginKeeper
from toolyard.features.members.model import Person
from toolyard.features.members.page_client import (
    DESCRIPTION,
    GivenTokens,
    LoginEndpoints,
    PageClient,
    TokenRequests,
    does_exchange,
    read_endpoints,
)
from toolyard.wire.seal import Seal, room_in

KEY_PREFIX: Final = b"typ_"
"""The beginning of every key of a page on which somebody has logged in."""
LOGIN_SECONDS: Final = 900.0
"""The time that somebody has to log in at the issuer."""
STATE_LONGEST: Final = 2048
KEY_LONGEST: Final = 4096
RENEWAL_LONGEST: Final = 8192
"""Characters of the sealed texts; a renewal carries what the issuer gave for it."""
CODE_LONGEST: Final = 4096
_STATE: Final = "page login"
_LINK: Final = "link login"
_KEY: Final = "page key"
_RENEWAL: Final = "page renewal"
_OVER: Final = TurnedAway(403, "this login is over, or was begun in another tab; log in again")
_ELSEWHERE: Final = TurnedAway(
    403, "this login is over, or was begun in another browser; open the link again"
)
_ENDED: Final = "your login has ended; log in again"
Sealed = TypeVar("Sealed", bound=Struct)


class _Begun(Struct, frozen=True, array_like=True):
    """A login under way."""

    verifier: str
    client: PageClient
    until: float
    link: str = ""
    """The link whose visitor logs in; empty where a page is let in."""


class _Redeemed(NamedTuple):
    """A login that the issuer has confirmed."""

    begun: _Begun
    endpoints: LoginEndpoints
    tokens: GivenTokens


class LinkVisitor(Struct, frozen=True):
    """Somebody who has proven who they are, at the link that they opened."""

    member: str
    label: str
    """Their name for people."""
    link: str


class _PageKey(Struct, frozen=True, array_like=True):
    """A page that a member was let in on."""

    member: str
    began: float
    until: float
    person: Person | None = None
    """The person as their token told: a replica may be asked before it has heard of them. None for
    one whose groups are too many to be told."""


class _Renewal(Struct, frozen=True, array_like=True):
    """The means to renew such a key."""

    refresh_token: str
    client: PageClient
    member: str


class PageKeys(Struct, frozen=True):
    """The key of a page, and what renews it, if the issuer gave something for that."""

    key: str
    renewal: str = ""

    def __repr__(self) -> str:
        """Show nothing of them."""
        return "PageKeys(...)"


class LoginPlace(Struct, frozen=True):
    """The address at which somebody logs in, and the page to which they come back."""

    url: str
    home: str


class PageLogins:
    """Lets the page's visitors log in at the issuer, and knows them by their keys from then on."""

    def __init__(
        self,
        identities: Identities,
        directory: MemberDirectory,
        requests: TokenRequests,
        seal: Seal,
        clock: Callable[[], float],
        keeper: LoginKeeper | None = None,
    ) -> None:
        """Args: `keeper` keeps what members can be vouched for with at servers."""
        self._identities = identities
        self._keeper = keeper
        self._directory = directory
        self._requests = requests
        self._seal = seal
        self._clock = clock

    # Coming in.

    async def begin(self, tie: str) -> LoginPlace | TurnedAway:
        """Begin a login of the tab that has a secret, its tie: no other tab can finish it."""
        return await self._begin(_STATE, tie)

    async def begin_at_link(self, tie: str, link: str) -> LoginPlace | TurnedAway:
        """Begin a login by which the visitor of a link proves who they are.

        Only the browser that has the tie can finish it.
        """
        return await self._begin(_LINK, tie, link)

    async def _begin(self, purpose: str, tie: str, link: str = "") -> LoginPlace | TurnedAway:
        if not TIE_SHORTEST <= len(tie) <= TIE_LONGEST:
            return TurnedAway(400, "a login needs a tie of 32 to 128 characters")
        login = await self._find_endpoints()
        if isinstance(login, TurnedAway):
            return login
        client = await self._requests.find_client(login)
        if isinstance(client, TurnedAway):
            return client
        verifier = secrets.token_urlsafe(48)
        begun = _Begun(verifier, client, self._clock() + LOGIN_SECONDS, link)
        state = self._close(purpose, tie, begun, STATE_LONGEST)
        if not state:
            return TurnedAway(502, "the name of this page at the login service is too long")
        if link:
            state = LINK_STATE + state
        scopes = self._identities.scopes
        url = self._requests.begin(login, client, state, verifier, scopes, lasts=not link)
        return LoginPlace(url, self._requests.home)

    async def finish(self, brought: Mapping[str, str], tie: str) -> PageKeys | TurnedAway:
        """Let somebody in for what the issuer sent back with the browser."""
        begun = self._open(_STATE, tie, brought.get("state", ""), _Begun, STATE_LONGEST)
        redeemed = await self._redeem(begun, brought, _OVER)
        if isinstance(redeemed, TurnedAway):
            return redeemed
        return await self._let_in(redeemed.tokens, redeemed.begun.client, redeemed.endpoints)

    async def prove(self, brought: Mapping[str, str], tie: str) -> LinkVisitor | TurnedAway:
        """Tell who the visitor of a link is, by what the issuer sent back with the browser.

        Nothing that the issuer gave is kept.
        """
        state = brought.get("state", "").removeprefix(LINK_STATE)
        begun = self._open(_LINK, tie, state, _Begun, STATE_LONGEST) if tie else None
        redeemed = await self._redeem(begun, brought, _ELSEWHERE)
        if isinstance(redeemed, TurnedAway):
            return redeemed
        login = await self._identities.log_in(redeemed.tokens.access_token.encode())
        if isinstance(login, TurnedAway):
            return TurnedAway(503 if login.status == 503 else 403, login.text)
        person = login.person
        return LinkVisitor(person.key, person.email or person.subject, redeemed.begun.link)

    async def _redeem(
        self, begun: _Begun | None, brought: Mapping[str, str], over: TurnedAway
    ) -> _Redeemed | TurnedAway:
        """Get the tokens for what a browser brought back; `over` refuses what is of no login."""
        if begun is None or begun.until < self._clock():
            return over
        endpoints = await self._find_endpoints()
        if isinstance(endpoints, TurnedAway):
            return endpoints
        if refused := self._judge(brought, endpoints, over):
            return refused
        code = brought.get("code", "")
        tokens = await self._requests.exchange(endpoints, begun.client, code, begun.verifier)
        return tokens if isinstance(tokens, TurnedAway) else _Redeemed(begun, endpoints, tokens)

    def _judge(
        self, brought: Mapping[str, str], login: LoginEndpoints, over: TurnedAway
    ) -> TurnedAway | None:
        """Refuse what comes from another issuer, or says no."""
        must_tell = login.authorization_response_iss_parameter_supported
        if brought.get("iss", "" if must_tell else self._issuer) != self._issuer:
            return TurnedAway(403, "this answer is not from the login service of this hub")
        if "error" in brought:
            return TurnedAway(403, "the login service refused the login, or you cancelled it")
        if not 0 < len(brought.get("code", "")) <= CODE_LONGEST:
            return over
        return None

    async def renew(self, renewal: str) -> PageKeys | TurnedAway:
        """Give a new key for a page whose old one has ended, or is about to."""
        kept = self._open(_RENEWAL, "", renewal, _Renewal, RENEWAL_LONGEST)
        if kept is None or self._directory.caller(kept.member) is None:
            return TurnedAway(403, _ENDED)
        login = await self._find_endpoints()
        if isinstance(login, TurnedAway):
            return login
        tokens = await self._requests.refresh(login, kept.client, kept.refresh_token)
        if isinstance(tokens, TurnedAway):
            return TurnedAway(403, _ENDED) if tokens.status == 403 else tokens
        if not tokens.refresh_token:
            tokens = GivenTokens(tokens.access_token, kept.refresh_token)
        return await self._let_in(tokens, kept.client, login, kept.member)

    async def _let_in(
        self,
        tokens: GivenTokens,
        client: PageClient,
        endpoints: LoginEndpoints,
        expected: str = "",
    ) -> PageKeys | TurnedAway:
        login = await self._identities.log_in(tokens.access_token.encode())
        if isinstance(login, TurnedAway):
            return TurnedAway(503 if login.status == 503 else 403, login.text)
        member = login.person.key
        if expected and member != expected:
            return TurnedAway(403, _ENDED)
        if self._keeper is not None:
            await self._keeper.keep(member, tokens, client, endpoints.token_endpoint)
        kept = _Renewal(tokens.refresh_token, client, member)
        renewal = self._close(_RENEWAL, "", kept, RENEWAL_LONGEST) if tokens.refresh_token else ""
        return PageKeys(KEY_PREFIX.decode() + self._make_key(login), renewal)

    def _make_key(self, login: LoggedIn) -> str:
        page = _PageKey(login.person.key, self._clock(), login.expires, login.person)
        key = self._close(_KEY, "", page, KEY_LONGEST)
        return key or self._close(_KEY, "", msgspec.structs.replace(page, person=None), KEY_LONGEST)

    async def _find_endpoints(self) -> LoginEndpoints | TurnedAway:
        return read_endpoints(await self._identities.describe_issuer())

    @property
    def _issuer(self) -> str:
        return self._identities.issuer.url

    def describe_client(self) -> bytes:
        """Return the page's description of itself, for issuers that look for it."""
        exchanges = does_exchange(read_endpoints(self._identities.issuer.metadata))
        place = self._requests.home + DESCRIPTION
        return self._requests.describe(client_id=place, exchanges=exchanges)

    # Being known.

    def recognise(self, key: bytes, path: str) -> Caller | TurnedAway | None:
        """Return the member whom the key of a page lets in; None if it is no such key."""
        if not key.startswith(KEY_PREFIX):
            return None
        text = key[len(KEY_PREFIX) :].decode("latin-1")
        page = self._open(_KEY, "", text, _PageKey, KEY_LONGEST)
        if page is None or page.until <= self._clock():
            return self._refuse(_ENDED, path)
        caller = self._find_caller(page)
        if caller is None:
            return self._refuse("you are let in no longer; ask the keeper of this hub", path)
        if text := beyond_role(caller, path):
            return TurnedAway(403, text)
        self._directory.used(page.member)
        return caller

    def find_member(self, bearer: str) -> str:
        """Return the member whom the key of a page, or a token of the issuer, lets in.

        Empty if it lets nobody in who may see to their own things.
        """
        known = self.recognise(bearer.encode(), OWN_PATHS)
        if known is None:
            known = self._identities.recognise(bearer.encode(), OWN_PATHS)
        return known.member if isinstance(known, Caller) else ""

    def _find_caller(self, page: _PageKey) -> Caller | None:
        member = self._directory.get(page.member)
        if member is None and page.person is not None:
            return self._directory.recognise(page.person)
        is_gone = member is None or member.removed_at >= page.began
        return None if is_gone else self._directory.caller(page.member)

    def _refuse(self, text: str, path: str) -> TurnedAway:
        return TurnedAway(401, text, self._identities.challenge(path))

    # Sealing.

    def _close(self, purpose: str, owner: str, value: Struct, longest: int) -> str:
        """Seal a value; empty if it is too long for that."""
        data = msgspec.json.encode(value)
        return (
            self._seal.seal(purpose, owner, data, longest) if len(data) <= room_in(longest) else ""
        )

    def _open(
        self, purpose: str, owner: str, text: str, kind: type[Sealed], longest: int
    ) -> Sealed | None:
        data = self._seal.open(purpose, owner, text, longest)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError:  # by a hub of another version
            return None
