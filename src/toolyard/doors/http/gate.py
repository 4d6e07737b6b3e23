"""Decides who may speak at an HTTP door, before anything of the body is read.

Loopback is no boundary: any page in a browser can send requests to it. So Host
and Origin must be ours, and whoever acts must know the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from toolyard.core.caller import Caller, TurnedAway
from toolyard.doors.http.address import bracketed
from toolyard.doors.http.path_scope import LOCAL, MCP, WHOLE, read_scope

Pairs = list[tuple[bytes, bytes]]
FindMember = Callable[[bytes, str], Caller | TurnedAway | None]
"""Returns the member whom the key of a page lets in at a path; None if it is no such key."""

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
LOGGED_IN: Final = "/login/callback"
"""The path to which browsers come back from a login at a server, if the hub has a public address:
nothing is told there to whoever does not bring the secret of a login under way."""
LOGIN_FOR: Final = "/login/for/"
"""The path of pages on which members enter what a call of theirs lacks: whoever opens one has a
link that was made for them, and is good once."""
OPEN_PATHS: Final = frozenset({"/", "/health/live", "/open", LOGGED_IN})
"""The paths that need no token: one leads to the page, one says that it lives, two take a code."""
SHELL: Final = "/ui"
"""The page without what it shows: the same files for everybody, so that whoever has no key
is told how to get one."""
API: Final = "/api/v1/"
"""The paths that the key of a page opens; it opens no others."""
ANNOUNCED: Final = "/api/v1/announced"
"""The path that a token for discovery opens."""
WELL_KNOWN: Final = "/.well-known/"
"""The paths at which clients learn how people log in, if they do."""
SCHEMES: Final = ("http", "https")
_SCHEME: Final = b"Bearer "


CONTROL: Final = Caller("control")
PAGE: Final = Caller("page")
NOBODY: Final = Caller("")
VISITOR: Final = Caller("visitor")
"""Somebody at a page that a feature opens to everybody; what they send is small."""
UNPROVEN: Final = Caller("unproven")
"""Somebody whose token can be judged only after its issuer was asked."""
_JWT: Final = b"eyJ"
"""The beginning of every signed token: a brace and a quote in base64."""


class People(Protocol):
    """The people who come in by their own name."""

    def recognise(self, token: bytes, path: str) -> Caller | TurnedAway | None:
        """Return whom a token lets in at a path; None if the issuer has to be asked first."""
        ...

    def recall(self, bearer: bytes) -> Caller | None:
        """Return who came to the MCP door with the same header a while ago, if that still holds."""
        ...

    def remember(self, bearer: bytes, caller: Caller) -> None:
        """Know a caller again by the header they came to the MCP door with."""
        ...

    async def learn(self) -> None:
        """Ask the issuer, unless that was done a moment ago."""
        ...

    def narrow(self, token: Caller) -> Caller | TurnedAway:
        """Return the member who comes in with a token that they made here."""
        ...

    def challenge(self, path: str) -> str:
        """Return the challenge for whoever brings no token, or none that is known."""
        ...


class Gate:
    """The checks every request passes."""

    def __init__(
        self,
        host: str,
        port: int,
        token: str,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        is_page: Callable[[bytes], bool] = lambda _key: False,
        find_agent: Callable[[bytes], Caller | TurnedAway | None] = lambda _token: None,
        is_reached_as: Callable[[str], bool] = lambda _host: False,
        people: People | None = None,
        open_paths: Iterable[str] = (),
        find_member: FindMember = lambda _key, _path: None,
    ) -> None:
        """Let in who comes to `host` and `port`, to one of `hosts`, or by a way that was opened.

        `is_reached_as` tells whether a host and port, in lower case, are such a way; `people` are
        let in by their own name, on the page by the keys that `find_member` knows. Everybody may
        come to `open_paths`.
        """
        self._find_member = find_member
        self.people = people
        self._open_paths = frozenset(open_paths)
        self._bearer = _SCHEME + token.encode()
        self._find_agent = find_agent
        self._is_page = is_page
        self._is_reached_as = is_reached_as
        own = [f"{name}:{port}" for name in (*NAMES, bracketed(host))]
        self._hosts = frozenset(host.lower().encode() for host in (*own, *hosts))
        self._origins = frozenset(
            origin.encode()
            for origin in (*(f"{scheme}://{host}" for host in own for scheme in SCHEMES), *origins)
        )

    def judge(
        self, path: str, headers: Pairs, authority: bytes = b"", arrived_at: bytes = b""
    ) -> Caller | TurnedAway:
        """Identify the caller of a request; return status and reason if it may not pass.

        Args:
            authority: The host that the target names beside `Host`, if it names one.
            arrived_at: The host and port that the client has connected to: whoever names these, and
                no name that somebody else could let lead to us, is where it wants to be.
        """
        host = bearer = b""
        hosts = 0
        foreign = False
        for name, value in headers:
            if name == b"host":
                host = value.lower()
                hosts += 1
            elif name == b"authorization":
                bearer = value
            elif name == b"origin":
                foreign = foreign or not self._is_own_origin(value, arrived_at)
        own = hosts == 1 and self._is_own(host, arrived_at)
        if not own or (authority and not self._is_own(authority, arrived_at)):
            return TurnedAway(
                421, "this address is not one of the hub's; use the one that toolyard status shows"
            )
        if foreign:
            return TurnedAway(403, "requests from this origin are not allowed")
        if hmac.compare_digest(bearer, self._bearer):
            return CONTROL
        if path == MCP and self.people is not None:
            caller = self.people.recall(bearer)
            if caller is not None:
                return caller
        return self._identify(path, bearer)

    def _is_own(self, host: bytes, arrived_at: bytes) -> bool:
        if host in self._hosts or (host == arrived_at and host != b""):
            return True
        return self._is_reached_as(host.decode("latin-1"))

    def _is_own_origin(self, origin: bytes, arrived_at: bytes) -> bool:
        if origin in self._origins:
            return True
        scheme, _, authority = origin.partition(b"://")
        return authority == arrived_at != b"" and scheme in (b"http", b"https")

    def _identify(self, path: str, bearer: bytes) -> Caller | TurnedAway:
        """Identify a caller without the hub's own token."""
        if is_open(path) or (self.people is not None and path.startswith(WELL_KNOWN)):
            return NOBODY
        if path in self._open_paths:
            return VISITOR
        token = bearer[len(_SCHEME) :] if bearer.startswith(_SCHEME) else b""
        if token and path.startswith(API):
            if self._is_page(token):
                return PAGE
            if (member := self._find_member(token, path)) is not None:
                return member
        if self.people is not None and token.startswith(_JWT):
            return _admit_person(self.people, path, bearer, token)
        agent = self._find_agent(token) if token else None
        if isinstance(agent, Caller):
            return self._admit_token(agent, path) if agent.member else _admit(agent, path)
        if agent is not None:
            return agent
        challenge = self.people.challenge(path) if self.people is not None else "Bearer"
        return TurnedAway(401, "a valid token is needed: Authorization: Bearer <token>", challenge)

    def _admit_token(self, token: Caller, path: str) -> Caller | TurnedAway:
        """A token that a member made opens the MCP door as the member, and there no more."""
        text = _beyond(token, path)
        if text:
            return TurnedAway(403, text)
        if self.people is None:
            return TurnedAway(403, "members are let in by an issuer, and this hub trusts none")
        caller = self.people.narrow(token)
        return caller if isinstance(caller, TurnedAway) else admit_member(caller, path)


def _admit_person(people: People, path: str, bearer: bytes, token: bytes) -> Caller | TurnedAway:
    """Identify who brings a token of the issuer."""
    judged = people.recognise(token, path)
    if not isinstance(judged, Caller):
        return UNPROVEN if judged is None else judged
    if path == MCP:
        people.remember(bearer, judged)
    return admit_member(judged, path)


def is_open(path: str) -> bool:
    """Tell whether a path needs no token."""
    return path in OPEN_PATHS or path == SHELL or path.startswith((f"{SHELL}/", LOGIN_FOR))


def _admit(caller: Caller, path: str) -> Caller | TurnedAway:
    """An agent's token opens the MCP door and no other, and there what it is for alone."""
    text = _beyond(caller, path)
    return TurnedAway(403, text) if text else caller


def _beyond(caller: Caller, path: str) -> str:
    """Say why a path is not for an agent's token; empty if it is."""
    if caller.discovers:
        return "" if path == ANNOUNCED else f"this token opens {ANNOUNCED} alone"
    scope = read_scope(path)
    if scope is None:
        return "the token of an agent opens the MCP door alone; this needs the hub's own token"
    if caller.agent and scope.agent != caller.agent and scope != WHOLE:
        return f"this token is for the agent {caller.agent!r} alone"
    if caller.executor and scope != WHOLE and (scope.executor or LOCAL) != caller.executor:
        return f"this token is for a run at the executor {caller.executor!r} alone"
    if caller.profile and scope != WHOLE and scope.profile != caller.profile:
        return f"this token is for the profile {caller.profile!r} alone"
    if caller.servers and scope.agent:
        return "this token is for some servers alone, whatever agents are given"
    return ""


def admit_member(caller: Caller, path: str) -> Caller | TurnedAway:
    """A member uses the profiles they are admitted to; where agents go, their lists decide."""
    if path == MCP:
        return caller
    scope = read_scope(path)
    if scope is not None and scope.agent:
        return TurnedAway(403, "members come in at /mcp, /mcp/p/PROFILE and /mcp/s/SERVER")
    for profile in (caller.profile, scope.profile if scope is not None else ""):
        if profile and profile not in (caller.admitted or ()):
            return TurnedAway(403, f"you are not admitted to the profile {profile[:80]!r}")
    return caller
