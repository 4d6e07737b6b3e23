"""Clients over the control API: who is here, the hub put into their files, and that undone.

The user's own files alone: those of projects are for the command line, which runs in them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.surfaces.control.api import Call, Operation

if TYPE_CHECKING:  # most hubs never change a client's file, and none does on its way up
    from toolyard.clients.change import Plan
    from toolyard.clients.connecting import ClientState, Connecting
    from toolyard.clients.journal import Record

TOP = "/api/v1/clients"
ONE = "/api/v1/clients/{name}"
CHANGES = "/api/v1/clients/changes"


class KnownClientRow(msgspec.Struct, frozen=True):
    """One client, and how it stands to the hub."""

    client: str
    title: str
    installed: bool
    connected: bool
    how: str
    file: str
    problem: str


class OwnEntry(msgspec.Struct, frozen=True):
    """The hub as most clients write a server down."""

    command: str
    args: list[str]
    env: dict[str, str] | UnsetType = UNSET


class ClientList(msgspec.Struct, frozen=True):
    """Every client that is known, and the entry for one that is not."""

    clients: list[KnownClientRow]
    entry: OwnEntry


class ConnectBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to connect a client; with `dry_run` nothing is written."""

    http: bool = False
    agent: Annotated[str, Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$")] = ""
    dry_run: bool = False


class DisconnectBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With `dry_run` nothing is written."""

    dry_run: bool = False


class ChangeAnswer(msgspec.Struct, frozen=True):
    """A change that was made, or would be; `difference` holds no secrets."""

    client: str
    file: str
    what: str
    changed: bool
    difference: str
    id: str
    dry_run: bool
    token_ended: str
    """The token that does not work any more."""
    note: str = ""


class ClientChangeRow(msgspec.Struct, frozen=True):
    """A change of the past."""

    id: str
    at: str
    client: str
    what: str
    file: str
    undone: str


class ChangeList(msgspec.Struct, frozen=True):
    """Every change that is remembered, the newest first."""

    changes: list[ClientChangeRow]


class ClientsDoor:
    """Questions and orders about clients' files; `connecting` gives what does it."""

    def __init__(self, connecting: Callable[[], Connecting]) -> None:
        self._connecting = connecting

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "clients"}
        order: dict[str, Any] = {"answer": ChangeAnswer, "errors": (404, 409, 422), **tag}
        put: dict[str, Any] = {"body": ConnectBody, **order}
        out: dict[str, Any] = {"body": DisconnectBody, **order}
        undo = f"{CHANGES}/{{id}}/undo"
        return [
            Operation("GET", TOP, "All clients", self._list, ClientList, **tag),
            Operation("GET", CHANGES, "Changes of their files", self._changes, ChangeList, **tag),
            Operation("POST", f"{ONE}/connect", "Put the hub in", self._connect, **put),
            Operation("POST", f"{ONE}/disconnect", "Take it out", self._disconnect, **out),
            Operation("POST", undo, "Undo a change", self._undo, **out),
        ]

    async def _list(self, call: Call) -> ClientList:
        connecting = self._connecting()
        rows = await asyncio.to_thread(connecting.rows)
        entry = msgspec.convert(connecting.entry(), OwnEntry)
        return ClientList([_client(row) for row in rows], entry)

    async def _changes(self, call: Call) -> ChangeList:
        records = await asyncio.to_thread(self._connecting().changes.journal.records)
        return ChangeList([_change(each) for each in records])

    async def _connect(self, call: Call) -> ChangeAnswer:
        connecting = self._connecting()
        return await asyncio.to_thread(_connect_now, connecting, call.path["name"], call.body)

    async def _disconnect(self, call: Call) -> ChangeAnswer:
        connecting = self._connecting()
        return await asyncio.to_thread(_disconnect_now, connecting, call.path["name"], call.body)

    async def _undo(self, call: Call) -> ChangeAnswer:
        connecting = self._connecting()
        return await asyncio.to_thread(_undo_now, connecting, call.path["id"], call.body)


def _connect_now(connecting: Connecting, name: str, asked: ConnectBody) -> ChangeAnswer:
    from toolyard.clients.connecting import Wish

    wish = Wish(None, asked.http, asked.agent)
    plan = connecting.plan(name, wish)
    record = None if asked.dry_run else connecting.connect(plan, wish)
    ended = record.ended if record else ""
    return _answer(plan, record, asked.dry_run, ended, connecting.note(wish))


def _disconnect_now(connecting: Connecting, name: str, asked: DisconnectBody) -> ChangeAnswer:
    plan = connecting.plan_disconnect(name)
    record = None if asked.dry_run else connecting.disconnect(plan)
    return _answer(plan, record, asked.dry_run, record.ended if record else "")


def _undo_now(connecting: Connecting, id_: str, asked: DisconnectBody) -> ChangeAnswer:
    record, plan = connecting.changes.plan_undo(id_)
    ended = "" if asked.dry_run else connecting.undo(record, plan)
    return _answer(plan, record, asked.dry_run, ended)


def _client(row: ClientState) -> KnownClientRow:
    client = row.client
    connected = bool(row.how)
    return KnownClientRow(
        client.name, client.title, row.installed, connected, row.how, str(row.path), row.problem
    )


def _change(record: Record) -> ClientChangeRow:
    return ClientChangeRow(
        record.id, record.at, record.client, record.what, record.path, record.undone
    )


def _answer(
    plan: Plan, record: Record | None, dry_run: bool, ended: str, note: str = ""
) -> ChangeAnswer:
    place = plan.place
    return ChangeAnswer(
        place.client.name,
        str(place.path),
        plan.what,
        plan.changes,
        plan.difference,
        record.id if record else "",
        dry_run,
        ended,
        note,
    )
