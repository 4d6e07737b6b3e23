"""Every error the house raises on purpose.

ToolyardError
├── ConfigError          what the user wrote cannot be used
│   └── SecretError      a secret it refers to is missing or cannot be read
│       └── MemberSecretError    whoever calls has no value for `${member:NAME}`
├── StoreError           what we keep cannot be read or written
│   └── DatabaseAwayError    the database that hubs share does not answer
├── SourceError          a source cannot say what it knows
├── StartError           a server could not be started or reached
├── LinkError            a connection to a server failed
│   ├── LinkTimeoutError it did not answer in time
│   └── BusyError        it has more calls waiting than it may
├── CallRefusedError     what the user set up stops a call
├── LimitError           the caller has used up what a limit allows
├── TakenError           the name is in use
├── ConflictError        somebody else changed it first
├── NotOursError         it is declared elsewhere, and changed there
└── UnknownNameError     nobody offers that name
"""

from __future__ import annotations


class ToolyardError(Exception):
    """The root of all errors raised on purpose; `hint` says what to do next."""

    problem_code = ""
    """The code of the problem that it is, if it is one of the reference."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint
        self.trace: tuple[str, ...] = ()
        """The last lines that a server wrote before it failed, if it was one that did."""


class ConfigError(ToolyardError):
    """Something the user wrote cannot be used."""


class SecretError(ConfigError):
    """A secret is missing, or cannot be read."""


class MemberSecretError(SecretError):
    """Whoever calls has no value of their own for `${member:NAME}`."""

    def __init__(self, member: str, name: str) -> None:
        """Say so of a member, by key, or of the hub's owner, whose key is empty."""
        if member:
            text, hint = f"you have no secret '{name}' here yet", "set it, then call again"
        else:
            text = f"the hub's owner has no secret '{name}', which stands for ${{member:{name}}}"
            hint = f"members use their own; for the owner, run: toolyard secret set {name}"
        super().__init__(text, hint)
        self.member = member
        self.name = name


class StoreError(ToolyardError):
    """A record cannot be read or written."""


class DatabaseAwayError(StoreError):
    """The database that hubs share does not answer."""

    problem_code = "database-away"


class SourceError(ToolyardError):
    """A source cannot say what it knows."""


class StartError(ToolyardError):
    """A server could not be started or reached."""


class LinkError(ToolyardError):
    """A connection to a server failed."""


class LinkTimeoutError(LinkError):
    """A server did not answer in time."""


class BusyError(LinkError):
    """A server has more calls waiting than it may."""

    def __init__(self, text: str, hint: str = "", retry_after: int = 0) -> None:
        """Say so, and in how many seconds there may be room again; 0 if nobody can tell."""
        super().__init__(text, hint)
        self.retry_after = retry_after


class LimitError(ToolyardError):
    """A caller has used up what a limit allows."""

    def __init__(self, text: str, hint: str, limit: str, whose: str, retry_after: int) -> None:
        """Say so, and in how many seconds a call may pass again; 0 if time does not help."""
        super().__init__(text, hint)
        self.limit = limit
        self.whose = whose
        self.retry_after = retry_after


class UnknownNameError(ToolyardError):
    """Nobody offers that name."""


class HeldError(ToolyardError):
    """A tool waits for approval: nobody may call it until a person has looked."""


class CallRefusedError(ToolyardError):
    """A call is stopped by what the user set up to look at it."""


class TakenError(ToolyardError):
    """The name is in use."""


class ConflictError(ToolyardError):
    """Somebody else changed it first."""


class NotOursError(ToolyardError):
    """It is declared elsewhere and can only be changed there."""
