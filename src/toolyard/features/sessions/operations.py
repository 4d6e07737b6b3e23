"""Questions and orders about the clients that are connected now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.errors import NotOursError, UnknownNameError
from toolyard.operation import Done, NoInput, operation
from toolyard.relay.dismissals import Dismissals
from toolyard.relay.relay import Relay
from toolyard.relay.session import Session, agent_of
from toolyard.yard import Yard

TOP = "/api/v1/sessions"
ONE = "/api/v1/sessions/{id}"
OWN = f"{OWN_PATHS}sessions"
OWN_ONE = f"{OWN_PATHS}sessions/{{id}}"


class SessionRow(Struct, frozen=True):
    """A client that is connected now."""

    id: str
    """Stands for it here; it opens nothing."""
    client: str
    """The name that the client gave itself."""
    caller: str
    """The member or token that it came in with; empty for a program on this machine."""
    version: str
    """The revision of MCP that it speaks."""
    calls: int
    """Its requests under way."""


class SessionList(Struct, frozen=True):
    """The clients that are connected to this hub now."""

    sessions: list[SessionRow]


class SessionId(Struct, frozen=True):
    """The session that is meant."""

    id: str


@operation("GET", TOP)
async def list_sessions(yard: Yard, order: NoInput) -> SessionList:
    """The clients that are connected now, and whose they are."""
    return _describe(_sessions(yard))


@operation("DELETE", ONE, errors=(404, 409))
async def end_session(yard: Yard, order: SessionId) -> Done:
    """End a session; its client may begin another one."""
    return _end(yard, _sessions(yard), order)


@operation("GET", OWN, role=Role.MEMBER)
async def list_own_sessions(yard: Yard, order: NoInput) -> SessionList:
    """The clients of the member who asks that are connected now."""
    return _describe(_own(yard))


@operation("DELETE", OWN_ONE, role=Role.MEMBER, errors=(404, 409))
async def end_own_session(yard: Yard, order: SessionId) -> Done:
    """End a session of the member who asks."""
    return _end(yard, _own(yard), order)


def _sessions(yard: Yard) -> list[Session]:
    subscriptions = yard.part(Relay).subscriptions
    return [*subscriptions.sessions, *subscriptions.listening]


def _own(yard: Yard) -> list[Session]:
    account = f"member {yard.own_member()}"
    return [session for session in _sessions(yard) if session.account == account]


def _describe(sessions: Iterable[Session]) -> SessionList:
    rows = [_row(session) for session in sessions]
    return SessionList(sorted(rows, key=lambda row: (row.caller, row.client, row.id)))


def _row(session: Session) -> SessionRow:
    name = session.agent or agent_of(session.info)
    return SessionRow(_id_of(session), name, session.caller, session.version, len(session.requests))


def _id_of(session: Session) -> str:
    """Return what stands for a session: the principal may be the id by which it is used."""
    number = f"{session.principal} {id(session)}"
    return hashlib.sha256(number.encode()).hexdigest()[:24]


def _end(yard: Yard, sessions: Iterable[Session], order: SessionId) -> Done:
    """End one of these sessions.

    Raises:
        UnknownNameError: It is not among them.
        NotOursError: It is that of a program on this machine, which ends it.
    """
    session = next((one for one in sessions if _id_of(one) == order.id), None)
    if session is None:
        raise UnknownNameError("this session is over already", "look again")
    if not yard.part(Dismissals).end_sessions(lambda other: other is session):
        raise NotOursError("this client is a program on the hub's machine", "end it there")
    return Done()
