"""Questions and orders about clients and their files.

A client's files are where the environment of its user says. The command line therefore carries
these out in its own process, also beside a running hub; the hub carries them out for its page.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.errors import ConfigError
from toolyard.operation import Needs, NoInput, operation
from toolyard.yard import Yard

if TYPE_CHECKING:  # most hubs never change a client's file, and none does on its way up
    from toolyard.features.clients.connecting import ClientState, Connecting
    from toolyard.features.clients.journal import Record
    from toolyard.features.clients.plan import ChangePlan

TOP = "/api/v1/clients"
ONE = "/api/v1/clients/{name}"
CHANGES = "/api/v1/clients/changes"
ERRORS = (404, 409, 422)
Folder = Annotated[str, Meta(max_length=4096)]
Batch = Annotated[str, Meta(max_length=64)]
Hub = Annotated[str, Meta(max_length=2048)]
Name = Annotated[str, Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$")]


class ClientsOfProject(Struct, frozen=True):
    """The files that are meant: the user's own, or those of a project."""

    project: Folder = ""
    """The project's folder, as an absolute path."""


class KnownClientRow(Struct, frozen=True):
    """One client, and how it stands to the hub."""

    client: str
    title: str
    installed: bool
    connected: bool
    how: str
    file: str
    problem: str


class OwnEntry(Struct, frozen=True):
    """The hub as most clients write a server down."""

    command: str
    args: list[str]
    env: dict[str, str] | UnsetType = UNSET


class ClientList(Struct, frozen=True):
    """Every client that is known, and the entry for one that is not."""

    clients: list[KnownClientRow]
    entry: OwnEntry


class ConnectClient(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A client to connect; with `dry_run` nothing is written."""

    name: str
    http: bool = False
    agent: Name = ""
    profile: Name = ""
    """The profile it gets; not together with an agent."""
    hub: Hub = ""
    """The address of a hub elsewhere, where the user has logged in, instead of the one here."""
    replace: bool = False
    """Take the servers that the hub has out of its file."""
    dry_run: bool = False
    project: Folder = ""
    """The folder of the project whose file is meant, instead of the user's own."""
    difference: str | None = None
    """The change as it was previewed; nothing is written if it would be another by now."""
    batch: Batch = ""
    """Changes with the same one are undone together."""


class DisconnectClient(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A client to disconnect; with `dry_run` nothing is written."""

    name: str
    dry_run: bool = False
    project: Folder = ""
    """The folder of the project whose file is meant, instead of the user's own."""
    difference: str | None = None
    """The change as it was previewed; nothing is written if it would be another by now."""
    batch: Batch = ""
    """Changes with the same one are undone together."""


class UndoChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A change to undo; with `dry_run` nothing is written."""

    id: str
    dry_run: bool = False
    difference: str | None = None
    """The change as it was previewed; nothing is written if it would be another by now."""


class ChangeAnswer(Struct, frozen=True):
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
    replaced: list[str] = []
    """The servers that leave the file for the hub, or come back into it."""


class ClientChangeRow(Struct, frozen=True, omit_defaults=True):
    """A change of the past."""

    id: str
    at: str
    client: str
    what: str
    file: str
    undone: str
    batch: str = ""
    """The order it was part of, if that changed several files."""


class InstallLink(Struct, frozen=True):
    """A link with which a client adds the hub by itself."""

    client: str
    title: str
    link: str


class InstallLinkList(Struct, frozen=True):
    """The install links of the clients that have such links."""

    links: list[InstallLink]


class ChangeList(Struct, frozen=True):
    """Every change that is remembered, the newest first."""

    changes: list[ClientChangeRow]


@operation("GET", TOP, needs=Needs.FILES)
async def list_clients(yard: Yard, order: ClientsOfProject) -> ClientList:
    """All clients."""
    connecting = _open_connecting(yard)
    rows = await asyncio.to_thread(_rows, connecting, order.project)
    return ClientList(rows, msgspec.convert(connecting.entry(), OwnEntry))


@operation("GET", CHANGES, needs=Needs.FILES)
async def list_changes(yard: Yard, order: NoInput) -> ChangeList:
    """Changes of their files."""
    records = await asyncio.to_thread(_open_connecting(yard).changes.journal.records)
    return ChangeList([_change_row(record) for record in records])


@operation("GET", f"{TOP}/links", needs=Needs.FILES)
async def list_install_links(yard: Yard, order: NoInput) -> InstallLinkList:
    """Links with which VS Code and Cursor add the hub."""
    from toolyard.features.clients.known import find_client
    from toolyard.features.clients.linking import make_links
    from toolyard.settings import Settings

    links = make_links(_open_connecting(yard).entry(), yard.part(Settings).public)
    return InstallLinkList(
        [InstallLink(name, find_client(name).title, link) for name, link in links.items()]
    )


@operation("POST", f"{ONE}/connect", needs=Needs.FILES, errors=ERRORS)
async def connect_client(yard: Yard, order: ConnectClient) -> ChangeAnswer:
    """Put the hub in."""
    return await asyncio.to_thread(_connect, _open_connecting(yard), order, yard)


@operation("POST", f"{ONE}/disconnect", needs=Needs.FILES, errors=ERRORS)
async def disconnect_client(yard: Yard, order: DisconnectClient) -> ChangeAnswer:
    """Take it out."""
    return await asyncio.to_thread(_disconnect, _open_connecting(yard), order)


@operation("POST", f"{CHANGES}/{{id}}/undo", needs=Needs.FILES, errors=ERRORS)
async def undo_change(yard: Yard, order: UndoChange) -> ChangeAnswer:
    """Undo a change."""
    return await asyncio.to_thread(_undo, _open_connecting(yard), order)


def _open_connecting(yard: Yard) -> Connecting:
    from toolyard.features.clients.opening import open_connecting

    return open_connecting(yard)


def _rows(connecting: Connecting, project: str) -> list[KnownClientRow]:
    from toolyard.features.clients.places import project_folder

    return [_client_row(state) for state in connecting.rows(project_folder(project))]


def _connect(connecting: Connecting, order: ConnectClient, yard: Yard) -> ChangeAnswer:
    from toolyard.features.clients.connecting import ConnectOptions
    from toolyard.features.clients.places import Surroundings, project_folder
    from toolyard.features.clients.replacing import Replaceable, find_replaceable
    from toolyard.features.remote_hub.address import read_hub

    if order.agent and order.profile:
        raise ConfigError("a client gets an agent's servers or a profile", "leave one out")
    if order.hub and (order.http or order.agent or order.replace):
        hint = "leave out --http, --agent and --replace; --profile chooses a part of it"
        raise ConfigError("a hub elsewhere is connected by command, for yourself", hint)
    project = project_folder(order.project)
    replaceable = Replaceable()
    if order.replace:
        place = connecting.place(order.name, project)
        replaceable = find_replaceable(yard, place, Surroundings.here())
    options = ConnectOptions(
        project,
        order.http,
        order.agent,
        order.profile,
        read_hub(order.hub) if order.hub else "",
        replaceable.ways,
        beside=replaceable.beside,
    )
    plan = connecting.plan(order.name, options)
    plan.check_previewed(order.difference)
    plan = replace(plan, batch=order.batch)
    record = None if order.dry_run else connecting.connect(plan, options)
    ended = record.ended if record else ""
    note = "; ".join(filter(None, (connecting.note(options), replaceable.note)))
    return _answer(plan, record, order.dry_run, ended, note)


def _disconnect(connecting: Connecting, order: DisconnectClient) -> ChangeAnswer:
    from toolyard.features.clients.places import project_folder

    plan = connecting.plan_disconnect(order.name, project_folder(order.project))
    plan.check_previewed(order.difference)
    record = None if order.dry_run else connecting.disconnect(replace(plan, batch=order.batch))
    return _answer(plan, record, order.dry_run, record.ended if record else "")


def _undo(connecting: Connecting, order: UndoChange) -> ChangeAnswer:
    record, plan = connecting.changes.plan_undo(order.id)
    plan.check_previewed(order.difference)
    ended = "" if order.dry_run else connecting.undo(record, plan)
    return _answer(plan, record, order.dry_run, ended)


def _client_row(state: ClientState) -> KnownClientRow:
    client = state.client
    return KnownClientRow(
        client.name,
        client.title,
        state.installed,
        bool(state.how),
        state.how,
        str(state.path),
        state.problem,
    )


def _change_row(record: Record) -> ClientChangeRow:
    return ClientChangeRow(
        record.id,
        record.at,
        record.client,
        record.what,
        record.path,
        record.undone,
        record.batch,
    )


def _answer(
    plan: ChangePlan, record: Record | None, dry_run: bool, ended: str, note: str = ""
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
        plan.names,
    )
