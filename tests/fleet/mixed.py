"""All kinds of clients at once: those that call, and those that follow a resource."""

from __future__ import annotations

from tests.doors.doors import Doors
from tests.fleet.load import NEW, OLD, LegacyCaller, ModernCaller, Outcomes, Worker
from tests.fleet.subscribers import Subscriber

CALLERS = 4
"""Of each era."""
FOLLOWERS = {f"f{number}": server for number, server in enumerate((OLD, NEW) * 2)}
"""Clients that follow a resource, and whose; the first two are of the legacy era."""
SESSIONS = CALLERS + 2
"""Begun by the legacy clients; more were lost."""


def callers(where: int | Doors, outcomes: Outcomes) -> list[Worker]:
    """Clients that call."""
    kinds = (ModernCaller, LegacyCaller) * CALLERS
    return [kind(f"c{number}", where, outcomes) for number, kind in enumerate(kinds)]


def mixed_load(where: int | Doors, outcomes: Outcomes) -> list[Worker]:
    """Clients that call, and clients that follow."""
    kinds = (LegacyCaller, LegacyCaller, ModernCaller, ModernCaller)
    followers = [
        Subscriber(kind(name, where, outcomes), server)
        for kind, (name, server) in zip(kinds, FOLLOWERS.items(), strict=True)
    ]
    return [*callers(where, outcomes), *followers]


def check(outcomes: Outcomes) -> None:
    """See that nothing failed, nobody began again, and everything was done."""
    assert outcomes.failed == {}
    assert outcomes.initialized == SESSIONS
    assert {"ask", "sample", "progress", "task", "update"} < set(outcomes.answered)
