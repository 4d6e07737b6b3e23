"""Answers what clients ask of the hub itself: its tools, resources and prompts."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Literal

from msgspec import UNSET, Raw, Struct

from toolyard.board import Board
from toolyard.core.counting import counted
from toolyard.core.errors import (
    ConfigError,
    HeldError,
    LinkError,
    ToolyardError,
    UnknownNameError,
)
from toolyard.core.jsontypes import JsonObject
from toolyard.core.lookup import find_entry
from toolyard.core.model import NO_OFFERS, Entry, Snapshot
from toolyard.core.names import closest, quoted
from toolyard.core.rows import YardStatus
from toolyard.core.search import words
from toolyard.core.tiers import Tier, tier_of
from toolyard.links.pool import LinkPool
from toolyard.relay.calls import Calls
from toolyard.relay.offers import CALL_NAMES, CALLING, SERVER, introduction
from toolyard.relay.routes import Route
from toolyard.relay.schema import complaints, inner_arguments
from toolyard.relay.session import ClientRequest
from toolyard.relay.status_scope import LimitedStatus, scope_status
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

FOUND: Final = 20
LISTED: Final = 100
NEAR: Final = 10
"""Addresses that a message names."""


class Answers:
    """The hub's own tools and what they say."""

    identity: Final = SERVER

    def __init__(
        self,
        board: Board,
        pool: LinkPool,
        calls: Calls,
        look: Callable[[ViewKey], View],
        status: Callable[[], YardStatus],
    ) -> None:
        """Answer for the hub; `status` returns the whole yard."""
        self._board = board
        self._pool = pool
        self._status_of_all = status
        self._calls = calls
        self._look = look
        self._tools: dict[str, Callable[[ClientRequest, View], Awaitable[Message]]] = {
            "toolyard_status": self._status,
            "toolyard_tools": self._find,
            **{name: partial(self._call_of, tier) for name, tier in CALL_NAMES.items()},
            "toolyard_refresh": self._refresh,
            "toolyard_find": self._find_servers,
            "toolyard_activate": self._activate,
            "toolyard_deactivate": self._deactivate,
        }

    def introduction(self, view: View) -> str:
        """Tell a model how to work with what a view shows."""
        calls = [name for name in CALL_NAMES if name in view.tools] if view.has_own_tools else []
        return introduction(view.filter.separator, calls)

    async def call(self, request: ClientRequest, name: str, view: View) -> Message:
        """Run one of the hub's own tools."""
        try:
            return await self._tools[name](request, view)
        except ConfigError as error:
            return error_result(f"{error}. {error.hint}".strip())

    async def _status(self, request: ClientRequest, view: View) -> Message:
        status = scope_status(self._status_of_all(), view)
        return text_result(format_status(status), status)

    async def _refresh(self, request: ClientRequest, view: View) -> Message:
        if view.key.is_limited:
            self._pool.refresh(entry.server.id for entry in view.entries.values())
        else:
            self._pool.refresh()
        names = ", ".join(view.entries) or "none yet"
        return text_result(
            f"asked all servers again ({names}); what changed is listed as it arrives"
        )

    async def _find(self, request: ClientRequest, view: View) -> Message:
        arguments = _arguments(request.params)
        server, query = str(arguments.get("server") or ""), str(arguments.get("query") or "")
        if server and server not in view.entries:
            return error_result(unknown("server", server, view.entries))
        limit = arguments.get("limit")
        most = limit if isinstance(limit, int) and limit > 0 else (FOUND if query else LISTED)
        found = await view.find_tools(query, server, most)
        page = {"tools": [describe(view, name) for name in found.names], "total": found.total}
        return text_result(jsonrpc.encode(page).decode(), page)

    async def _find_servers(self, request: ClientRequest, view: View) -> Message:
        query = str(_arguments(request.params).get("query") or "")
        matching: dict[str, list[str]] = {}
        for name in (await view.find_tools(query)).names:
            matching.setdefault(view.tools[name].alias, []).append(view.tools[name].key)
        terms = set(words(query))
        for alias, entry in view.entries.items():
            if terms & set(words(f"{alias} {entry.server.title}")):
                matching.setdefault(alias, [])
        servers = [
            {
                "server": alias,
                "title": view.entries[alias].server.title,
                "status": view.entries[alias].status.value,
                "tools": tools[:FOUND],
            }
            for alias, tools in matching.items()
        ]
        body = {"servers": servers}
        return text_result(jsonrpc.encode(body).decode(), body)

    async def _activate(self, request: ClientRequest, view: View) -> Message:
        server = str(_arguments(request.params).get("server") or "")
        if server not in view.entries:
            return error_result(unknown("server", server, view.entries))
        try:
            await self._calls.link_for(view.route_to(server), request.session, request.capabilities)
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}".strip())
        view = await self.woken(self._look(view.key), server)
        body = {"server": server, "tools": [describe(view, n) for n in view.tool_names(server)]}
        return text_result(jsonrpc.encode(body).decode(), body)

    async def _deactivate(self, request: ClientRequest, view: View) -> Message:
        server = str(_arguments(request.params).get("server") or "")
        if server not in view.entries:
            return error_result(unknown("server", server, view.entries))
        if view.key.is_limited:
            return error_result(_NOT_ALONE)
        try:
            self._pool.keeper(find_entry(self._board.snapshot, server).server.id).rest()
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}".strip())
        return text_result(f"{server} rests once no call is under way; the next call starts it")

    async def call_any(self, request: ClientRequest, view: View) -> Message:
        """Call the tool that the arguments name, whatever its tier."""
        return await self._call_of(None, request, view)

    async def _call_of(self, tier: Tier | None, request: ClientRequest, view: View) -> Message:
        """Call the tool that the arguments name if it is of this tier, None for any."""
        outer = jsonrpc.fields(request.params.get("arguments", Raw(b"")))
        server, tool = (jsonrpc.text(outer.get(key)) for key in ("server", "tool"))
        if not server or not tool:
            return error_result("a call needs a server and a tool, both strings")
        view = await self.woken(view, server)
        try:
            route = self.find(view, server, tool)
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}" if error.hint else str(error))
        if tier is not None and (own := _tier(view, route)) is not tier:
            return error_result(_other_tier(server, tool, own, tier))
        return await self._forward(request, outer, view, route)

    async def _forward(
        self, request: ClientRequest, outer: Fields, view: View, route: Route
    ) -> Message:
        arguments = inner_arguments(outer)
        if route.server is not None and route.alias:
            wrong = complaints(route.schema, jsonrpc.to_python(arguments))
            if wrong:
                return error_result(
                    f"the arguments do not fit {route.alias}'s {route.key}: " + "; ".join(wrong)
                )
        inner = {**request.params, "name": route.raw_key, "arguments": arguments}
        try:
            return await self._calls.send(request, "tools/call", inner, route, view)
        except ToolyardError as error:
            return error_result(f"{error}. {error.hint}".strip())

    async def woken(self, view: View, server: str) -> View:
        """The view after a server of which nothing is known has been opened and asked."""
        entry = view.entries.get(server)
        if entry is None or entry.offers != NO_OFFERS:
            return view
        with contextlib.suppress(ToolyardError):  # why it failed is on the picture
            await self._pool.lease(entry.server.id)
        return self._look(view.key)

    def find(self, view: View, server: str, tool: str) -> Route:
        """Look up where a call by (server, tool) leads.

        Raises:
            UnknownNameError: There is no such server or tool; the text lists what exists.
            HeldError: The tool waits for approval.
            LinkError: The server offers no tools now.
        """
        entry = view.entries.get(server)
        if entry is None:
            raise UnknownNameError(unknown("server", server, view.entries))
        tools = view.tools_of(server)
        route = tools.get(tool) or view.tools.get(tool)
        if route is not None and route.alias == server:
            return route
        _, key = view.withheld.get(tool, (entry, tool))
        reason = withheld(self._board.snapshot, entry, key)
        if reason is not None:
            raise reason
        problem = entry.server.problem or entry.problem
        if not tools and problem is not None:
            text = f"server {server!r} offers no tools now: {problem.text}"
            raise LinkError(text, problem.hint)
        raise UnknownNameError(unknown(f"tool of {server!r}", tool, tools))

    # Resources and prompts.

    def read(self, uri: str, view: View) -> bytes:
        """The result of reading one of the hub's own resources."""
        if uri == "toolyard://status":
            body: Any = scope_status(self._status_of_all(), view)
        else:
            body = {"tools": [describe(view, name) for name in view.tool_names()]}
        text = jsonrpc.encode(body).decode()
        return jsonrpc.encode(
            {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}
        )

    def prompt(self, name: str, view: View) -> bytes:
        """The result of getting one of the hub's own prompts."""
        status = format_status(scope_status(self._status_of_all(), view))
        ask = _DOCTOR if name == "toolyard-doctor" else _SETUP
        message = {"role": "user", "content": {"type": "text", "text": f"{ask}\n\n{status}"}}
        return jsonrpc.encode({"messages": [message]})


_SETUP: Final = (
    "Help me set up MCP servers in Toolyard. Servers are added on a terminal with "
    "`toolyard add NAME -- COMMAND ARGS…` or `toolyard add NAME --url URL`, or in the file "
    "servers.json (`mcpServers`). Look at what is there now, ask what I need, and give me the "
    "exact commands."
)
_NOT_ALONE: Final = (
    "others use this server too, so only a client that sees the whole yard may let it rest; "
    "it rests by itself once nobody has called it for a while"
)
_DOES: Final = {
    Tier.READ: "only reads",
    Tier.WRITE: "writes",
    Tier.DESTROY: "may destroy something, or does not say that it does not",
}
_DOCTOR: Final = (
    "Something in my Toolyard may be broken. Go through the problems below one by one: what each "
    "means, the most likely cause, and the exact command that mends it."
)


def describe(view: View, name: str) -> JsonObject:
    """A tool as `toolyard_tools` shows it: its server's words, where it is, how it is called."""
    route = view.tools[name]
    fields = jsonrpc.fields(route.offer.raw)
    call_tool = CALLING[_tier(view, route)].name
    more = {"name": name, "server": route.alias, "tool": route.key, "callTool": call_tool}
    return {**fields, **more}


def _tier(view: View, route: Route) -> Tier:
    """The harm that a tool of a server can do: as the user marked it, or as it says itself."""
    return tier_of(route.offer, dict(view.entries[route.alias].marks))


def _other_tier(server: str, tool: str, own: Tier, asked: Tier) -> str:
    return (
        f"{CALLING[asked].name} does not call {server}'s {tool}, which {_DOES[own]}: "
        f"call it with {CALLING[own].name}, with the same arguments"
    )


def format_status(status: YardStatus | LimitedStatus) -> str:
    """The status as people read it."""
    lines = [f"Toolyard {status.version}: {counted(len(status.servers), 'server')}"]
    for server in status.servers:
        tick = {"ready": "✓", "failing": "✗"}.get(server.state, "·")
        state = f"{server.state}, {counted(server.tools, 'tool')}"
        line = f"  {tick} {server.alias} ({server.transport}) — {state}"
        lines.append(line if server.enabled else f"  · {server.alias} — disabled")
    for problem in status.problems:
        lines.append(f"  ! {problem.text}")
        lines.append(f"    → {problem.hint}")
    return "\n".join(lines)


def withheld(snapshot: Snapshot, entry: Entry, tool: str) -> ToolyardError | None:
    """The reason why a tool cannot be called though it is known; None if that is not so."""
    if tool in entry.held.tools:
        return _waits(snapshot, entry, f"tool {tool!r}")
    if tool in entry.unfit:
        text = f"tool {tool!r} of {entry.alias!r} is left out"
        return UnknownNameError(text, "its inputSchema is not of type object")
    return None


def withheld_prompt(snapshot: Snapshot, view: View, name: str) -> HeldError | None:
    """The reason why a prompt cannot be had though it is known; None if that is not so."""
    for alias, entry in view.entries.items():
        for key in entry.held.of("prompts"):
            if name == f"{alias}{view.filter.separator}{key}":
                return _waits(snapshot, entry, f"prompt {key!r}")
    return None


def _waits(snapshot: Snapshot, entry: Entry, offer: str) -> HeldError:
    # People approve by the name that the yard has for it, whatever it is called here.
    name = snapshot.entries.get(entry.server.id, entry).alias
    return HeldError(
        f"{offer} of {entry.alias!r} has changed and waits for approval",
        f"a person must look first: toolyard approve {name} --dry-run; "
        f"then: toolyard approve {name}",
    )


def unknown(kind: str, name: str, names: Any) -> str:
    """An error that lists what exists, closest names first."""
    near = closest(name, names)
    rest = [other for other in names if other not in near]
    listed = ", ".join([*near, *rest][:40]) or "none"
    return f"unknown {kind} {quoted(name)}; there are: {listed}"


def unknown_resource(snapshot: Snapshot, view: View, uri: str) -> str:
    """An error that says why a resource cannot be read, or by which addresses it can."""
    for entry in view.entries.values():
        if uri in entry.held.of("resources"):
            reason = _waits(snapshot, entry, f"resource {quoted(uri)}")
            return f"{reason}. {reason.hint}"
    tables = (view.resources, view.templates)
    wrapped = [name for table in tables for name, route in table.items() if route.key == uri]
    more = f"; there is: {', '.join(wrapped[:NEAR])}" if wrapped else ""
    return f"unknown resource {quoted(uri)}{more}"


class TextContent(Struct, frozen=True, kw_only=True):
    """A block of text in a result."""

    type: Literal["text"] = "text"
    text: str


class ToolResult(Struct, frozen=True, rename="camel"):
    """The result of a tool of the hub's own."""

    content: list[TextContent]
    is_error: bool
    structured_content: Any = UNSET


def text_result(text: str, structured: Any = None) -> Message:
    """A tool result of plain text."""
    content = UNSET if structured is None else structured
    return _result(ToolResult([TextContent(text=text)], is_error=False, structured_content=content))


def error_result(text: str) -> Message:
    """A tool result that says what went wrong."""
    return _result(ToolResult([TextContent(text=text)], is_error=True))


def _result(result: ToolResult) -> Message:
    return Message(result=Raw(jsonrpc.encode(result)))


def _arguments(fields: Fields) -> JsonObject:
    raw = fields.get("arguments")
    value = jsonrpc.to_python(raw) if raw is not None else {}
    return value if isinstance(value, dict) else {}
