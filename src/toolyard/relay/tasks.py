"""Tasks of 2025-11-25: which server has which, and whose they are."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.core.model import Offer, ServerId
from toolyard.relay.calls import Calls
from toolyard.relay.routes import Route
from toolyard.relay.session import Exchange, Session
from toolyard.relay.view import View
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

KEPT: Final = 10_000
_NO_OFFER: Final = Offer("", b"{}")


class TaskTable:
    """Remembers every task that was made through the hub; the oldest are forgotten first."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._tasks: dict[tuple[str, str], tuple[Route, Session]] = {}
        """By client and id: servers that run for one client each may well count alike."""

    def note(self, exchange: Exchange, route: Route, reply: Message) -> None:
        """A call that asked for a task was answered."""
        task = jsonrpc.fields(reply.result).get("task") if reply.result else None
        if task is None:
            return
        while len(self._tasks) >= KEPT:
            del self._tasks[next(iter(self._tasks))]
        key = (exchange.session.principal, _id(jsonrpc.fields(task)))
        self._tasks[key] = (route, exchange.session)

    async def follow(self, exchange: Exchange, method: str, fields: Fields, view: View) -> Message:
        """Take a request about a task to the server that has it.

        Raises:
            UnknownNameError: This client made no such task.
        """
        id_ = _id(fields)
        found = self._tasks.get((exchange.session.principal, id_))
        if found is None:
            raise UnknownNameError(f"unknown task {id_!r}")
        route = Route(found[0].server, id_, _NO_OFFER, apart=found[0].apart)
        return await self._calls.send(exchange, method, fields, route, view)

    async def list(self, exchange: Exchange) -> Message:
        """The tasks of this client, as their servers see them now."""
        tasks: list[Raw] = []
        for key, (route, session) in list(self._tasks.items()):
            if key[0] == exchange.session.principal:
                asked = jsonrpc.encode({"taskId": key[1]})
                try:
                    link = await self._calls.link_for(route, session)
                    tasks.append(Raw(await link.ask("tasks/get", asked)))
                except ToolyardError:
                    del self._tasks[key]
        return Message(result=Raw(jsonrpc.encode({"tasks": tasks})))

    def changed(self, server: ServerId, key: str, params: bytes) -> None:
        """A server says that a task changed; its client is told.

        `key` is that of the client for which the server runs; empty if it runs for all.
        """
        try:
            id_ = _id(jsonrpc.fields(params))
        except jsonrpc.MalformedError:
            return
        if key:
            found = [self._tasks.get((key, id_))]
        else:
            found = [each for at, each in self._tasks.items() if at[1] == id_]
        for each in found:
            if each is not None and each[0].server == server:
                each[1].push(jsonrpc.notification("notifications/tasks/status", params))


def _id(fields: Fields) -> str:
    raw = fields.get("taskId")
    value = jsonrpc.to_python(raw) if raw is not None else ""
    return value if isinstance(value, str) else ""
