"""What runs: every process and link, where it is, since when, for whom, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolyard.core.model import Command, Entry, Problem, Status
from toolyard.hub import Hub
from toolyard.links.instances import Instance
from toolyard.links.keeper import Keeper

WORDS: Final = 5
"""Lines of a server's stderr that are shown."""
Row = dict[str, Any]


def pids(hub: Hub) -> list[int]:
    """The processes of all servers that run here."""
    links = (keeper.link for keeper in _keepers(hub))
    return [link.pid for link in links if link is not None and link.pid]


def running(hub: Hub, memory: Mapping[int, int]) -> list[Row]:
    """All that runs, or was sent to rest, or failed; `memory` is in bytes by process here."""
    entries, rows = hub.snapshot.entries, []
    for id_, keeper in hub.pool.keepers.items():
        entry = entries.get(id_)
        if entry is not None and (keeper.is_running or keeper.note or keeper.failing_since):
            row = {"mode": "shared", "status": entry.status.value, **_NOBODY}
            rows.append({**_describe(hub, entry, keeper, memory), **row})
    for instance in hub.instances:
        entry = entries.get(instance.apart.server)
        if entry is not None:
            whose = _whose(instance, leaving=hub.instances.is_leaving(instance.owner.key))
            rows.append({**_describe(hub, entry, instance.keeper, memory), **whose})
    return sorted(rows, key=lambda row: (row["server"], row["owner"]))


def _keepers(hub: Hub) -> Iterable[Keeper]:
    yield from hub.pool.keepers.values()
    yield from (instance.keeper for instance in hub.instances)


_NOBODY: Final[Row] = {"owner": "", "client": "", "agent": "", "profile": "", "leaving": False}


def _whose(instance: Instance, *, leaving: bool) -> Row:
    owner = instance.owner
    return {
        "mode": "per_session" if instance.apart.per_session else "shared",
        "status": instance.status.value,
        "owner": owner.name,
        "client": owner.client,
        "agent": instance.apart.agent,
        "profile": instance.apart.profile,
        "leaving": leaving,
    }


def _describe(hub: Hub, entry: Entry, keeper: Keeper, memory: Mapping[int, int]) -> Row:
    link, endpoint = keeper.link, keeper.server.endpoint
    return {
        "server": entry.alias,
        "id": str(entry.server.id),
        "transport": "stdio" if isinstance(endpoint, Command) else endpoint.kind,
        "executor": keeper.server.placement.executor,
        "where": (link.where or _address(keeper)) if link is not None else "",
        "pid": link.pid if link is not None else 0,
        "since": keeper.since or None,
        "memory": memory.get(link.pid) if link and link.pid else hub.pool.budget.weight(keeper),
        "calls": link.calls if link is not None else 0,
        "restarts": keeper.restarts,
        "unattributed": keeper.unattributed,
        "note": keeper.note,
        "error": _problem(keeper.last_error),
        "stderr": list(keeper.trace[-WORDS:]) if keeper.last_error else [],
    }


def _address(keeper: Keeper) -> str:
    endpoint = keeper.server.endpoint
    return "" if isinstance(endpoint, Command) else endpoint.url


def _problem(problem: Problem | None) -> Row | None:
    if problem is None:
        return None
    return {"code": problem.code, "text": problem.text, "hint": problem.hint}


def census(hub: Hub) -> dict[tuple[str, str], int]:
    """How many there are, by mode and status."""
    found: dict[tuple[str, str], int] = {}
    for row in running(hub, {}):
        if row["status"] not in (Status.IDLE.value, Status.KNOWN.value):
            key = (row["mode"], row["status"])
            found[key] = found.get(key, 0) + 1
    return found
