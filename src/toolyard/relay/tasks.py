"""Tasks: work that outlives its call. Which server has which, and whose they are.

In 2025-11-25 a client asks for a task with its call; in the modern era the server decides, for
clients that declare the extension. They do not cross from one era to the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.core.model import ServerId
from toolyard.core.names import quoted
from toolyard.relay.calls import Calls
from toolyard.relay.extensions import knows_tasks
from toolyard.relay.guards import task_guards
from toolyard.relay.handles import Handles
from toolyard.relay.routes import NO_OFFER, Route
from toolyard.relay.session import ClientRequest, Session
from toolyard.relay.view import View
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

KEPT: Final = 10_000
_tasks: Final = msgspec.json.Decoder(list[Raw]).decode
PURPOSE: Final = "task"


@dataclass(frozen=True, slots=True)
class _Task:
    """A task, and the name that its server has for it."""

    id: str
    route: Route
    session: Session


class TaskTable:
    """Remembers every task that was made through the hub.

    Of too many the oldest is forgotten of the client that has most.
    """

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._tasks: dict[str, dict[str, _Task]] = {}
        """By client, then by the id it knows."""
        self._count = 0

    def note(self, request: ClientRequest, route: Route, reply: Message) -> None:
        """A call that may have begun a task was answered."""
        if request.is_modern and not knows_tasks(request.capabilities):
            return
        try:
            members = jsonrpc.fields(reply.result)
            task = members if request.is_modern else jsonrpc.fields(members.get("task", b""))
        except jsonrpc.MalformedError:
            return
        id_ = _id(task)
        if not id_ or (request.is_modern and bytes(task.get("resultType", b"")) != b'"task"'):
            return
        shown = self._keep(request.session.principal, _Task(id_, route, request.session))
        if shown != id_:
            task["taskId"] = Raw(jsonrpc.encode(shown))
            fields = task if request.is_modern else {**members, "task": task}
            reply.result = Raw(jsonrpc.encode(fields))

    def _keep(self, principal: str, task: _Task) -> str:
        """Remember a task; the id that its client shall know it by.

        It is the server's, unless another server of this client has one that is called the same,
        or other replicas must find the task by it.
        """
        if self._count >= KEPT:
            self._forget_one()
        theirs = self._tasks.setdefault(principal, {})
        shown = self._handles.make(PURPOSE, task.session, task.id)
        while shown in theirs and theirs[shown].route.server != task.route.server:
            shown = f"{task.id}-{secrets.token_hex(4)}"
        self._count += shown not in theirs
        theirs[shown] = task
        return shown

    def _forget_one(self) -> None:
        principal = max(self._tasks, key=lambda name: len(self._tasks[name]))
        self._forget(principal, next(iter(self._tasks[principal])))

    def _forget(self, principal: str, shown: str) -> None:
        theirs = self._tasks.get(principal, {})
        self._count -= theirs.pop(shown, None) is not None
        if not theirs:
            self._tasks.pop(principal, None)

    def leave(self, principal: str) -> None:
        """A client is gone, and with it whoever could ask for its tasks."""
        self._count -= len(self._tasks.pop(principal, ()))

    async def follow(self, calls: Calls, request: ClientRequest, view: View) -> Message:
        """Take a request about a task to the server that has it.

        Raises:
            UnknownNameError: This client has no such task.
            LinkError: Another replica has it, and cannot be reached.
        """
        shown = _id(request.params)
        route = self.route(request.session.principal, shown, view)
        if route is None:
            answer = await self._handles.pass_on(PURPOSE, shown, request)
            if answer is None:
                raise UnknownNameError(f"unknown task {quoted(shown)}")
            return answer
        fields = {**request.params, "taskId": route.raw_key}
        reply = await calls.send(request, request.method, fields, route, view)
        if shown != route.key and reply.result:
            reply.result = Raw(_renamed(bytes(reply.result), shown))
        return reply

    def route(self, principal: str, shown: str, view: View) -> Route | None:
        """Find the server of a task by the id that its client knows; None if it is not its own."""
        task = self._tasks.get(principal, {}).get(shown)
        if task is None or not view.shows(task.route.server):
            return None
        began = task.route
        guards = task_guards(began.guards) if began.guards else ()
        return Route(
            began.server, task.id, NO_OFFER, apart=began.apart, wraps=began.wraps, guards=guards
        )

    async def list(self, calls: Calls, request: ClientRequest) -> Message:
        """The tasks of this client, as their servers see them now."""
        tasks: list[Raw] = []
        principal = request.session.principal
        for shown, task in list(self._tasks.get(principal, {}).items()):
            if task.session.is_modern:
                continue
            params = jsonrpc.encode({"taskId": task.id})
            try:
                link = await calls.link_for(task.route, task.session)
                tasks.append(Raw(_renamed(await link.ask("tasks/get", params), shown)))
            except ToolyardError:
                self._forget(principal, shown)
        return Message(result=Raw(jsonrpc.encode({"tasks": tasks})))

    def changed(self, server: ServerId, key: str, params: bytes) -> None:
        """A server says that a task changed; its client is told.

        `key` is that of the owner for whom the server runs; empty if it runs for all.
        """
        try:
            id_ = _id(jsonrpc.fields(params))
        except jsonrpc.MalformedError:
            return
        for shown, task in self._of(server, key, id_):
            note = jsonrpc.notification("notifications/tasks/status", _renamed(params, shown))
            task.session.push(note)

    def _of(self, server: ServerId, key: str, id_: str) -> Iterator[tuple[str, _Task]]:
        """All that clients know as this task of a server."""
        tables = [self._tasks[key]] if key in self._tasks else self._tasks.values()
        for theirs in tables:
            for shown, task in theirs.items():
                if task.id == id_ and task.route.server == server and task.session.is_of(key):
                    yield shown, task


def merge_tasks(lists: Iterable[Message]) -> Message:
    """The tasks of several replicas as one list."""
    tasks: list[Raw] = []
    for reply in lists:
        if reply.result:
            tasks += _tasks(jsonrpc.fields(reply.result).get("tasks", b"[]"))
    return Message(result=Raw(jsonrpc.encode({"tasks": tasks})))


def missing_tasks() -> Message:
    """The refusal of a request about tasks, for a client that does not declare them."""
    text = "this needs a client that declares the tasks extension"
    needed: Any = {"requiredCapabilities": {"extensions": {era.TASKS: {}}}}
    return Message(error=Raw(jsonrpc.fault(era.MISSING_CAPABILITY, text, needed)))


def _renamed(raw: bytes, shown: str) -> bytes:
    """Put the id that its client knows into what a server says of a task."""
    try:
        fields = jsonrpc.fields(raw)
    except jsonrpc.MalformedError:
        return raw
    if _id(fields) in ("", shown):
        return raw
    return jsonrpc.encode({**fields, "taskId": shown})


def _id(fields: Fields) -> str:
    return jsonrpc.text(fields.get("taskId"))
