"""Questions about tools, and the orders to call one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Raw, Struct

from toolyard.core.errors import LinkError, ToolyardError, UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.features.tools.own_tools import ToolCall, ToolsQuery
from toolyard.features.tools.store import NAME_LONGEST, InputsFile
from toolyard.features.tools.watching import WatchedCalls
from toolyard.operation import Done, Needs, OpenObject, RawObject, Streamed, operation
from toolyard.relay.answers import describe, unknown
from toolyard.relay.relay import Relay
from toolyard.relay.session import Outlet, Session
from toolyard.relay.view import FoundTools, View
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message
from toolyard.yard import Stopping, Yard

LISTED: Final = 1000
COMPLETED: Final = 200
"""Names that a shell is offered."""
TOOLS: Final = "/api/v1/tools"
INPUTS: Final = "/api/v1/tools/{server}/{tool:path}/inputs"
CALLS: Final = "/api/v1/calls"
LOOK_SECONDS: Final = 1.0
"""The time after which it is looked whether the caller of a long call is still there."""


class ToolList(Struct, frozen=True):
    """Tools, as their servers describe them, and how many there are in all."""

    tools: list[OpenObject]
    total: int


class NamesQuery(Struct, frozen=True):
    """The beginning of a tool's name: of its own name at a server, if that is given."""

    begin: str = ""
    server: str = ""


class ToolNames(Struct, frozen=True):
    """Names of tools; of very many, the first."""

    names: list[str]


class Try(ToolCall, frozen=True, omit_defaults=True):
    """Which tool to call, and with what."""


class Told(Struct, frozen=True):
    """One event of a call that is watched; its `data` is JSON."""

    event: Literal[
        "begun", "progress", "log", "question", "withdrawn", "result", "refused", "cancelled"
    ]
    data: str


class WatchedCallId(Struct, frozen=True):
    """The watched call that is meant."""

    id: str


class PersonSaid(Struct, frozen=True):
    """A person's answer to a question of the server."""

    id: str
    question: int
    action: Literal["accept", "decline", "cancel"]
    content: JsonObject = {}


class SavedInput(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a tool, under a name."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LONGEST)]
    arguments: Annotated[JsonObject, Meta(description="Whatever the tool takes.")]


class SavedInputs(Struct, frozen=True):
    """All that was saved for one tool."""

    server: str
    tool: str
    inputs: list[SavedInput]


class SaveInput(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a tool, under a name."""

    server: str
    tool: str
    name: Annotated[str, Meta(min_length=1, max_length=NAME_LONGEST)]
    arguments: Annotated[JsonObject, Meta(description="Whatever the tool takes.")]


class InputsOf(Struct, frozen=True):
    """The tool whose inputs are meant."""

    server: str
    tool: str


class WhichInput(Struct, frozen=True):
    """The input to delete; all of the tool's without a name."""

    server: str
    tool: str
    name: str = ""


@operation("GET", TOOLS, tag="yard", errors=(404, 409))
async def list_tools(yard: Yard, order: ToolsQuery) -> ToolList:
    """List or search tools."""
    relay = yard.part(Relay)
    view = relay.views.look()
    _check_server(view, order.server)
    most = order.limit if order.limit > 0 else LISTED
    found = await view.find_tools(order.query, order.server, None if order.name else most)
    if order.name:
        names = _of_name(relay, view, found.names, order)
        found = FoundTools(names[:most], len(names))
    return ToolList([describe(view, name) for name in found.names], found.total)


@operation("GET", f"{TOOLS}/names", errors=(404,))
async def list_names(yard: Yard, order: NamesQuery) -> ToolNames:
    """Names of tools that begin like this."""
    view = yard.part(Relay).views.look()
    _check_server(view, order.server)
    names = view.tool_names(order.server)
    if order.server:
        names = [view.tools[name].key for name in names]
    return ToolNames([name for name in names if name.startswith(order.begin)][:COMPLETED])


@operation("POST", "/api/v1/call", tag="yard", errors=(404, 409, 502))
async def call_tool(yard: Yard, order: ToolCall) -> RawObject:
    """Call a tool."""
    wanted, relay = await _wanted(yard, order), yard.part(Relay)
    view = await relay.answers.woken(relay.views.look(), order.server)
    relay.answers.find(view, order.server, order.tool)
    session = Session("control", _drop, agent="control", caller="control", is_stateless=True)
    calling = relay.call(session, wanted, Outlet(_drop), view=view)
    message = await _while_there(yard, calling)
    if message.error:
        fault = jsonrpc.read_fault(message.error)
        raise LinkError(f"{order.server!r} refused the call: {fault.message} ({fault.code})")
    return message.result


async def _while_there(yard: Yard, calling: Coroutine[Any, Any, Message]) -> Message:
    """Wait for a call; it is cancelled once whoever made it has hung up.

    Raises:
        ToolyardError: It failed, or nobody waits for it any more.
    """
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_ended(calling))
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK_SECONDS)
            if not task.done() and await yard.has_left():
                task.cancel()
                break
    end = LinkError("the caller has hung up") if task.cancelled() else task.result()
    if isinstance(end, ToolyardError):
        raise end
    return end


async def _ended(calling: Coroutine[Any, Any, Message]) -> Message | ToolyardError:
    """The end of a call: its answer, or why there is none."""
    try:
        return await calling
    except ToolyardError as error:
        return error


@operation("POST", CALLS, media="text/event-stream")
async def watch_call(yard: Yard, order: Try) -> Streamed[Told]:
    """Call a tool, and watch.

    Whoever leaves before the end cancels the call.
    """
    wanted, calls = await _wanted(yard, order), yard.part(WatchedCalls)
    return Streamed(calls.watch(yard.part(Relay), wanted, yard.part(Stopping)))


@operation("POST", CALLS + "/{id}/answer")
async def answer_question(yard: Yard, order: PersonSaid) -> Done:
    """Answer it."""
    call = yard.part(WatchedCalls).get(order.id)
    call.answer(order.question, order.action, order.content)
    return Done()


@operation("DELETE", CALLS + "/{id}")
async def cancel_call(yard: Yard, order: WatchedCallId) -> Done:
    """Cancel it."""
    yard.part(WatchedCalls).get(order.id).cancelled.set()
    return Done()


@operation("GET", INPUTS, needs=Needs.FILES)
async def list_inputs(yard: Yard, order: InputsOf) -> SavedInputs:
    """Saved inputs of a tool."""
    saved = await asyncio.to_thread(yard.part(InputsFile).of, order.server, order.tool)
    inputs = [SavedInput(name, arguments) for name, arguments in saved.items()]
    return SavedInputs(order.server, order.tool, inputs)


@operation("PUT", INPUTS, needs=Needs.FILES)
async def save_input(yard: Yard, order: SaveInput) -> Done:
    """Save an input."""
    inputs = yard.part(InputsFile)
    await asyncio.to_thread(inputs.put, order.server, order.tool, order.name, order.arguments)
    return Done()


@operation("DELETE", INPUTS, needs=Needs.FILES)
async def remove_input(yard: Yard, order: WhichInput) -> Done:
    """Delete one."""
    inputs = yard.part(InputsFile)
    await asyncio.to_thread(inputs.remove, order.server, order.tool, order.name)
    return Done()


def _check_server(view: View, server: str) -> None:
    if server and server not in view.entries:
        raise UnknownNameError(unknown("server", server, view.entries))


def _of_name(relay: Relay, view: View, names: list[str], order: ToolsQuery) -> list[str]:
    """Return those of the tools that have this name; a full name is one tool's alone.

    Raises:
        HeldError: It waits for approval.
    """
    if order.name in names:
        return [order.name]
    names = [name for name in names if view.tools[name].key == order.name]
    server = order.server
    if not server and order.name in view.withheld:
        server = view.withheld[order.name][0].alias
    if server and not names:
        with contextlib.suppress(UnknownNameError, LinkError):
            relay.answers.find(view, server, order.name)
    return names


async def _wanted(yard: Yard, order: ToolCall) -> Raw:
    """Return what is to be called, and with what, as the hub's call tools take it."""
    arguments = order.arguments
    if order.input:
        inputs = yard.part(InputsFile)
        saved = await asyncio.to_thread(inputs.get, order.server, order.tool, order.input)
        arguments = saved | arguments
    return Raw(jsonrpc.encode({"server": order.server, "tool": order.tool, "arguments": arguments}))


def _drop(_message: bytes) -> None:
    return None
