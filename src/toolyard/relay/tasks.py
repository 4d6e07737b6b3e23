"""Tasks of 2025-11-25: which server has which, and whose they are."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from toolyard.core.errors import ToolyardError, UnknownNameError
from toolyard.core.model import Offer, ServerId
from toolyard.links.pool import Pool
from toolyard.relay.calls import Calls
from toolyard.relay.session import Exchange, Session
from toolyard.relay.view import Route, View
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

KEPT: Final = 10_000
_NO_OFFER: Final = Offer("", b"{}")


class TaskTable:
    """Remembers every task that was made through the hub; the oldest are forgotten first."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._tasks: dict[str, tuple[ServerId, Session]] = {}

    def note(self, exchange: Exchange, server: ServerId, reply: Message) -> None:
        """A call that asked for a task was answered."""
        task = jsonrpc.fields(reply.result).get("task") if reply.result else None
        if task is None:
            return
        while len(self._tasks) >= KEPT:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[_id(jsonrpc.fields(task))] = (server, exchange.session)

    async def follow(self, exchange: Exchange, method: str, fields: Fields, view: View) -> Message:
        """Take a request about a task to the server that has it.

        Raises:
            UnknownNameError: This client made no such task.
        """
        id_ = _id(fields)
        found = self._tasks.get(id_)
        if found is None or found[1].principal != exchange.session.principal:
            raise UnknownNameError(f"unknown task {id_!r}")
        return await self._calls.send(
            exchange, method, fields, Route(found[0], id_, _NO_OFFER), view
        )

    async def list(self, exchange: Exchange, pool: Pool) -> Message:
        """The tasks of this client, as their servers see them now."""
        tasks: list[Raw] = []
        for id_, (server, session) in list(self._tasks.items()):
            if session.principal == exchange.session.principal:
                try:
                    link = await pool.lease(server)
                    tasks.append(Raw(await link.ask("tasks/get", jsonrpc.encode({"taskId": id_}))))
                except ToolyardError:
                    del self._tasks[id_]
        return Message(result=Raw(jsonrpc.encode({"tasks": tasks})))

    def changed(self, params: bytes) -> None:
        """A server says that a task changed; its client is told."""
        try:
            found = self._tasks.get(_id(jsonrpc.fields(params)))
        except jsonrpc.MalformedError:
            return
        if found is not None:
            found[1].push(jsonrpc.notification("notifications/tasks/status", params))


def _id(fields: Fields) -> str:
    raw = fields.get("taskId")
    value = jsonrpc.to_python(raw) if raw is not None else ""
    return value if isinstance(value, str) else ""
