"""What servers say outside of calls, and which clients hear it."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.core.model import Server
from toolyard.links.instances import Instance
from toolyard.links.link import Link
from toolyard.links.offered import LISTS
from toolyard.relay.followed import Place, place_of_instance
from toolyard.relay.session import Session
from toolyard.relay.subscriptions import TASK_CHANGED, Subscriptions
from toolyard.relay.tasks import TaskTable
from toolyard.wire import jsonrpc


class Hearing:
    """Takes the notifications of servers to whoever they concern."""

    def __init__(self, subscriptions: Subscriptions, tasks: TaskTable) -> None:
        self._subscriptions = subscriptions
        self._tasks = tasks

    def heard(self, server: Server, _link: Link, method: str, params: bytes) -> None:
        """Take what a server says that all clients share."""
        self._take((server.id, "", ""), self._subscriptions.sessions, method, params)

    def heard_apart(self, instance: Instance, _link: Link, method: str, params: bytes) -> None:
        """Take what a server says that runs apart: whom it runs for hears it, and nobody else."""
        key = instance.owner.key
        sessions = [session for session in self._subscriptions.sessions if session.is_of(key)]
        if method in LISTS and key:
            self._subscriptions.tell_changed(key, method)
        else:
            self._take(place_of_instance(instance), sessions, method, params)

    def _take(self, place: Place, sessions: Iterable[Session], method: str, params: bytes) -> None:
        server, key, _ = place
        if method == "notifications/resources/updated":
            self._subscriptions.updated(place, params)
        elif method == TASK_CHANGED:
            self._subscriptions.task_changed(place, params)
        elif method == "notifications/tasks/status":
            self._tasks.changed(server, key, params)
        elif method == "notifications/elicitation/complete":
            _elicited(sessions, params)


def _elicited(sessions: Iterable[Session], params: bytes) -> None:
    """A question asked on a web page is settled: whoever was sent there hears of it."""
    id_ = jsonrpc.text(jsonrpc.fields(params).get("elicitationId"))
    for session in sessions:
        if id_ in session.elicitations:
            session.elicitations.discard(id_)
            session.push(jsonrpc.notification("notifications/elicitation/complete", params))
