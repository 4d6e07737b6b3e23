"""Decides who a token of the issuer lets in, and tells everybody else how to get one.

The way of a call costs one lookup: a token is verified once and kept by its digest until it
expires, and whoever came to the MCP door is known by their header for a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Caller, TurnedAway, beyond_role
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.members.directory import USE_SECONDS, MemberDirectory
from toolyard.features.members.issuer import TokenIssuer
from toolyard.features.members.model import Person
from toolyard.features.members.verifying import (
    InvalidTokenError,
    UnknownKeyError,
    VerifiedToken,
    verify_token,
)

TOKENS: Final = 10_000
"""Verified tokens that are kept; of more, the oldest are verified again."""
RECENT: Final = 1_000
"""Headers of the last callers, whose tokens are not even hashed again; each has up to 16 KiB."""
_TAIL: Final = slice(-32, None)
"""The part of a header by which it is looked up, the end of its signature: to hash all of it would
cost a call more than all else that it costs to know a member again."""
ORDER_SCOPE: Final = "toolyard:order"
"""The scope by which a keeper lets a client order, and not just use tools."""
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
OWN_SCOPE: Final = "toolyard:own"
"""The scope by which a member lets a client see and change what is theirs: with a token that was
made for tools alone, no other token can be made."""
MCP: Final = "/mcp"
_PLAIN_PATH: Final = re.compile(r"/mcp(/[A-Za-z0-9._~%@-]+)*")


class ResourceMetadata(Struct, frozen=True, omit_defaults=True):
    """What a client has to know of the hub as a protected resource (RFC 9728)."""

    resource: str
    authorization_servers: list[str]
    bearer_methods_supported: list[str]
    resource_name: str
    scopes_supported: list[str] = []


@dataclass(frozen=True, slots=True)
class IdentityRules:
    """What a token must have."""

    resource: str
    """The address of the hub as clients know it, without a path."""
    audiences: frozenset[str] = frozenset()
    """Other names of the hub in tokens."""
    scopes: tuple[str, ...] = ()
    """The scopes that every token must have."""
    groups_claim: str = "groups"


class _Admitted(NamedTuple):
    """The caller who was let in; it holds until a time, and a change of members."""

    bearer: bytes
    caller: Caller
    until: float
    revision: int


@dataclass(slots=True)
class _Proven:
    """A verified token, and the paths that it is for."""

    token: VerifiedToken
    paths: tuple[str, ...]
    """It is good there and below; the empty one is the whole hub."""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """Somebody whose token lets them in, and the time at which it ends."""

    person: Person
    expires: float


class Identities:
    """The people who come in by their own name; it lives on the loop of the doors."""

    def __init__(
        self,
        issuer: TokenIssuer,
        directory: MemberDirectory,
        rules: IdentityRules,
        clock: Callable[[], float],
    ) -> None:
        self.issuer = issuer
        self.changed = asyncio.Event()
        """Set whenever `problems` may be others."""
        self._directory = directory
        self._rules = rules
        self._clock = clock
        self._proven: dict[bytes, _Proven] = {}
        self._recent: dict[bytes, _Admitted] = {}
        """By the end of the header: a client goes on calling, and its next call is not judged
        anew."""
        self._complaint = "", ""
        """The reason why the last token was refused that the issuer had signed, and a hint."""
        whole = {rules.resource, f"{rules.resource}/", f"{rules.resource}{MCP}"}
        self._whole = frozenset(whole | rules.audiences)

    # Coming in.

    def recognise(self, token: bytes, path: str) -> Caller | TurnedAway | None:
        """Return whom a token lets in at a path; None if the issuer has to be asked first."""
        digest, now = hashlib.sha256(token).digest(), self._clock()
        proven = self._proven.get(digest)
        if proven is None or proven.token.expires <= now:
            try:
                proven = self._prove(token, digest)
            except UnknownKeyError as error:
                return None if self.issuer.may_ask else self._refuse_unknown(error, path)
            except InvalidTokenError as error:
                return self._refuse(error, path)
        return self._admit(proven, path)

    def recall(self, bearer: bytes) -> Caller | None:
        """Return who came to the MCP door with the same header a while ago, if that still holds."""
        last = self._recent.get(bearer[_TAIL])
        if last is None or last.bearer != bearer:
            return None
        is_valid = last.revision == self._directory.revision and self._clock() < last.until
        return last.caller if is_valid else None

    def remember(self, bearer: bytes, caller: Caller) -> None:
        """Know a caller again by the header they came to the MCP door with."""
        self._recent.pop(bearer[_TAIL], None)
        while len(self._recent) >= RECENT:
            del self._recent[next(iter(self._recent))]
        until = min(caller.expires, self._clock() + USE_SECONDS)
        admitted = _Admitted(bearer, caller, until, self._directory.revision)
        self._recent[bearer[_TAIL]] = admitted

    async def log_in(self, token: bytes) -> LoggedIn | TurnedAway:
        """Return whom a token lets in at the whole hub; the issuer is asked if need be."""
        judged = self.recognise(token, MCP)
        if judged is None:
            await self.learn()
            judged = self.recognise(token, MCP)
        if judged is None:
            return TurnedAway(503, "the login service does not answer; try again in a minute")
        if isinstance(judged, TurnedAway):
            return judged
        proven = self._proven[hashlib.sha256(token).digest()].token
        return LoggedIn(proven.person, proven.expires)

    def read_identity(self, id_token: bytes, client: str) -> VerifiedToken | None:
        """Return what the issuer's word to a client tells; None if it is not good."""
        try:
            told = verify_token(id_token, self.issuer, self._rules.groups_claim, self._clock())
        except InvalidTokenError:
            return None
        return told if client in told.audiences else None

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that every token must have."""
        return self._rules.scopes

    async def learn(self) -> None:
        """Ask the issuer for its keys, unless that was done a moment ago."""
        before = self.issuer.trouble
        await self.issuer.ask()
        if self.issuer.trouble != before:
            self.changed.set()

    def _prove(self, token: bytes, digest: bytes) -> _Proven:
        self._proven.pop(digest, None)
        verified = verify_token(token, self.issuer, self._rules.groups_claim, self._clock())
        paths = tuple(self._paths(verified.audiences))
        if not paths:
            text = f"the token is for another service; ask for one for {self._rules.resource}{MCP}"
            resource = f"{self._rules.resource}{MCP}"
            hint = f"have the issuer write {resource} into 'aud', or set TOOLYARD_AUDIENCE"
            raise InvalidTokenError(text, hint)
        self._judge_groups(verified)
        proven = self._proven[digest] = _Proven(verified, paths)
        while len(self._proven) > TOKENS:
            del self._proven[next(iter(self._proven))]
        return proven

    def _judge_groups(self, token: VerifiedToken, *, is_admitted: bool = True) -> None:
        """Have a keeper know if the groups of a token cannot be read, or are sorely missed."""
        claim, text = self._rules.groups_claim, ""
        if token.has_odd_groups:
            text = f"its claim {claim!r} is no list of group names, so it counts as none"
        elif token.has_no_groups and not is_admitted:
            text = f"it has no claim {claim!r}, and its person is not admitted without"
        hint = "have the issuer write a list of names into it, or set TOOLYARD_GROUPS_CLAIM"
        self._complain(text, hint if text else "")

    def review(self) -> None:
        """Judge every token anew when it next comes: logins have ended."""
        self._recent.clear()

    def is_resource(self, address: str) -> bool:
        """Tell whether tokens for an address let anybody in at this hub."""
        return any(True for _ in self._paths((address,)))

    def _paths(self, audiences: Iterable[str]) -> Iterable[str]:
        """The paths that a token is for."""
        below = f"{self._rules.resource}{MCP}/"
        for audience in audiences:
            if audience in self._whole:
                yield ""
            elif audience.startswith(below):
                yield audience.removeprefix(self._rules.resource).rstrip("/")

    def _admit(self, proven: _Proven, path: str) -> Caller | TurnedAway:
        token, person = proven.token, proven.token.person
        if token.grant and self.issuer.is_ended(token.grant):
            return self._refuse(InvalidTokenError("the login was revoked; log in again"), path)
        if not any(path == top or path.startswith(f"{top}/") for top in proven.paths):
            return TurnedAway(403, "the token is for another part of this hub")
        caller = self._directory.recognise(person)
        if caller is None:
            self._judge_groups(token, is_admitted=False)
            label = person.email or person.subject
            return TurnedAway(403, f"{label} is not admitted to this hub; ask its keeper")
        if not is_mcp(path) and (text := beyond_role(caller, path)):
            return TurnedAway(403, text)
        needed = (*self._rules.scopes, *_scopes_beside_mcp(path, token.scopes))
        if not token.scopes.issuperset(needed):
            return self._step_up(needed, path)
        self._directory.used(person.key)
        return replace(caller, expires=token.expires)

    def narrow(self, token: Caller) -> Caller | TurnedAway:
        """Return the member who comes in with a token that they made here."""
        caller = self._directory.narrow(token)
        if caller is None:
            return TurnedAway(
                401, "the member whose token this is, is not let in any more", "Bearer"
            )
        self._directory.used(token.member)
        return caller

    # Turning away.

    def challenge(self, path: str, *details: tuple[str, str]) -> str:
        """Return the challenge of a path: where a client learns how to get a token."""
        beside = path if _PLAIN_PATH.fullmatch(path) else ""
        pairs = [*details, ("resource_metadata", f"{self._rules.resource}{WELL_KNOWN}{beside}")]
        if self._rules.scopes and not any(name == "scope" for name, _ in details):
            pairs.append(("scope", " ".join(self._rules.scopes)))
        return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in pairs)

    def _refuse(self, error: InvalidTokenError, path: str) -> TurnedAway:
        if error.hint:
            self._complain(str(error), error.hint)
        details = ("error", "invalid_token"), ("error_description", str(error))
        return TurnedAway(401, str(error), self.challenge(path, *details))

    def _refuse_unknown(self, error: InvalidTokenError, path: str) -> TurnedAway:
        if self.issuer.trouble:
            return TurnedAway(503, "the login service does not answer; try again in a minute")
        return self._refuse(error, path)

    def _step_up(self, scopes: Iterable[str], path: str) -> TurnedAway:
        words = " ".join(scopes)
        details = ("error", "insufficient_scope"), ("scope", words)
        text = f"the token lacks a scope; this needs: {words}"
        return TurnedAway(403, text, self.challenge(path, *details))

    def _complain(self, text: str, hint: str) -> None:
        if (text, hint) != self._complaint:
            self._complaint = text, hint
            self.changed.set()

    # Telling.

    def describe(self, path: str) -> bytes:
        """Return the metadata of the hub, or of a path, as a protected resource."""
        rules = self._rules
        metadata = ResourceMetadata(
            rules.resource + path, [self.issuer.url], ["header"], "Toolyard", list(rules.scopes)
        )
        return msgspec.json.encode(metadata)

    async def describe_issuer(self) -> bytes:
        """Return the metadata of the issuer; empty if they cannot be had."""
        if not self.issuer.metadata:
            await self.learn()
        return self.issuer.metadata

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that a keeper should know of."""
        url = self.issuer.url
        problems = []
        if self.issuer.trouble:
            text = f"the issuer {url} cannot be asked: {self.issuer.trouble}"
            hint = (
                "see that this hub reaches it, and check TOOLYARD_ISSUER; until it answers, only"
                " tokens that its known keys signed let people in"
            )
            problems.append(Problem(ProblemCode.ISSUER_AWAY, text, hint, url))
        complaint, hint = self._complaint
        if complaint:
            text = f"a token that {url} signed was refused, or not understood: {complaint}"
            problems.append(Problem(ProblemCode.ISSUER_TOKENS, text, hint, url))
        return tuple(problems)


def is_mcp(path: str) -> bool:
    """Tell whether a path is one of the MCP door."""
    return path == MCP or path.startswith(f"{MCP}/")


def _scopes_beside_mcp(path: str, scopes: frozenset[str]) -> tuple[str, ...]:
    """The scopes that a path needs because it is not one of the MCP door."""
    if is_mcp(path) or (path.startswith(OWN_PATHS) and ORDER_SCOPE in scopes):
        return ()
    return (OWN_SCOPE,) if path.startswith(OWN_PATHS) else (ORDER_SCOPE,)


def _quotable(text: str) -> str:
    """Return a text that can stand between quotes in a header."""
    return "".join(char if " " <= char <= "~" and char not in '"\\' else "'" for char in text)
