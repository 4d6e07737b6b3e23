"""What is known of clients, over the control API, and who of them is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.core.known_clients import passports
from toolyard.core.passport import Passport, read_override
from toolyard.hub import Hub
from toolyard.hub.orders import Orders
from toolyard.operation import Ordered
from toolyard.relay.relay import Relay
from toolyard.relay.session import Session
from toolyard.surfaces.control.api import Call, Operation, Reply

TOP = "/api/v1/passports"
ONE = "/api/v1/passports/{name}"
Limit = Annotated[int, Meta(ge=0)]


class PassportFact(msgspec.Struct, frozen=True):
    """Where one entry comes from, and how well it is known."""

    field: str
    proof: str
    text: str


class ConnectedClientRow(msgspec.Struct, frozen=True):
    """Clients that made themselves known under one name."""

    name: str
    version: str
    sessions: int
    """Sessions that are open now; a client of the modern era has none."""
    listed: int = 0
    left_out: int = 0
    """Tools that are not listed to it because it takes no more."""


class PassportRow(msgspec.Struct, frozen=True):
    """What is known of one client; 0 and null stand for what is not."""

    name: str
    title: str
    matches: list[str]
    transports: list[str]
    era: str
    relists: bool | None
    longest_name: int
    most_tools: int
    largest_result: int
    longest_instructions: int
    facts: list[PassportFact]
    overridden: list[str]
    """The entries the user has set."""
    clients: list[ConnectedClientRow]


class PassportList(msgspec.Struct, frozen=True):
    """Every passport, and the clients that have none."""

    revision: int
    passports: list[PassportRow]
    strangers: list[ConnectedClientRow]


class PassportBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user says of a client; what is not named stays, 0 lifts a limit."""

    relists: bool | UnsetType = UNSET
    longest_name: Limit | UnsetType = UNSET
    most_tools: Limit | UnsetType = UNSET
    largest_result: Limit | UnsetType = UNSET
    longest_instructions: Limit | UnsetType = UNSET


class PassportsDoor:
    """Questions and orders about clients' passports."""

    def __init__(self, hub: Hub, relay: Relay, orders: Orders) -> None:
        self._hub = hub
        self._relay = relay
        self._orders = orders

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "passports"}
        order: dict[str, Any] = {"tag": "passports", "changes": True}
        return [
            Operation("GET", TOP, "What is known of clients", self._list, PassportList, **tag),
            Operation("PUT", ONE, "Say otherwise", self._put, Ordered, body=PassportBody, **order),
            Operation("DELETE", ONE, "Take it back", self._remove, Ordered, **order),
        ]

    async def _list(self, call: Call) -> Reply:
        snapshot = self._hub.snapshot
        there = list(self._clients())
        rows = []
        for each in passports(snapshot.overrides):
            said = snapshot.overrides.get(each.name)
            clients = [row for name, row in there if name == each.name]
            rows.append(make_row(each, list(said.said) if said is not None else [], clients))
        strangers = [row for name, row in there if not name]
        return Reply(PassportList(snapshot.revision, rows, strangers), etag=str(snapshot.revision))

    def _clients(self) -> Iterator[tuple[str, ConnectedClientRow]]:
        """Who made itself known, each with the name of its passport."""
        sessions = self._relay.subscriptions.sessions
        for known in self._relay.passports.known:
            theirs = [each for each in sessions if each.info == known.info]
            passport = known.passport.name if known.passport is not None else ""
            yield passport, self._client(known.client, known.version, theirs)

    def _client(self, name: str, version: str, sessions: list[Session]) -> ConnectedClientRow:
        if not sessions:
            return ConnectedClientRow(name, version, 0)
        view = self._relay.view(sessions[0].view_key)
        listed = len(view.lists["tools"].items)
        return ConnectedClientRow(name, version, len(sessions), listed, view.left_out)

    async def _put(self, call: Call) -> Ordered:
        name = call.path["name"]
        override = read_override(name, msgspec.to_builtins(call.body))
        return Ordered(name, await self._orders.put_passport(override))

    async def _remove(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._orders.remove_passport(name))


def make_row(
    passport: Passport, overridden: list[str], clients: list[ConnectedClientRow]
) -> PassportRow:
    """A passport as the API shows it."""
    return PassportRow(
        passport.name,
        passport.title,
        list(passport.matches),
        list(passport.transports),
        passport.era,
        passport.relists,
        passport.longest_name,
        passport.most_tools,
        passport.largest_result,
        passport.longest_instructions,
        [PassportFact(fact.field, fact.proof, fact.text) for fact in passport.facts],
        overridden,
        clients,
    )
