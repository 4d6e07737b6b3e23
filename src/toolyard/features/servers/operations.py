"""Questions and orders about servers."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.endpoint_body import EndpointBody
from toolyard.core.errors import ConfigError, NotOursError, TakenError, UnknownNameError
from toolyard.core.fields import Fields
from toolyard.core.jsontypes import JsonObject
from toolyard.core.lookup import find_entry
from toolyard.core.model import Server, ServerId, Snapshot
from toolyard.core.naming import alias_beside
from toolyard.core.rows import ProblemRow, ServerRow, problem_row
from toolyard.executors.local.usage import memory_of
from toolyard.features.servers.bundle_folders import BundleFolders
from toolyard.features.servers.details import (
    Offered,
    ServerDetails,
    describe_server,
    own_words,
)
from toolyard.features.servers.hidden_entry import fill_entry, hide_entry
from toolyard.features.servers.instances import InstanceList, pids, running
from toolyard.features.servers.picture import problems, server_row
from toolyard.features.servers.reading import SOURCE
from toolyard.features.servers.removed import RemovedServers
from toolyard.features.servers.store import ServersFile
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.operation import Done, Guard, Needs, NoInput, OpenObject, Ordered, operation
from toolyard.yard import Yard

TOP = "/api/v1/servers"
ONE = "/api/v1/servers/{alias}"
ENTRY_HINT = 'write it as {"command": "..."} or {"url": "..."}'
REFUSED = (409, 422)
UNSTARTED = (502, 503, 504)


class ServerEntry(EndpointBody, frozen=True):
    """A server as in the servers file: its endpoint, and what is beside it; a null removes."""

    timeout: Annotated[float, Meta(gt=0)] | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    disabled: bool | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET
    executor: str | OpenObject | UnsetType | None = UNSET
    """Where its command runs; stays as it is where nothing is said."""
    found: OpenObject | UnsetType | None = UNSET
    """The executable and name by which an adopted server is found again."""
    project: str | UnsetType | None = UNSET
    """A folder: only clients that run in it are offered the server."""
    exclusive: bool | UnsetType | None = UNSET
    """True if there must never be two of its process at a time."""
    login: str | UnsetType | None = UNSET
    """`member` if each member logs in at its address by their own account."""


class NewServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A server to write down."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    entry: ServerEntry
    like: str = ""
    """The server whose secrets it has where its entry says `[secret]`."""


class AddServer(Struct, frozen=True):
    """A new server, as `NewServer` describes it."""

    body: Any


class ChangeServer(Struct, frozen=True):
    """A server with its new entry, as `ServerEntry` describes it."""

    alias: str
    body: Any


class ServerAlias(Struct, frozen=True):
    """The server that is meant, by its alias or its full name."""

    alias: str


class WrittenEntry(Struct, frozen=True):
    """A server as it is written in the servers file, with `[secret]` for every secret."""

    name: str
    entry: OpenObject


class OrderedServer(Ordered, frozen=True):
    """A server was written down."""

    alias: str = ""
    """The name it has in the yard, which is another if the one in the file was not free."""


class ServerList(Struct, frozen=True):
    """Every server; the revision is that of the picture, and the ETag."""

    revision: int
    servers: list[ServerRow]


class ProblemList(Struct, frozen=True):
    """All trouble on the picture."""

    revision: int
    problems: list[ProblemRow]


@operation("GET", TOP, needs=Needs.FILES, from_picture=True)
async def list_servers(yard: Yard, order: NoInput) -> ServerList:
    """All servers."""
    _check_readable(yard)
    snapshot = yard.snapshot
    keepers = yard.part(LinkPool).keepers if LinkPool in yard.parts else {}
    rows = [
        server_row(snapshot, entry, keepers.get(id_)) for id_, entry in snapshot.entries.items()
    ]
    return ServerList(snapshot.revision, rows)


@operation("GET", ONE, from_picture=True)
async def get_server(yard: Yard, order: ServerAlias) -> ServerDetails:
    """One server."""
    return describe_server(yard, find_entry(yard.snapshot, order.alias))


@operation("GET", f"{ONE}/offers")
async def get_offers(yard: Yard, order: ServerAlias) -> Offered:
    """All it offers, in its own words."""
    return own_words(find_entry(yard.snapshot, order.alias))


@operation("GET", f"{ONE}/entry", needs=Needs.FILES, errors=(409,))
async def get_entry(yard: Yard, order: ServerAlias) -> WrittenEntry:
    """Its entry in the servers file, without secrets."""
    name = await _name(yard, order.alias)
    return WrittenEntry(name, hide_entry(await _present(yard, name)))


@operation(
    "POST",
    TOP,
    needs=Needs.FILES,
    shape=NewServer,
    status=201,
    errors=(404, 409),
    guard=Guard.PICTURE,
)
async def add_server(yard: Yard, order: AddServer) -> OrderedServer:
    """Write a server down."""
    new = Fields(order.body, 'write it as {"name": "...", "entry": {...}}')
    new.only(("name", "entry", "like"), "a new server")
    name = new.text("name")
    entry = _entry(Fields(new.get("entry"), ENTRY_HINT, within=new, server=name))
    if ServerId(name, SOURCE) in yard.snapshot.entries:
        raise TakenError(f"there is a server '{name}' already", "change it, or choose a name")
    model = new.text("like")
    before = await _present(yard, await _name(yard, model)) if model else {}
    return await _put(yard, name, name, fill_entry(entry, before))


@operation("PUT", ONE, needs=Needs.FILES, shape=ServerEntry, errors=(409,), guard=Guard.PICTURE)
async def change_server(yard: Yard, order: ChangeServer) -> OrderedServer:
    """Write it down anew; `[secret]` stands for the value that is there."""
    name = await _name(yard, order.alias)
    present = await _present(yard, name)
    entry = _entry(Fields(order.body, ENTRY_HINT), beside=tuple(present))
    return await _put(yard, order.alias, name, fill_entry(entry, present))


@operation("DELETE", ONE, needs=Needs.FILES, errors=REFUSED, guard=Guard.PICTURE)
async def remove_server(yard: Yard, order: ServerAlias) -> Ordered:
    """Take it out of the file."""
    name = await _name(yard, order.alias)
    await asyncio.to_thread(_remove, yard, name)
    id_ = ServerId(name, SOURCE)
    return Ordered(order.alias, await yard.seen(lambda picture: id_ not in picture.entries))


@operation("POST", f"{ONE}/restore", errors=(404, 409))
async def restore_server(yard: Yard, order: ServerAlias) -> Ordered:
    """Put a server back that was removed."""
    name = order.alias.removesuffix(f"@{SOURCE}")
    await asyncio.to_thread(_put_back, yard, name)
    return Ordered(name, await _declared(yard, name))


@operation("POST", f"{ONE}/enable", needs=Needs.FILES, errors=REFUSED, guard=Guard.PICTURE)
async def enable_server(yard: Yard, order: ServerAlias) -> Ordered:
    """Use it."""
    return await _switch(yard, order.alias, True)


@operation("POST", f"{ONE}/disable", needs=Needs.FILES, errors=REFUSED, guard=Guard.PICTURE)
async def disable_server(yard: Yard, order: ServerAlias) -> Ordered:
    """Do not."""
    return await _switch(yard, order.alias, False)


@operation("POST", f"{ONE}/activate", errors=UNSTARTED, guard=Guard.PICTURE, from_picture=True)
async def start_server(yard: Yard, order: ServerAlias) -> ServerDetails:
    """Start it now."""
    await yard.part(LinkPool).lease(find_entry(yard.snapshot, order.alias).server.id)
    return describe_server(yard, find_entry(yard.snapshot, order.alias))


@operation("POST", f"{ONE}/restart", errors=UNSTARTED, guard=Guard.PICTURE, from_picture=True)
async def restart_server(yard: Yard, order: ServerAlias) -> ServerDetails:
    """End and start it."""
    id_, pool = find_entry(yard.snapshot, order.alias).server.id, yard.part(LinkPool)
    keeper = pool.keeper(id_)
    if keeper.link is not None:
        keeper.renew("it is restarted as ordered")
        await keeper.wait_ended()
    await pool.lease(id_)
    return describe_server(yard, find_entry(yard.snapshot, order.alias))


@operation("POST", f"{ONE}/deactivate", errors=UNSTARTED, guard=Guard.PICTURE)
async def stop_server(yard: Yard, order: ServerAlias) -> Done:
    """Let it rest."""
    id_ = find_entry(yard.snapshot, order.alias).server.id
    yard.part(LinkPool).keeper(id_).rest()
    return Done()


@operation("POST", f"{ONE}/refresh")
async def refresh_server(yard: Yard, order: ServerAlias) -> Done:
    """Ask it again for what it offers."""
    id_ = find_entry(yard.snapshot, order.alias).server.id
    yard.part(LinkPool).keeper(id_).refresh()
    return Done()


@operation("POST", "/api/v1/refresh", tag="yard")
async def refresh_servers(yard: Yard, order: NoInput) -> Done:
    """Ask all servers again."""
    yard.part(LinkPool).refresh()
    return Done()


@operation("GET", "/api/v1/instances", tag="yard")
async def list_instances(yard: Yard, order: NoInput) -> InstanceList:
    """Every running server: where, since when, for whom, how it is doing."""
    pool, instances = yard.part(LinkPool), yard.part(Instances)
    # To add up the memory, every process of the machine is looked at.
    memory = await asyncio.to_thread(memory_of, pids(pool, instances))
    return InstanceList(running(yard.snapshot, pool, instances, memory))


@operation("GET", "/api/v1/problems", needs=Needs.FILES, tag="yard", from_picture=True)
async def list_problems(yard: Yard, order: NoInput) -> ProblemList:
    """All trouble."""
    snapshot = yard.snapshot
    return ProblemList(snapshot.revision, [problem_row(problem) for problem in problems(snapshot)])


def full_name(name: str) -> str:
    """Return the name by which no other server than that of the file is meant."""
    return str(ServerId(name, SOURCE))


def _check_readable(yard: Yard) -> None:
    """Refuse to list a file that cannot be read; a hub goes on with what it read before.

    Raises:
        ConfigError: It cannot.
    """
    if yard.is_live:
        return
    loaded = yard.part(ServersFile).load()
    if not loaded.readable:
        raise ConfigError(loaded.problems[0].text, loaded.problems[0].hint)


def _entry(fields: Fields, beside: tuple[str, ...] = ()) -> JsonObject:
    """The entry to write; the servers file says what else is wrong with it.

    Raises:
        FaultsError: It is no entry, or has a key that nothing reads and that is not there yet.
    """
    fields.only(dict.fromkeys((*ServerEntry.__struct_fields__, *beside)), "a server")
    fields.finish()
    return dict(fields.value)


async def _present(yard: Yard, name: str) -> JsonObject:
    """The entry of a server as the file has it."""
    return await asyncio.to_thread(yard.part(ServersFile).entry, name)


async def _put(yard: Yard, alias: str, name: str, entry: JsonObject) -> OrderedServer:
    put = yard.part(ServersFile).put
    await asyncio.to_thread(put, name, entry, yard.check_picture, by=yard.caller)
    noticed = await _declared(yard, name)
    return OrderedServer(alias, noticed, alias=alias_beside(yard.snapshot, ServerId(name, SOURCE)))


def _remove(yard: Yard, name: str) -> None:
    """Take a server out; a hub can put it back, so its bundle stays as long as the hub runs."""
    file, bundles = yard.part(ServersFile), yard.part(BundleFolders)
    removal = file.remove(name, by=yard.caller)
    yard.part(RemovedServers).add(removal)
    if folders := bundles.find_removed(removal):
        bundles.release(folders, file.path)
        if not yard.is_live:
            bundles.delete_unused(folders)


def _put_back(yard: Yard, name: str) -> None:
    file, removed = yard.part(ServersFile), yard.part(RemovedServers)
    removal = removed.find(name)
    file.put_back(removal, by=yard.caller)
    yard.part(BundleFolders).claim_again(removal, file.path)
    removed.forget(name)


async def _switch(yard: Yard, alias: str, enabled: bool) -> Ordered:
    name = await _name(yard, alias)
    switch = yard.part(ServersFile).set_enabled
    await asyncio.to_thread(switch, name, enabled, by=yard.caller)
    return Ordered(alias, await _declared(yard, name))


async def _declared(yard: Yard, name: str) -> bool:
    """Wait until the picture says of a server what the file does."""
    loaded = await asyncio.to_thread(yard.part(ServersFile).load)
    wanted = next((server for server in loaded.servers if server.id.name == name), None)
    if wanted is None:
        return False  # somebody else changed the file meanwhile

    def holds(picture: Snapshot) -> bool:
        entry = picture.entries.get(wanted.id)
        return entry is not None and _facts(entry.server) == _facts(wanted)

    return await yard.seen(holds)


async def _name(yard: Yard, alias: str) -> str:
    """The name of a server in the file; one whose entry is wrong is not on the picture.

    Raises:
        UnknownNameError: There is no such server.
        NotOursError: It comes from elsewhere.
    """
    try:
        id_ = find_entry(yard.snapshot, alias).server.id
    except UnknownNameError:
        name = alias.removesuffix(f"@{SOURCE}")
        if await asyncio.to_thread(yard.part(ServersFile).has, name):
            return name
        raise
    if id_.source != SOURCE:
        raise NotOursError(
            f"server {id_.name!r} is not in the servers file; {id_.source!r} declares it",
            "change it where it is declared",
        )
    return id_.name


def _facts(server: Server) -> Any:
    return (
        *(server.endpoint, server.enabled, server.title, server.timeout, server.placement),
        *(server.project, server.exclusive, server.login),
    )
