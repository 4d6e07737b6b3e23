"""The part of the yard's status that a client with a limited view may see."""

from __future__ import annotations

import msgspec

from toolyard.core.rows import ProblemRow, ServerRow, YardStatus
from toolyard.relay.view import View


class LimitedStatus(msgspec.Struct, frozen=True):
    """The status as far as it is about what a view shows."""

    version: str
    uptime_s: float
    revision: int
    servers: list[ServerRow]
    problems: list[ProblemRow]


def scope_status(status: YardStatus, view: View) -> YardStatus | LimitedStatus:
    """Return the status as far as it is about what the view shows; whole if the view is."""
    if not view.key.is_limited:
        return msgspec.structs.replace(status, servers=_near(status.servers, view))
    ids = {str(entry.server.id): alias for alias, entry in view.entries.items()}
    servers = [
        _counted(server, view) for server in status.servers if ids.get(_id(server)) == server.alias
    ]
    problems = [problem for problem in status.problems if problem.subject in ids]
    return LimitedStatus(status.version, status.uptime_s, status.revision, servers, problems)


def _id(server: ServerRow) -> str:
    return f"{server.name}@{server.source}"


def _near(servers: list[ServerRow], view: View) -> list[ServerRow]:
    """All but the servers of other projects, by the names they have here."""
    names = {str(entry.server.id): alias for alias, entry in view.entries.items()}
    return [
        msgspec.structs.replace(server, alias=names.get(_id(server), server.alias))
        for server in servers
        if not server.project or _id(server) in names
    ]


def _counted(server: ServerRow, view: View) -> ServerRow:
    """Return a server whose counts are of what is shown."""
    counts = {
        kind: sum(route.alias == server.alias for route in view.table(kind).values())
        for kind in ("tools", "prompts", "resources")
    }
    return msgspec.structs.replace(server, **counts)
