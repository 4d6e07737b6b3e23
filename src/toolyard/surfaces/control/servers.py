"""Servers over the control API: looked at, written down, switched, started and ended."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.core.endpoint_body import EndpointBody
from toolyard.core.fields import Fields
from toolyard.hub import Hub
from toolyard.hub.orders import Orders
from toolyard.hub.rows import ServerDetails, ServerRow
from toolyard.operation import Done, Ordered
from toolyard.surfaces.control.api import Call, Operation, Reply

TOP = "/api/v1/servers"
ONE = "/api/v1/servers/{alias}"
ENTRY_HINT = 'write it as {"command": "..."} or {"url": "..."}'


class ServerEntry(EndpointBody, frozen=True):
    """A server as in the servers file: its endpoint, and what is beside it."""

    timeout: Annotated[float, Meta(gt=0)] | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    disabled: bool | UnsetType | None = UNSET


class NewServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server to write down."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    entry: ServerEntry


class ServerList(msgspec.Struct, frozen=True):
    """Every server; the revision is that of the picture, and the ETag."""

    revision: int
    servers: list[ServerRow]


class ServersDoor:
    """Questions and orders about servers."""

    def __init__(self, hub: Hub, orders: Orders) -> None:
        self._hub = hub
        self._orders = orders

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        return [*self._looking(), *self._writing(), *self._living()]

    def _looking(self) -> list[Operation]:
        return [
            Operation("GET", TOP, "All servers", self._list, ServerList, tag="servers"),
            Operation("GET", ONE, "One server", self._one, ServerDetails, tag="servers"),
        ]

    def _writing(self) -> list[Operation]:
        what: dict[str, Any] = {"answer": Ordered, "tag": "servers", "changes": True}
        new: dict[str, Any] = {"shape": NewServer, "errors": (409,), "status": 201}
        anew: dict[str, Any] = {"shape": ServerEntry, "errors": (409,)}
        refused: dict[str, Any] = {"errors": (409, 422)}
        return [
            Operation("POST", TOP, "Write a server down", self._add, **what, **new),
            Operation("PUT", ONE, "Write it down anew", self._change, **what, **anew),
            Operation("DELETE", ONE, "Take it out of the file", self._remove, **what, **refused),
            Operation("POST", f"{ONE}/enable", "Use it", self._enable, **what, **refused),
            Operation("POST", f"{ONE}/disable", "Do not", self._disable, **what, **refused),
        ]

    def _living(self) -> list[Operation]:
        what: dict[str, Any] = {"tag": "servers", "errors": (502, 503, 504), "changes": True}
        return [
            Operation(
                "POST", f"{ONE}/activate", "Start it now", self._activate, ServerDetails, **what
            ),
            Operation(
                "POST", f"{ONE}/restart", "End and start it", self._restart, ServerDetails, **what
            ),
            Operation("POST", f"{ONE}/deactivate", "Let it rest", self._rest, Done, **what),
        ]

    async def _list(self, call: Call) -> Reply:
        status = self._hub.status()
        return Reply(ServerList(status.revision, status.servers), etag=str(status.revision))

    async def _one(self, call: Call) -> Reply:
        return self._described(call.path["alias"])

    def _described(self, alias: str) -> Reply:
        return Reply(self._hub.describe(alias), etag=str(self._hub.snapshot.revision))

    async def _add(self, call: Call) -> Ordered:
        new = Fields(call.body, 'write it as {"name": "...", "entry": {...}}')
        new.only(("name", "entry"), "a new server")
        name = new.text("name")
        entry = _entry(Fields(new.get("entry"), ENTRY_HINT, within=new, server=name))
        return Ordered(name, await self._orders.add_server(name, entry))

    async def _change(self, call: Call) -> Ordered:
        alias = call.path["alias"]
        entry = _entry(Fields(call.body, ENTRY_HINT))
        return Ordered(alias, await self._orders.change_server(alias, entry))

    async def _remove(self, call: Call) -> Ordered:
        alias = call.path["alias"]
        return Ordered(alias, await self._orders.remove_server(alias))

    async def _enable(self, call: Call) -> Ordered:
        alias = call.path["alias"]
        return Ordered(alias, await self._orders.enable_server(alias, True))

    async def _disable(self, call: Call) -> Ordered:
        alias = call.path["alias"]
        return Ordered(alias, await self._orders.enable_server(alias, False))

    async def _activate(self, call: Call) -> Reply:
        await self._hub.activate(call.path["alias"])
        return self._described(call.path["alias"])

    async def _restart(self, call: Call) -> Reply:
        await self._hub.restart(call.path["alias"])
        return self._described(call.path["alias"])

    async def _rest(self, call: Call) -> Done:
        self._hub.deactivate(call.path["alias"])
        return Done()


def _entry(fields: Fields) -> dict[str, Any]:
    """Return what to write down; the servers file says what else is wrong with it.

    Raises:
        FaultsError: It is no entry.
    """
    fields.only(ServerEntry.__struct_fields__, "a server")
    fields.finish()
    return {key: value for key, value in fields.value.items() if value is not None}
