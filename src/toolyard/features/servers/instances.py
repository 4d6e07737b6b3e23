"""Every process and link: where it runs, since when, for whom, and how it is doing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from toolyard.core.model import Command, Entry, Problem, Snapshot, Status
from toolyard.core.rows import Transport
from toolyard.links.instances import Instance, Instances
from toolyard.links.keeper import Keeper
from toolyard.links.owner import Apart
from toolyard.links.pool import LinkPool

WORDS: Final = 5
"""Lines of a server's stderr that are shown."""


class LastError(msgspec.Struct, frozen=True):
    """The last error of a server."""

    code: str
    text: str
    hint: str


class InstanceRow(msgspec.Struct, frozen=True):
    """One running server, or one that was sent to rest or fails."""

    server: str
    id: str
    transport: Transport
    executor: str
    """The name of the place where it runs; empty for this machine."""
    where: str
    """Where it runs, in words for people."""
    pid: int
    since: float | None
    """Seconds since the epoch."""
    memory: int | None
    """Bytes of it and all it started; null where that is unknown."""
    calls: int
    """Calls under way."""
    restarts: int
    unattributed: int
    """Messages that could not be attributed to a caller, and went to nobody."""
    note: str
    """Why it rests, if it was sent to."""
    error: LastError | None
    stderr: list[str]
    """Its last lines, if something was wrong."""
    mode: Literal["shared", "per_session", "per_member"]
    status: str
    owner: str
    """What stands for the session it runs for; empty if it is shared."""
    client: str
    agent: str
    profile: str
    """The profile whose clients alone it runs for, because that has variables of its own."""
    leaving: bool
    """Whether its session has left; it ends soon, unless the session comes back."""


class InstanceList(msgspec.Struct, frozen=True):
    """All that runs."""

    instances: list[InstanceRow]


def pids(pool: LinkPool, instances: Instances) -> list[int]:
    """Return the processes of all servers that run here."""
    links = (keeper.link for keeper in _keepers(pool, instances))
    return [link.pid for link in links if link is not None and link.pid]


def running(
    snapshot: Snapshot, pool: LinkPool, instances: Instances, memory: Mapping[int, int]
) -> list[InstanceRow]:
    """Return all that runs, or was sent to rest, or failed; `memory` is in bytes by process."""
    entries, rows = snapshot.entries, []
    for id_, keeper in pool.keepers.items():
        entry = entries.get(id_)
        if entry is not None and (
            keeper.is_running or keeper.note or keeper.reporter.failing_since
        ):
            rows.append(_row(pool, entry, keeper, memory))
    for instance in instances:
        entry = entries.get(instance.apart.server)
        if entry is not None:
            row = _row(pool, entry, instance.keeper, memory)
            rows.append(_owned(row, instance, instances.is_leaving(instance.owner.key)))
    return sorted(rows, key=lambda row: (row.server, row.owner))


def census(snapshot: Snapshot, pool: LinkPool, instances: Instances) -> Counter[tuple[str, str]]:
    """Count those that run or fail, by mode and status."""
    resting = (Status.IDLE.value, Status.KNOWN.value)
    rows = running(snapshot, pool, instances, {})
    return Counter((row.mode, row.status) for row in rows if row.status not in resting)


def _keepers(pool: LinkPool, instances: Instances) -> Iterable[Keeper]:
    yield from pool.keepers.values()
    yield from (instance.keeper for instance in instances)


def _owned(row: InstanceRow, instance: Instance, leaving: bool) -> InstanceRow:
    """Return the row of an instance, with whose it is."""
    owner, apart = instance.owner, instance.apart
    return msgspec.structs.replace(
        row,
        mode=_mode(apart),
        status=instance.status.value,
        owner=owner.name,
        client=owner.client,
        agent=apart.agent,
        profile=apart.profile,
        leaving=leaving,
    )


def _row(pool: LinkPool, entry: Entry, keeper: Keeper, memory: Mapping[int, int]) -> InstanceRow:
    link, endpoint = keeper.link, keeper.server.endpoint
    return InstanceRow(
        server=entry.alias,
        id=str(entry.server.id),
        transport="stdio" if isinstance(endpoint, Command) else endpoint.kind,
        executor=keeper.server.placement.executor,
        where=(link.where or _address(keeper)) if link is not None else "",
        pid=link.pid if link is not None else 0,
        since=keeper.since or None,
        memory=memory.get(link.pid) if link and link.pid else pool.budget.weight(keeper),
        calls=link.calls if link is not None else 0,
        restarts=keeper.restarts,
        unattributed=keeper.unattributed,
        note=keeper.note,
        error=_last_error(keeper.reporter.last_error),
        stderr=list(keeper.trace[-WORDS:]) if keeper.reporter.last_error else [],
        mode="shared",
        status=entry.status.value,
        owner="",
        client="",
        agent="",
        profile="",
        leaving=False,
    )


def _address(keeper: Keeper) -> str:
    endpoint = keeper.server.endpoint
    return "" if isinstance(endpoint, Command) else endpoint.url


def _last_error(problem: Problem | None) -> LastError | None:
    return LastError(problem.code, problem.text, problem.hint) if problem is not None else None


def _mode(apart: Apart) -> Literal["shared", "per_session", "per_member"]:
    if apart.per_session:
        return "per_session"
    return "per_member" if apart.per_member else "shared"
