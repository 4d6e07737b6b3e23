"""Calls under way: who calls what now, as the links to servers know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from toolyard.links.instances import Instances
from toolyard.links.keeper import Keeper
from toolyard.links.pending import RequestUnderWay
from toolyard.links.pool import LinkPool
from toolyard.relay.offers import CALL_NAMES
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest, agent_of
from toolyard.wire import jsonrpc
from toolyard.yard import Yard

MOST: Final = 200
"""Calls that are told of; of more, those that take longest."""
BY_NAME: Final = ("", *CALL_NAMES)
"""The tools that call the one which their arguments name; empty for doors that speak no MCP."""

WaitsFor = Literal["server", "person", "place"]


class CallUnderWay(Struct, frozen=True):
    """One call that a server has not answered yet."""

    agent: str
    """The name that the client gave itself."""
    caller: str
    """The name of its token, `control` for the hub's own; empty where none is asked for."""
    server: str
    """The alias."""
    tool: str
    """The tool's own name at its server."""
    ms: float
    """Since it was sent to the server, or stands in line for it."""
    waits_for: WaitsFor
    """A person, while a question of the server is open; a place, while it stands in line."""


class CallsUnderWay(Struct, frozen=True):
    """The calls under way, the longest first, and how many there are in all."""

    calls: list[CallUnderWay]
    total: int
    in_line: int
    """Those of all that wait for a place, since their servers have as many as they may."""


def find_calls(yard: Yard) -> CallsUnderWay:
    """Return the calls that servers have not answered yet."""
    entries, relay = yard.snapshot.entries, yard.part(Relay)
    calls = []
    for keeper in _keepers(yard):
        entry = entries.get(keeper.server.id)
        if entry is None or keeper.link is None:
            continue
        for pending in keeper.link.under_way():
            request = pending.requester
            if isinstance(request, ClientRequest) and request.method == "tools/call":
                calls.append(_row(relay, request, entry.alias, pending))
    calls.sort(key=lambda call: -call.ms)
    in_line = sum(call.waits_for == "place" for call in calls)
    return CallsUnderWay(calls[:MOST], len(calls), in_line)


def _keepers(yard: Yard) -> Iterator[Keeper]:
    yield from yard.part(LinkPool).keepers.values()
    yield from (instance.keeper for instance in yard.part(Instances))


def _row(
    relay: Relay, request: ClientRequest, server: str, pending: RequestUnderWay
) -> CallUnderWay:
    session = request.session
    agent, tool = session.agent or agent_of(session.info), _tool(relay, request)
    ms = round(max(pending.seconds, 0.0) * 1000, 1)
    waits_for: WaitsFor = "person" if pending.is_asking else "server"
    if pending.is_in_line:
        waits_for = "place"
    return CallUnderWay(agent, session.caller, server, tool, ms, waits_for)


def _tool(relay: Relay, request: ClientRequest) -> str:
    """Return the name that the called tool has at its server."""
    name = request.name
    if name in BY_NAME:
        arguments = jsonrpc.to_python(request.params.get("arguments", b"{}"))
        tool = arguments.get("tool") if isinstance(arguments, dict) else ""
        return tool if isinstance(tool, str) else ""
    route = relay.views.look(request.session.view_key).tools.get(name)
    return route.key if route is not None else name
