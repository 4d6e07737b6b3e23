"""The owner of a running server: everybody, or one session alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolyard.core.endpoint import Endpoint, fingerprint
from toolyard.core.model import ServerId
from toolyard.links.pending import QuestionHook, Requester, ignore_question

SHOWN: Final = 10
"""Characters that tell owners apart without giving away what they are let in with."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The one for whom a link is opened."""

    key: str = ""
    """What tells sessions apart; never shown, for a session's id opens doors. Empty: everybody."""
    account: str = ""
    """Whose sessions count together: those that came with one token."""
    client: str = ""
    """What its client calls itself."""
    agent: str = ""
    """The agent whose list the server is on."""
    member: str = ""
    """The key of the member whose credentials are used; empty for the hub's owner."""
    capabilities: Mapping[str, Any] | None = None
    """What its client can do; None stands for all that any client may be able to."""
    home: Requester | None = None
    """Who hears what the server says outside of calls."""
    on_question: QuestionHook = ignore_question
    """Hears of questions that name no call."""

    @property
    def name(self) -> str:
        """The name that stands for the key where people and other programs see it."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:SHOWN] if self.key else ""


EVERYBODY: Final = Owner()


def member_key(member: str) -> str:
    """The key of an owner that is a member, or the hub's owner, in whatever session.

    No session is called so: none has a line end in its name.
    """
    return f"member\n{member}"


@dataclass(frozen=True, slots=True)
class Apart:
    """That a server runs apart from the one of the picture: otherwise, or for each session."""

    server: ServerId
    endpoint: Endpoint
    per_session: bool
    agent: str
    key: str
    """What stands for server and endpoint; a string, because every call looks it up."""
    place: str = ""
    """The executor on which its process runs, if the server itself names none."""
    folders: bool = False
    """Whether it runs apart for clients that have folders alone."""
    profile: str = ""
    """The profile whose clients it runs for, because that has variables of its own."""
    per_member: bool = False
    """Whether it runs for one member alone: in all their sessions, or in one if `per_session`."""

    @property
    def is_owned(self) -> bool:
        """True if it runs for somebody, and not for everybody."""
        return self.per_session or self.per_member


def set_apart(
    server: ServerId,
    endpoint: Endpoint,
    agent: str,
    *,
    per_session: bool,
    place: str = "",
    folders: bool = False,
    profile: str = "",
    per_member: bool = False,
) -> Apart:
    """Say that a server runs apart."""
    parts: tuple[object, ...] = (str(server), per_session, place, profile, fingerprint(endpoint))
    if per_member:
        parts = (*parts, "member")
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    return Apart(server, endpoint, per_session, agent, digest, place, folders, profile, per_member)
