"""Takes a published server into the catalog, as a custom definition."""

from __future__ import annotations

import json
from typing import Final

from toolyard.core.endpoint import EndpointEntry, write_endpoint
from toolyard.core.jsontypes import JsonObject
from toolyard.features.catalog.model import Definition, DefinitionError
from toolyard.features.catalog.publisher import Publisher
from toolyard.features.catalog.reading import read_definition
from toolyard.features.catalog.store import Catalog

OFFICIAL_META: Final = "io.modelcontextprotocol.registry/official"


def import_published(
    catalog: Catalog, publisher: Publisher, name: str, version: str = "latest", alias: str = ""
) -> Definition:
    """Write the definition of a published server; `alias` is the name it gets here.

    What is written says in full what will be started, so that it can be read before it is added.

    Raises:
        UnknownNameError: It is not published there.
        ConfigError: It cannot be had or used, or its name is taken by another one.
        StoreError: It cannot be written.
    """
    entry = publisher.get(name, version)
    server = dict(entry["server"])
    _refuse_deleted(entry, name)
    definition = read_definition(_encode(server))
    here = alias or definition.name
    taken = catalog.load().definitions.get(here)
    if taken and taken.folder == "custom" and taken.definition.full_name != definition.full_name:
        raise DefinitionError(
            f"there is another custom definition '{here}'", "give it another name with --as NAME"
        )
    server |= {"name": here, "full_name": definition.full_name or name}
    server["runtime"] = _runtime(definition)
    server["authorization"] = _authorization(definition)
    return catalog.put(_encode(server))


def _refuse_deleted(entry: JsonObject, name: str) -> None:
    meta = entry.get("_meta")
    official = meta.get(OFFICIAL_META) if isinstance(meta, dict) else None
    if isinstance(official, dict) and official.get("status") == "deleted":
        raise DefinitionError(f"'{name}' was deleted by who published it", "choose another one")


def _encode(server: JsonObject) -> bytes:
    return json.dumps(server, ensure_ascii=False).encode("utf-8", "replace")


def _runtime(definition: Definition) -> EndpointEntry:
    runtime = write_endpoint(definition.endpoint)
    kind = runtime.pop("type", "stdio")
    return {"transport": "streamable-http" if kind == "http" else kind} | runtime


def _authorization(definition: Definition) -> dict[str, object]:
    authorization = definition.authorization
    variables = [
        {
            "name": variable.name,
            "description": variable.text,
            "required": variable.required,
            "secret": variable.secret,
        }
        for variable in authorization.variables
    ]
    return {"type": authorization.kind, "variables": variables}
