"""Callers: those whom a door has let in, and what they may use there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from toolyard.core.tiers import narrower

CALLER_KEY: Final = "toolyard.caller"
"""The key under which an application behind a door finds the `Caller` who asks."""
AGENT_ACCOUNT: Final = "token "
"""The beginning of the account of an agent with a token."""
ACCOUNT: Final = "member "
"""The beginning of the account of a member; no token or client can be named so."""
OWN_PATHS: Final = "/api/v1/my/"
"""The paths of what every member may ask and order about their own things, and about no others."""


class Role(StrEnum):
    """The right of a member: a keeper may order, a member may use."""

    KEEPER = "keeper"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in, and the limits of their token."""

    name: str
    servers: frozenset[str] = frozenset()
    """The servers it may see; empty for all."""
    profile: str = ""
    """The one profile it may use; empty for any."""
    agent: str = ""
    """The one agent whose servers it may use; empty for any."""
    executor: str = ""
    """The executor on which that agent runs; empty for any."""
    is_agent: bool = False
    discovers: bool = False
    """It may read the list of announced servers, and nothing else."""
    member: str = ""
    """The key of the member who calls; empty for the hub's owner and for agents."""
    admitted: tuple[str, ...] | None = None
    """The profiles of which it sees what any of them shows; None for no such limit."""
    tier: str = ""
    """The tools it may use, by the harm they can do; empty for all."""
    profile_tiers: tuple[tuple[str, str], ...] = ()
    """The tier of each profile it is admitted to for less than all tools."""
    token: str = ""
    """The mark of the token that a member made and came in with; empty if they logged in."""
    role: Role = field(default=Role.MEMBER, compare=False)
    """The right of the member who calls; another one does not end what they use."""
    sessions: int = field(default=0, compare=False)
    """The sessions it may have, if fewer than anybody; 0 for no such limit."""
    instances: int = field(default=0, compare=False)
    """The servers that may run for its sessions, if fewer than anybody's; 0 for no such limit."""
    made_at: float = field(default=0.0, compare=False)
    """The time at which its token was made."""
    expires: float = field(default=inf, compare=False)
    """The time from which on its token is worthless: what listens for it ends then."""
    account: str = field(init=False, compare=False)
    """The name for the token that nobody can choose by naming a token or a client."""
    limits: str = field(init=False, repr=False, compare=False)
    """All that decides what it sees at a path: equal for those alone who see the same."""
    is_owner: bool = field(init=False, compare=False)
    """It came with the hub's own token, or from the page."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        account = f"{AGENT_ACCOUNT}{self.name}" if self.is_agent else self.name
        if self.member:
            account = f"{ACCOUNT}{self.member}"
        object.__setattr__(self, "account", account)
        object.__setattr__(self, "is_owner", not self.is_agent and not self.member)
        limits = self.servers, self.profile, self.agent, self.executor, self.admitted, self.tier
        object.__setattr__(self, "_hash", hash((account, self.token, *limits)))
        # Looked up with every call: the hash of a text is kept, and no code of ours compares it.
        shown = sorted(self.servers), *limits[1:], self.profile_tiers
        object.__setattr__(self, "limits", repr(shown))

    def __hash__(self) -> int:
        return self._hash

    def narrow(self, token: Caller) -> Caller:
        """Return this member as they come in with a token of theirs, which adds nothing."""
        return replace(
            self,
            servers=token.servers,
            profile=token.profile,
            tier=narrower(self.tier, token.tier),
            token=token.token,
            made_at=token.made_at,
            expires=token.expires,
        )


def beyond_role(caller: Caller, path: str) -> str:
    """Say why a path beside the MCP door is not for a member; empty if it is."""
    if caller.role is Role.KEEPER or path.startswith(OWN_PATHS):
        return ""
    return f"only keepers may do this; members use the MCP door, and {OWN_PATHS}"


class TurnedAway(NamedTuple):
    """The answer to somebody who may not pass: an HTTP status, and a sentence for them."""

    status: int
    text: str
    challenge: str = ""
    """The value of `WWW-Authenticate`: the way to a token that would do."""
