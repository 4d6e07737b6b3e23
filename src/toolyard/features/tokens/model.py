"""Tokens of agents: the values, and how they are written down."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from msgspec import Struct

from toolyard.core.caller import Caller
from toolyard.core.errors import ConfigError
from toolyard.core.tiers import Tier

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"
TOKEN_BYTES: Final = 32
PREFIX: Final = "ty_"
"""The mark by which people, and scanners for leaked secrets, recognise a token."""
MARK: Final = 16
"""Characters of a token's hash that tell it from others."""
RESERVED: Final = frozenset({"control", "page"})
"""The names of the hub itself and its page where callers are told apart."""


@dataclass(frozen=True, slots=True)
class AgentToken:
    """A token without its secret: whose it is, and what may be seen with it."""

    name: str
    digest: str
    servers: frozenset[str] = frozenset()
    """The servers it is limited to; empty for all."""
    profile: str = ""
    """The profile it is limited to; empty for any."""
    created_at: str = ""
    agent: str = ""
    """The agent whose servers it is for; empty for the yard's."""
    executor: str = ""
    """The executor on which that agent runs; empty for any place."""
    discovers: bool = False
    """It opens the list of announced servers, and nothing else."""
    expires_at: str = ""
    """The time from which on it is worthless; empty for never."""
    tier: str = ""
    """The tools that it is limited to, by the harm they can do; empty for all."""
    used_at: str = ""
    """The time it was last used, to the hour."""
    member: str = ""
    """The key of the member whose token it is; empty for one of the hub's owner."""

    @property
    def key(self) -> str:
        """The key of its record: each member names tokens as they like."""
        return token_key(self.name, self.member)

    @property
    def caller(self) -> Caller:
        """The caller that it lets in."""
        limits = self.servers, self.profile, self.agent, self.executor
        return Caller(
            self.name,
            *limits,
            is_agent=True,
            discovers=self.discovers,
            tier=self.tier,
            member=self.member,
            token=self.digest[:MARK] if self.member else "",
            made_at=seconds(self.created_at),
            expires=self.expires,
        )

    @property
    def expires(self) -> float:
        """The time from which on it is worthless, in seconds."""
        return seconds(self.expires_at) if self.expires_at else inf


def token_key(name: str, member: str = "") -> str:
    """Return the key of a token's record; no name has a slash."""
    return f"{member}/{name}" if member else name


def check_token_name(name: str) -> str:
    """Return the name if a token may have it.

    Raises:
        ConfigError: It may not.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name a token", NAME_HINT)
    if name in RESERVED:
        text = f"no token can be named {name!r}: the hub goes by that name itself"
        raise ConfigError(text, "choose another name")
    return name


def new_token() -> str:
    """Return a token that nobody has."""
    return PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: bytes, *, is_members: bool = False) -> str:
    """Return the hash a token is kept as; it is long and random, so a plain one will do.

    A member's is another one: a hub that is too old to know of them must not take it for an
    agent's, which has no limits.
    """
    return hashlib.sha256(b"member " + token if is_members else token).hexdigest()


def seconds(text: str) -> float:
    """Return a time as seconds; one that cannot be read is long ago."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def iso(at: float) -> str:
    """Return a time as it is written down."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def read_token(name: str, fields: Any) -> AgentToken:
    """Make a token of the fields of a file.

    Raises:
        ConfigError: They are not those of a token.
    """
    try:
        digest, servers = fields["sha256"], fields.get("servers", [])
        texts = [fields.get(key, "") for key in _TEXTS]
    except (TypeError, KeyError, AttributeError) as error:
        raise ConfigError(str(error)) from error
    is_list = isinstance(servers, list)
    if not is_list or not all(isinstance(text, str) for text in (digest, *texts, *servers)):
        raise ConfigError(f"the token {name!r} is not what it should be")
    profile, created_at, agent, executor, *more = texts
    limits = frozenset(servers), profile, created_at, agent, executor
    name = name.removeprefix(token_key("", more[-1]))
    token = AgentToken(name, digest, *limits, fields.get("discovers") is True, *more)
    if token.tier not in ("", *Tier):
        raise ConfigError(f"the token {name!r} has the tier {token.tier[:80]!r}, which is none")
    return token


class TokenFields(Struct, frozen=True, omit_defaults=True):
    """A token as the file has it."""

    sha256: str
    servers: list[str]
    profile: str
    created_at: str
    agent: str
    executor: str
    discovers: bool = False
    expires_at: str = ""
    tier: str = ""
    used_at: str = ""
    member: str = ""


_TEXTS: Final = (
    *("profile", "created_at", "agent", "executor"),
    *("expires_at", "tier", "used_at", "member"),
)


def write_token(token: AgentToken) -> TokenFields:
    """Return the fields of a token, as the file has them."""
    limits = token.agent, token.executor, token.discovers, token.expires_at, token.tier
    return TokenFields(
        token.digest,
        sorted(token.servers),
        token.profile,
        token.created_at,
        *limits,
        used_at=token.used_at,
        member=token.member,
    )
