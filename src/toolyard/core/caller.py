"""Callers: those whom a door has let in, and what they may use there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

CALLER_KEY: Final = "toolyard.caller"
"""The key under which an application behind a door finds the name of whoever asks."""


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
    account: str = field(init=False, compare=False)
    """The name for the token that nobody can choose by naming a token or a client."""
    is_owner: bool = field(init=False, compare=False)
    """It came with the hub's own token, or from the page."""

    def __post_init__(self) -> None:
        account = f"token {self.name}" if self.is_agent else self.name
        if self.member:
            account = f"member {self.member}"
        object.__setattr__(self, "account", account)
        object.__setattr__(self, "is_owner", not self.is_agent and not self.member)


class TurnedAway(NamedTuple):
    """The answer to somebody who may not pass: an HTTP status, and a sentence for them."""

    status: int
    text: str
    challenge: str = ""
    """The value of `WWW-Authenticate`: the way to a token that would do."""
