"""The page lets people in by their own name, as a client of the issuer.

Nothing is kept here between two steps: a login under way is in the `state` that the issuer sends
back, and a page that was let in is in its key. Both are sealed, so any replica takes them up.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from toolyard.core.caller import Caller, TurnedAway, beyond_role
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.identity import Identities, LoggedIn
from toolyard.features.members.model import Person
from toolyard.features.members.page_client import (
    DESCRIPTION,
    GivenTokens,
    LoginEndpoints,
    PageClient,
    TokenRequests,
    read_endpoints,
)
from toolyard.wire.seal import Seal, room_in

KEY_PREFIX: Final = b"typ_"
"""The beginning of every key of a page on which somebody has logged in."""
LOGIN_SECONDS: Final = 900.0
"""The time that somebody has to log in at the issuer."""
TIE_SHORTEST: Final = 32
TIE_LONGEST: Final = 128
STATE_LONGEST: Final = 2048
KEY_LONGEST: Final = 4096
RENEWAL_LONGEST: Final = 8192
"""Characters of the sealed texts; a renewal carries what the issuer gave for it."""
CODE_LONGEST: Final = 4096
_STATE: Final = "page login"
_KEY: Final = "page key"
_RENEWAL: Final = "page renewal"
_OVER: Final = TurnedAway(403, "this login is over, or was begun in another tab; log in again")
_ENDED: Final = "your login has ended; log in again"
Sealed = TypeVar("Sealed", bound=Struct)


class _Begun(Struct, frozen=True, array_like=True):
    """A login under way."""

    verifier: str
    client: PageClient
    until: float


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
    ) -> None:
        self._identities = identities
        self._directory = directory
        self._requests = requests
        self._seal = seal
        self._clock = clock

    # Coming in.

    async def begin(self, tie: str) -> LoginPlace | TurnedAway:
        """Begin a login of the tab that has a secret, its tie: no other tab can finish it."""
        if not TIE_SHORTEST <= len(tie) <= TIE_LONGEST:
            return TurnedAway(400, "a login needs a tie of 32 to 128 characters")
        login = await self._find_endpoints()
        if isinstance(login, TurnedAway):
            return login
        client = await self._requests.find_client(login)
        if isinstance(client, TurnedAway):
            return client
        verifier = secrets.token_urlsafe(48)
        state = self._close(_STATE, tie, self._begun(verifier, client), STATE_LONGEST)
        if not state:
            return TurnedAway(502, "the name of this page at the login service is too long")
        scopes = self._identities.scopes
        url = self._requests.begin(login, client, state, verifier, scopes)
        return LoginPlace(url, self._requests.home)

    def _begun(self, verifier: str, client: PageClient) -> _Begun:
        return _Begun(verifier, client, self._clock() + LOGIN_SECONDS)

    async def finish(self, brought: Mapping[str, str], tie: str) -> PageKeys | TurnedAway:
        """Let somebody in for what the issuer sent back with the browser."""
        begun = self._open(_STATE, tie, brought.get("state", ""), _Begun, STATE_LONGEST)
        if begun is None or begun.until < self._clock():
            return _OVER
        login = await self._find_endpoints()
        if isinstance(login, TurnedAway):
            return login
        if refused := self._judge(brought, login):
            return refused
        code = brought.get("code", "")
        tokens = await self._requests.exchange(login, begun.client, code, begun.verifier)
        return await self._let_in(tokens, begun.client)

    def _judge(self, brought: Mapping[str, str], login: LoginEndpoints) -> TurnedAway | None:
        """Refuse what comes from another issuer, or says no."""
        must_tell = login.authorization_response_iss_parameter_supported
        if brought.get("iss", "" if must_tell else self._issuer) != self._issuer:
            return TurnedAway(403, "this answer is not from the login service of this hub")
        if "error" in brought:
            return TurnedAway(403, "the login service refused the login, or you cancelled it")
        if not 0 < len(brought.get("code", "")) <= CODE_LONGEST:
            return _OVER
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
        return await self._let_in(tokens, kept.client, kept.member)

    async def _let_in(
        self, tokens: GivenTokens | TurnedAway, client: PageClient, expected: str = ""
    ) -> PageKeys | TurnedAway:
        if isinstance(tokens, TurnedAway):
            return tokens
        login = await self._identities.log_in(tokens.access_token.encode())
        if isinstance(login, TurnedAway):
            return TurnedAway(503 if login.status == 503 else 403, login.text)
        member = login.person.key
        if expected and member != expected:
            return TurnedAway(403, _ENDED)
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
        return self._requests.describe(client_id=self._requests.home + DESCRIPTION)

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
