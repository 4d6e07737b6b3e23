"""Questions and orders about the quirks of clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.known_clients import known_clients
from toolyard.core.model import Snapshot
from toolyard.core.quirks import FIELDS, ClientQuirk, KnownClient, read_quirk
from toolyard.features.quirks.store import QuirkRecords
from toolyard.operation import Guard, Needs, NoInput, Ordered, operation
from toolyard.relay.relay import Relay
from toolyard.relay.session import Session
from toolyard.yard import Yard

TOP = "/api/v1/passports"
ONE = "/api/v1/passports/{name}"
TAG = "passports"
Limit = Annotated[int, Meta(ge=0)]


class QuirkFact(Struct, frozen=True):
    """The origin of one entry, and how well it is known."""

    field: str
    proof: str
    text: str


class ConnectedClientRow(Struct, frozen=True):
    """Clients that made themselves known under one name."""

    name: str
    version: str
    sessions: int
    """Sessions that are open now; a client of the modern era has none."""
    listed: int = 0
    left_out: int = 0
    """Tools that are not listed to it because it takes no more."""


class ClientQuirksRow(Struct, frozen=True):
    """The abilities and limits of one client; 0 and null stand for what is not known."""

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
    facts: list[QuirkFact]
    overridden: list[str]
    """The entries the user has set."""
    clients: list[ConnectedClientRow]


class ClientQuirksList(Struct, frozen=True):
    """Every client that is known, and the connected ones that are not."""

    revision: int
    passports: list[ClientQuirksRow]
    strangers: list[ConnectedClientRow]


class PutQuirk(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Entries to set for a client; what is not named stays, 0 lifts a limit."""

    name: str
    relists: bool | UnsetType = UNSET
    longest_name: Limit | UnsetType = UNSET
    most_tools: Limit | UnsetType = UNSET
    largest_result: Limit | UnsetType = UNSET
    longest_instructions: Limit | UnsetType = UNSET

    def quirk(self) -> ClientQuirk:
        """Return the quirk it describes.

        Raises:
            ConfigError: It cannot be used.
        """
        values = {entry: getattr(self, entry) for entry in FIELDS}
        entries = {entry: value for entry, value in values.items() if value is not UNSET}
        return read_quirk(self.name, entries)

    @classmethod
    def of(cls, quirk: ClientQuirk) -> PutQuirk:
        """Return the order that sets a quirk."""
        return msgspec.convert({"name": quirk.name, **quirk.entries}, cls)


class ClientName(Struct, frozen=True):
    """The client that is meant."""

    name: str


@operation("GET", TOP, tag=TAG, needs=Needs.FILES, from_picture=True)
async def list_quirks(yard: Yard, order: NoInput) -> ClientQuirksList:
    """All clients with their quirks."""
    snapshot = yard.snapshot
    connected = list(_connected(yard.part(Relay))) if yard.is_live else []
    rows = []
    for client in known_clients(snapshot.quirks):
        quirk = snapshot.quirks.get(client.name)
        theirs = [row for name, row in connected if name == client.name]
        rows.append(_row(client, list(quirk.entries) if quirk else [], theirs))
    strangers = [row for name, row in connected if not name]
    return ClientQuirksList(snapshot.revision, rows, strangers)


@operation("PUT", ONE, tag=TAG, needs=Needs.FILES, guard=Guard.PICTURE)
async def put_quirk(yard: Yard, order: PutQuirk) -> Ordered:
    """Set quirks of a client; its sessions see the effect at once."""
    quirk = order.quirk()
    await asyncio.to_thread(yard.part(QuirkRecords).put, quirk, by=yard.caller)

    def holds(picture: Snapshot) -> bool:
        present = picture.quirks.get(quirk.name)
        return present is not None and quirk.entries.items() <= present.entries.items()

    return Ordered(quirk.name, await yard.seen(holds))


@operation("DELETE", ONE, tag=TAG, needs=Needs.FILES, guard=Guard.PICTURE)
async def reset_quirks(yard: Yard, order: ClientName) -> Ordered:
    """Delete all that was set for a client."""
    await asyncio.to_thread(yard.part(QuirkRecords).remove, order.name, by=yard.caller)
    noticed = await yard.seen(lambda picture: order.name not in picture.quirks)
    return Ordered(order.name, noticed)


def _connected(relay: Relay) -> Iterator[tuple[str, ConnectedClientRow]]:
    """The clients that made themselves known, each with the name under which it is known."""
    sessions = relay.subscriptions.sessions
    for identified in relay.quirks.clients:
        theirs = [session for session in sessions if session.info == identified.info]
        client = identified.known_client
        row = _connected_row(relay, identified.client, identified.version, theirs)
        yield client.name if client is not None else "", row


def _connected_row(
    relay: Relay, name: str, version: str, sessions: list[Session]
) -> ConnectedClientRow:
    if not sessions:
        return ConnectedClientRow(name, version, 0)
    view = relay.views.look(sessions[0].view_key)
    listed = len(view.lists["tools"].items)
    return ConnectedClientRow(name, version, len(sessions), listed, view.left_out)


def _row(
    client: KnownClient, overridden: list[str], connected: list[ConnectedClientRow]
) -> ClientQuirksRow:
    return ClientQuirksRow(
        client.name,
        client.title,
        list(client.matches),
        list(client.transports),
        client.era,
        client.relists,
        client.longest_name,
        client.most_tools,
        client.largest_result,
        client.longest_instructions,
        [QuirkFact(fact.field, fact.proof, fact.text) for fact in client.facts],
        overridden,
        connected,
    )
