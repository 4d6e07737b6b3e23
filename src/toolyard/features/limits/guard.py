"""The guard of tools that limits are about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from toolyard.core.caller import AGENT_ACCOUNT
from toolyard.core.errors import LimitError
from toolyard.core.limits import EVERY, Limit
from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.features.limits.counters import LimitCounters
from toolyard.relay.guards import Deliver, MakeGuard
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest, Session, agent_of
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

_names_state: Final = re.compile(rb'"requestState"').search
"""Finds what every question to a modern client says, without reading the result."""


class LimitSubject(NamedTuple):
    """One whom a limit can be about: what tells them apart, and their name for people."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class LimitGuard:
    """Counts the calls of a tool, and refuses those that are too many."""

    limits: tuple[Limit, ...]
    server: str
    tool: str
    counters: LimitCounters

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Let a call pass if every limit allows it.

        Raises:
            LimitError: One does not.
        """
        gauges = [
            gauge
            for limit in self.limits
            if (whose := self._whose(limit, request)) is not None
            for gauge in self.counters.gauges(limit, whose.key, whose.name)
        ]
        if not gauges:
            return await deliver(fields)
        state = fields.get("requestState")
        is_paid = state is not None and self.counters.spend(self._mark(request, state))
        moved = self.counters.take(gauges, _size(fields), is_paid=is_paid)
        size = 0
        try:
            message = await deliver(fields)
            size = len(message.result) + len(message.error)
            self._note_question(request, message)
            return message
        finally:
            self.counters.end(moved, size)

    def _whose(self, limit: Limit, request: ClientRequest) -> LimitSubject | None:
        """Return those with whom a call counts; None if the limit is not about it.

        Raises:
            LimitError: It is, and cannot be read.
        """
        session = request.session
        callers = (
            (limit.member, "", _member(session)),
            (limit.token, "token ", _token(session)),
            (limit.agent, "agent ", _agent(request)),
        )
        for name, _, identity in callers:
            if name and (identity is None or name not in (EVERY, *identity)):
                return None
        if limit.fault:
            raise _unreadable(limit)
        keys, names = [], []
        tool = f"{self.server} {self.tool}"
        parts = (
            *callers,
            (limit.server, "", LimitSubject(self.server, self.server)),
            (limit.tool, "tool ", LimitSubject(tool, f"{self.tool} of {self.server}")),
        )
        for name, kind, identity in parts:
            if name and identity is not None:
                keys.append(identity.key if name == EVERY else name)
                names.append(kind + identity.name)
        return LimitSubject("\n".join(keys), ", ".join(names))

    def _mark(self, request: ClientRequest, state: bytes) -> bytes:
        """Name a call that waits for its client: nobody else can go on with it."""
        session = request.session
        return b"%b %b" % ((session.account or session.principal).encode(), bytes(state))

    def _note_question(self, request: ClientRequest, message: Message) -> None:
        if message.result and _names_state(message.result):
            state = jsonrpc.fields(message.result).get("requestState")
            if state is not None:
                self.counters.pay(self._mark(request, state))


@dataclass(frozen=True, slots=True)
class LimitGuards:
    """Puts a guard in front of every tool that a limit is about."""

    counters: LimitCounters

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        """Return what makes guards by the limits of a picture; None if it has none."""
        limits = snapshot.limits
        return partial(self._guard, snapshot, limits) if limits else None

    def _guard(
        self, snapshot: Snapshot, all_limits: tuple[Limit, ...], entry: Entry, tool: Offer
    ) -> LimitGuard | None:
        id_ = entry.server.id
        alias, server = snapshot.entries[id_].alias, str(id_)
        limits = tuple(limit for limit in all_limits if limit.is_about(server, alias, tool.key))
        return LimitGuard(limits, server, tool.key, self.counters) if limits else None


def _member(session: Session) -> LimitSubject | None:
    return LimitSubject(session.member, session.caller) if session.member else None


def _token(session: Session) -> LimitSubject | None:
    """The token of an agent; a member's own tokens are the member."""
    is_token = session.account.startswith(AGENT_ACCOUNT)
    return LimitSubject(session.caller, session.caller) if is_token else None


def _agent(request: ClientRequest) -> LimitSubject:
    """The agent that is called for, or the name that the client gives itself."""
    session = request.session
    named = session.view_key.agent if session.view_key is not None else ""
    info = session.info or bytes(request.meta.get(era.META_CLIENT, b""))
    name = named or session.agent or agent_of(info)
    return LimitSubject(name, name or "without a name")


def _size(fields: Fields) -> int:
    return sum(map(len, fields.values()))


def _unreadable(limit: Limit) -> LimitError:
    name = f" '{limit.name}'" if limit.name else ""
    text = f"the limit{name} of this call cannot be read: {limit.fault}"
    return LimitError(text, "have whoever runs the hub correct it", limit.name, "", 0)
