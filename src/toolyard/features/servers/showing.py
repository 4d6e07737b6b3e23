"""Servers and what runs of them, in tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from toolyard.console.context import CliContext
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.rows import ServerRow
    from toolyard.features.servers.details import ServerDetails
    from toolyard.features.servers.instances import InstanceRow

SERVERS = ("server", "state", "transport", "tools", "prompts", "resources", "problem")
INSTANCES = ("server", "for", "status", "where", "since", "memory", "restarts", "note")


def show_servers(
    context: CliContext, servers: Sequence[ServerRow], *, is_counted: bool = True
) -> None:
    """Show servers; unless `is_counted`, nobody knows how much they offer."""
    if not servers:
        context.terminal.say("there are no servers yet; add one with: toolyard add")
        return
    context.terminal.table(SERVERS, [_server_cells(server, is_counted) for server in servers])


def _server_cells(server: ServerRow, is_counted: bool) -> list[str]:
    offers = (server.tools, server.prompts, server.resources)
    counts = [str(count) if is_counted else "-" for count in offers]
    state = _state(server)
    problem = server.problem.text if server.problem else ""
    return [server.alias, state, server.transport, *counts, problem]


def _state(server: ServerRow) -> str:
    """The state of a server, and for how long it has been starting: `installing, 34 s`."""
    if server.starting_since is None:
        return server.state
    return f"{server.state}, {max(0.0, time.time() - server.starting_since):.0f} s"


def show_instances(context: CliContext, rows: Sequence[InstanceRow]) -> None:
    """Show what runs, and what was wrong with it last."""
    if not rows:
        context.terminal.say("nothing runs; the next call starts what it needs")
        return
    context.terminal.table(INSTANCES, [_instance_cells(row) for row in rows])
    for row in rows:
        if row.error is not None:
            context.terminal.note(f"note: {row.server}: {clean(row.error.text)}")
            for line in row.stderr:
                context.terminal.note(f"  {clean(line)}")


def _instance_cells(row: InstanceRow) -> list[str]:
    status = "leaving" if row.leaving else row.status
    memory = f"{row.memory / (1 << 20):.0f} MB" if row.memory else ""
    if row.memory is None and row.executor and row.where:
        memory = "unknown"
    since = time.strftime("%H:%M:%S", time.localtime(row.since)) if row.since else ""
    note = row.note
    if row.unattributed:
        note = "; ".join(filter(None, [note, f"{row.unattributed} messages went to nobody"]))
    cells = [row.server, _owner(row), status, row.where, since, memory, str(row.restarts)]
    return [*cells, clean(note)]


def _owner(row: InstanceRow) -> str:
    if row.mode == "shared":
        return f"the profile {row.profile}" if row.profile else "all"
    client = row.client or "a client without a name"
    agent = f" ({row.agent})" if row.agent else ""
    return f"{client} {row.owner}{agent}"


def describe_lines(details: ServerDetails) -> Iterator[str]:
    """Return the lines that tell a person about one server."""
    state = _state(details)
    title = f" ({details.title})" if details.title else ""
    yield f"{details.alias}{title} is {state}; '{details.source}' declares it"
    yield f"  {_launch(details)}"
    if details.installed is not None:
        yield f"  installed: {details.installed.package} {details.installed.version}"
    if details.exclusive:
        yield "  exclusive: its process never runs twice at a time"
    if details.per_member:
        yield "  per member: each member uses credentials of their own, in a process of their own"
    if details.replica:
        yield f"  its process is at the replica {details.replica}"
    if details.protocol:
        yield f"  speaks MCP {details.protocol}, version {details.server_version or 'unknown'}"
    for kind, names in (
        ("tools", details.offers.tools),
        ("prompts", details.offers.prompts),
        ("resources", [*details.offers.resources, *details.offers.templates]),
        ("waits for approval", details.held),
        ("agents", [agent.title for agent in details.agents]),
        ("profiles with a process of their own", details.profiles),
    ):
        if names:
            yield f"  {kind}: {', '.join(names)}"
    yield from (f"  {text}" for text in details.asks)


def _launch(details: ServerDetails) -> str:
    import shlex

    launch = details.launch
    given = [*(launch.env or ()), *(launch.headers or ())]
    beside = f" with {', '.join(given)}" if given else ""
    return (launch.url or f"runs {shlex.join(launch.command or ())}") + beside
