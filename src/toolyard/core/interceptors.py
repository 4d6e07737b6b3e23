"""Interceptors: what the user has look at calls of tools, and change them, on their way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from toolyard.core.endpoint import Command, Url
from toolyard.core.profiles import Profile

Kind = Literal["validation", "mutation"]
Phase = Literal["request", "response", "both"]
Sent = Literal["refuse", "override"]
SECONDS: Final = 5.0
LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Masking:
    """Secrets and personal data are masked in results."""

    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """The rule for one argument of a tool; values are JSON."""

    name: str
    """As the server calls it."""
    shown: str = ""
    """As callers call it; empty if they do not see it."""
    fixed: bytes | None = None
    """The value that the server gets, whatever a caller says."""
    default: bytes | None = None
    """The value that the server gets if a caller says nothing."""
    sent: Sent = "refuse"
    """The answer to a caller that sends what it does not see."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Arguments are hidden, renamed, or given a value."""

    rules: tuple[ArgumentRule, ...]


Work = Masking | Rewriting | Command | Url
"""The two that ship with the hub, or a program or endpoint of the user's own."""


@dataclass(frozen=True, slots=True)
class Interceptor:
    """One interceptor, and the tools whose calls it sees."""

    name: str
    tools: tuple[str, ...]
    """Patterns, as profiles have them; one after `!` excepts something."""
    work: Work
    type: Kind = "mutation"
    phase: Phase = "both"
    invoke: str = ""
    """The name that it has at its program or endpoint."""
    config: bytes = b""
    """The JSON that it gets with each invocation; empty for none."""
    is_audit: bool = False
    """It is invoked, and what it says has no effect."""
    fails_open: bool = False
    """A call goes on without it, should it fail."""
    seconds: float = SECONDS
    """The time for one invocation."""
    largest: int = LARGEST
    """The bytes of arguments, or of a result, that it is given at most."""
    priority: int = 0
    """Mutations of a lower one come first."""
    fault: str = ""
    """The reason why it cannot be used; then nothing passes."""

    def sees(self, names: Iterable[str], tool: str, shown: str) -> bool:
        """Return whether it is for a tool of a server that has these names."""
        return not Profile("", hide=self.tools).admits(names, tool, shown)

    def is_in(self, phase: Phase) -> bool:
        """Return whether it has work before the call, or after it."""
        return self.phase in (phase, "both")
