"""The part of the yard's status that a client with a limited view may see."""

from __future__ import annotations

from typing import Any

from toolyard.relay.view import View


def scope_status(status: dict[str, Any], view: View) -> dict[str, Any]:
    """Return the status as far as it is about what the view shows; whole if the view is."""
    if not view.key.is_limited:
        return {**status, "servers": _near(status["servers"], view)}
    ids = {str(entry.server.id): alias for alias, entry in view.entries.items()}
    servers = [
        _counted(server, view)
        for server in status["servers"]
        if ids.get(f"{server['name']}@{server['source']}") == server["alias"]
    ]
    problems = [problem for problem in status["problems"] if problem["subject"] in ids]
    kept = {key: status[key] for key in ("version", "uptime_s", "revision")}
    return {**kept, "servers": servers, "problems": problems}


def _near(servers: list[dict[str, Any]], view: View) -> list[dict[str, Any]]:
    """All but the servers of other projects, by the names they have here."""
    names = {str(entry.server.id): alias for alias, entry in view.entries.items()}
    return [
        {**server, "alias": names.get(f"{server['name']}@{server['source']}", server["alias"])}
        for server in servers
        if not server["project"] or f"{server['name']}@{server['source']}" in names
    ]


def _counted(server: dict[str, Any], view: View) -> dict[str, Any]:
    """What is counted is what is shown."""
    kinds = ("tools", "prompts", "resources")
    tables = {kind: view.table(kind).values() for kind in kinds}
    return {
        **server,
        **{k: sum(r.alias == server["alias"] for r in routes) for k, routes in tables.items()},
    }
