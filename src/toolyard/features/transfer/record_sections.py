"""Servers, the catalog, profiles, quirks, marks, limits and apps as sections of a document."""

from __future__ import annotations

import json
from typing import Final

import msgspec

from toolyard.core.apps import App, read_app
from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.fields import Fields
from toolyard.core.jsontypes import JsonObject
from toolyard.core.quirks import read_quirk
from toolyard.core.server_entries import read_entry
from toolyard.features.apps.operations import AppName, PutApp, put_app, remove_app
from toolyard.features.apps.source import Apps
from toolyard.features.catalog.additions import AdditionCodec, check_values
from toolyard.features.catalog.operations import (
    add_definition,
    drop_definition,
    put_definition,
    remove_definition,
)
from toolyard.features.catalog.reading import read_definition
from toolyard.features.catalog.rows import AddDefinition, DefinitionName, PutDefinition
from toolyard.features.catalog.store import Catalog
from toolyard.features.limits.operations import LimitName, PutLimit, put_limit, remove_limit
from toolyard.features.limits.store import LimitBody, LimitRecords, limit_body, read_limit
from toolyard.features.marks.operations import PutMarks, put_marks
from toolyard.features.marks.store import MarkRecords, check_marks
from toolyard.features.profiles.model import plain_fields, read_profile
from toolyard.features.profiles.operations import (
    ProfileName,
    PutProfile,
    put_profile,
    remove_profile,
)
from toolyard.features.profiles.store import ProfileRecords
from toolyard.features.quirks.operations import ClientName, PutQuirk, put_quirk, reset_quirks
from toolyard.features.quirks.store import QuirkRecords
from toolyard.features.servers.operations import (
    AddServer,
    ChangeServer,
    ServerAlias,
    ServerEntry,
    add_server,
    change_server,
    full_name,
    remove_server,
)
from toolyard.features.servers.reading import check_server_name
from toolyard.features.servers.store import ServersFile
from toolyard.features.transfer.sections import (
    DocumentSection,
    RecordWrite,
    SectionContents,
    left_out,
    refuse_unknown,
    usable,
    versions_of,
    without_empty,
)
from toolyard.records.jsonc import parse
from toolyard.yard import Yard

ENDPOINT: Final = ("command", "args", "env", "environment", "url", "httpUrl", "serverUrl")
"""Members of an entry that may hold secrets, beside `headers`."""
DEFINED: Final = ("runtime", "transport", "packages", "remotes")
_APP: Final = ("variants", "title", "match", "path", "misses", "enabled")
_ADDED: Final = ("enabled", "values")


# Servers.


def _read_servers(yard: Yard) -> SectionContents:
    file = yard.part(ServersFile)
    loaded, entries = file.load(), file.entries()
    good = {server.id.name for server in loaded.servers}
    bodies = {name: entry for name, entry in sorted(entries.items()) if name in good}
    names = ServerEntry.__struct_fields__
    unread = {
        name: ", ".join(key for key in body if key not in names) for name, body in bodies.items()
    }
    notes = [
        f"{keys} of server '{name}' means nothing to toolyard, so it is left out"
        for name, keys in unread.items()
        if keys
    ]
    read_members = {
        name: {key: value for key, value in body.items() if key in names and value is not None}
        for name, body in bodies.items()
    }
    bad = left_out("server", sorted(entries.keys() - good))
    return SectionContents(read_members, notes=(*bad, *notes))


def _check_server(name: str, body: JsonObject) -> JsonObject:
    check_server_name(name)
    entry = {key: value for key, value in body.items() if value is not None}
    fields = Fields(entry, 'write it as {"command": "..."} or {"url": "..."}')
    fields.only(ServerEntry.__struct_fields__, "a server")
    fields.finish()
    read_entry(entry)
    return entry


async def _put_server(yard: Yard, order: RecordWrite) -> object:
    if order.before is None:
        return await add_server.run(yard, AddServer({"name": order.name, "entry": order.body}))
    gone = dict.fromkeys(order.before.keys() - order.body.keys())
    return await change_server.run(
        yard, ChangeServer(full_name(order.name), {**order.body, **gone})
    )


async def _remove_server(yard: Yard, name: str) -> object:
    return await remove_server.run(yard, ServerAlias(full_name(name)))


# The catalog.


def _read_definitions(yard: Yard) -> SectionContents:
    catalog = yard.part(Catalog)
    shelf = catalog.load()
    names = [name for name, item in shelf.definitions.items() if item.folder == "custom"]
    return SectionContents({name: _plain(catalog.text(name)) for name in sorted(names)})


def _plain(text: bytes) -> JsonObject:
    root = parse(text).root
    plain = root.plain() if root is not None else None
    return plain if isinstance(plain, dict) else {}


def _check_definition(name: str, body: JsonObject) -> JsonObject:
    definition = read_definition(json.dumps(body).encode())
    if definition.name != name:
        raise ConfigError(f"it is called '{definition.name}'", "use the same name in both places")
    return body


async def _put_definition(yard: Yard, order: RecordWrite) -> object:
    body = json.dumps(order.body, ensure_ascii=False).encode()
    return await put_definition.run(yard, PutDefinition(order.name, body))


async def _remove_definition(yard: Yard, name: str) -> object:
    return await remove_definition.run(yard, DefinitionName(name))


def _read_added(yard: Yard) -> SectionContents:
    codec, (added, problems) = AdditionCodec(), yard.part(Catalog).added_file.load()
    if problems:
        raise StoreError(problems[0].text, problems[0].hint)
    bodies: dict[str, JsonObject] = {name: codec.write(added[name]) for name in sorted(added)}
    return SectionContents(bodies)


def _check_added(name: str, body: JsonObject) -> JsonObject:
    refuse_unknown(body, _ADDED)
    fields = Fields(body, 'write it as {"enabled": true, "values": {...}}')
    enabled, values = fields.flag("enabled", True), dict(fields.pairs("values"))
    fields.finish()
    check_values(values)
    return {"enabled": enabled, **({"values": values} if values else {})}


async def _put_added(yard: Yard, order: RecordWrite) -> object:
    before = order.before.get("values", {}) if order.before is not None else {}
    values = order.body.get("values", {})
    if before.keys() - values.keys():
        # Whatever is added again keeps its values, also those that are no longer wanted.
        await drop_definition.run(yard, DefinitionName(order.name))
    added = AddDefinition(order.name, values, order.body["enabled"])
    return await add_definition.run(yard, added)


async def _remove_added(yard: Yard, name: str) -> object:
    return await drop_definition.run(yard, DefinitionName(name))


# Profiles, client quirks and apps.


def _read_profiles(yard: Yard) -> SectionContents:
    records = yard.part(ProfileRecords).read()
    bodies = {name: plain_fields(profile) for name, profile in usable(records).items()}
    return SectionContents(bodies, notes=left_out("profile", records.troubles))


def _check_profile(name: str, body: JsonObject) -> JsonObject:
    return plain_fields(read_profile(name, body))


async def _put_profile(yard: Yard, order: RecordWrite) -> object:
    return await put_profile.run(yard, PutProfile.of(read_profile(order.name, order.body)))


async def _remove_profile(yard: Yard, name: str) -> object:
    return await remove_profile.run(yard, ProfileName(name))


def _read_quirks(yard: Yard) -> SectionContents:
    records = yard.part(QuirkRecords).read()
    bodies: dict[str, JsonObject] = {
        name: dict(quirk.entries) for name, quirk in usable(records).items()
    }
    return SectionContents(bodies, notes=left_out("client quirk", records.troubles))


def _check_quirk(name: str, body: JsonObject) -> JsonObject:
    return dict(read_quirk(name, body).entries)


async def _put_quirk(yard: Yard, order: RecordWrite) -> object:
    if order.before is not None and order.before.keys() - order.body.keys():
        await reset_quirks.run(yard, ClientName(order.name))
    return await put_quirk.run(yard, PutQuirk.of(read_quirk(order.name, order.body)))


async def _remove_quirk(yard: Yard, name: str) -> object:
    return await reset_quirks.run(yard, ClientName(name))


def _read_marks(yard: Yard) -> SectionContents:
    records = yard.part(MarkRecords).read()
    bodies: dict[str, JsonObject] = {
        server: {tool: tier.value for tool, tier in tools.items()}
        for server, tools in usable(records).items()
        if tools
    }
    return SectionContents(bodies, notes=left_out("marks of", records.troubles))


def _check_marks(name: str, body: JsonObject) -> JsonObject:
    return {tool: tier.value for tool, tier in check_marks(body).items()}


async def _put_marks(yard: Yard, order: RecordWrite) -> object:
    return await put_marks.run(yard, PutMarks(order.name, check_marks(order.body)))


async def _remove_marks(yard: Yard, name: str) -> object:
    return await put_marks.run(yard, PutMarks(name, {}))


def _read_limits(yard: Yard) -> SectionContents:
    records = yard.part(LimitRecords).read()
    bodies: dict[str, JsonObject] = {
        name: msgspec.to_builtins(limit_body(limit))
        for name, limit in usable(records).items()
        if not limit.fault
    }
    damaged = [name for name, limit in records.values.items() if limit.fault]
    notes = left_out("limit", [*records.troubles, *damaged])
    return SectionContents(bodies, versions_of(records), notes)


def _check_limit(name: str, body: JsonObject) -> JsonObject:
    checked: JsonObject = msgspec.to_builtins(limit_body(read_limit(name, body)))
    return checked


async def _put_limit(yard: Yard, order: RecordWrite) -> object:
    body = msgspec.convert(order.body, LimitBody)
    fields = msgspec.structs.asdict(body)
    return await put_limit.run(yard, PutLimit(name=order.name, **fields))


async def _remove_limit(yard: Yard, name: str) -> object:
    return await remove_limit.run(yard, LimitName(name))


def _read_apps(yard: Yard) -> SectionContents:
    records = yard.part(Apps).records.read()
    apps = usable(records)
    bodies = {name: _app_body(app) for name, app in apps.items()}
    notes = [
        f"the programs, variables and example of app '{name}' stay here:"
        " a document does not start programs"
        for name, app in apps.items()
        if app.installs or app.prefix or app.example[1]
    ]
    return SectionContents(bodies, notes=(*left_out("app", records.troubles), *notes))


def _app_body(app: App) -> JsonObject:
    order = PutApp(
        app.name, dict(app.variants), app.title, app.match, app.path, app.misses, app.enabled
    )
    body: JsonObject = msgspec.to_builtins(order)
    del body["name"]
    return without_empty(body)


def _check_app(name: str, body: JsonObject) -> JsonObject:
    refuse_unknown(body, _APP)
    return _app_body(read_app({"name": name, **body}))


async def _put_app(yard: Yard, order: RecordWrite) -> object:
    return await put_app.run(yard, msgspec.convert({"name": order.name, **order.body}, PutApp))


async def _remove_app(yard: Yard, name: str) -> object:
    return await remove_app.run(yard, AppName(name))


SERVERS: Final = DocumentSection(
    "servers",
    "server",
    _read_servers,
    _check_server,
    _put_server,
    _remove_server,
    private=(*ENDPOINT, "headers", "executor"),
)
DEFINITIONS: Final = DocumentSection(
    "definitions",
    "definition",
    _read_definitions,
    _check_definition,
    _put_definition,
    _remove_definition,
    private=(*ENDPOINT, *DEFINED, "headers"),
)
CATALOG: Final = DocumentSection(
    "catalog",
    "catalog server",
    _read_added,
    _check_added,
    _put_added,
    _remove_added,
    private=("values",),
)
PROFILES: Final = DocumentSection(
    "profiles",
    "profile",
    _read_profiles,
    _check_profile,
    _put_profile,
    _remove_profile,
    private=("environment",),
)
QUIRKS: Final = DocumentSection(
    "quirks", "client quirk", _read_quirks, _check_quirk, _put_quirk, _remove_quirk
)
MARKS: Final = DocumentSection(
    "marks", "marks of", _read_marks, _check_marks, _put_marks, _remove_marks
)
LIMITS: Final = DocumentSection(
    "limits", "limit", _read_limits, _check_limit, _put_limit, _remove_limit
)
APPS: Final = DocumentSection("apps", "app", _read_apps, _check_app, _put_app, _remove_app)
