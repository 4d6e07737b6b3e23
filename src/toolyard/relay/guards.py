"""Guards: what stands between a call of a tool and its server.

A guard lets a call pass, changes it, has it wait, or refuses it, and sees the result that comes
back. Which guards a tool has is settled while a view is made; a call of a tool without any pays
nothing for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, runtime_checkable

from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest
from toolyard.wire.jsonrpc import Fields, Message

Deliver = Callable[[Fields], Awaitable[Message]]
"""Takes a call on its way, with these params."""


class CallGuard(Protocol):
    """Stands in front of one tool.

    Two guards are equal only if they treat every call alike: the routes of a view are lent to the
    next one while their guards are equal. A call that is resumed (`requestState`) passes all of
    them again, at the replica that held it.
    """

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Let a call pass, change it, have it wait, or refuse it.

        Raises:
            ToolyardError: The call is refused, or its server could not be reached or failed.
        """
        ...


@runtime_checkable
class ListingGuard(Protocol):
    """A guard that changes what callers see of its tool, too."""

    def listed(self, tool: Offer) -> Offer:
        """Return the tool as callers see it."""
        ...


@runtime_checkable
class ResultGuard(Protocol):
    """A guard that looks at results, also at those that come later, with the task of a call."""

    holds_for_tasks: bool


MakeGuard = Callable[[Entry, Offer], CallGuard | None]
"""Returns the guard of a tool; None if nothing concerns it.

The entry has the alias under which the view shows it; by that of the picture, it is
`snapshot.entries[entry.server.id].alias`."""


class GuardMaker(Protocol):
    """Says which tools are guarded."""

    def look_at(self, snapshot: Snapshot) -> MakeGuard | None:
        """Return what makes guards by a picture; None if it has nothing of which to make any."""
        ...


def make_guards(makes: Iterable[MakeGuard], entry: Entry, tool: Offer) -> tuple[CallGuard, ...]:
    """Return the guards of a tool; a call meets them in this order, and its result in reverse."""
    guards = (make(entry, tool) for make in makes)
    return tuple(guard for guard in guards if guard is not None)


def listed_behind(guards: Iterable[CallGuard], tool: Offer) -> Offer:
    """Return a tool as callers see it behind these guards."""
    for guard in guards:
        if isinstance(guard, ListingGuard):
            tool = guard.listed(tool)
    return tool


def task_guards(guards: Iterable[CallGuard]) -> tuple[CallGuard, ...]:
    """Return those guards that requests about the task of a call meet, too."""
    return tuple(g for g in guards if isinstance(g, ResultGuard) and g.holds_for_tasks)


def guarded(request: ClientRequest, route: Route, deliver: Deliver) -> Deliver:
    """Return the way past all guards of a route: the first of them is the outermost."""
    for guard in reversed(route.guards):
        deliver = _past(guard, request, route, deliver)
    return deliver


def _past(guard: CallGuard, request: ClientRequest, route: Route, deliver: Deliver) -> Deliver:
    return lambda fields: guard.serve(request, fields, route, deliver)
