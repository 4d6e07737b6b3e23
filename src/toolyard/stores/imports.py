"""Takes a published server into the catalog, as a custom definition."""

from __future__ import annotations

import json
from typing import Any, Final

from toolyard.core.catalog import Definition, DefinitionError
from toolyard.core.definitions import read_definition
from toolyard.core.endpoint import write_endpoint
from toolyard.stores.catalog import Catalog
from toolyard.stores.published import Published

OFFICIAL_META: Final = "io.modelcontextprotocol.registry/official"


def import_published(
    catalog: Catalog, published: Published, name: str, version: str = "latest", alias: str = ""
) -> Definition:
    """Write the definition of a published server; `alias` is the name it gets here.

    What is written says in full what will be started, so that it can be read before it is added.

    Raises:
        UnknownNameError: It is not published there.
        ConfigError: It cannot be had or used, or its name is taken by another one.
        StoreError: It cannot be written.
    """
    found = published.get(name, version)
    server = dict(found["server"])
    _refuse_deleted(found, name)
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


def _refuse_deleted(found: dict[str, Any], name: str) -> None:
    meta = found.get("_meta")
    official = meta.get(OFFICIAL_META) if isinstance(meta, dict) else None
    if isinstance(official, dict) and official.get("status") == "deleted":
        raise DefinitionError(f"'{name}' was deleted by who published it", "choose another one")


def _encode(server: dict[str, Any]) -> bytes:
    return json.dumps(server, ensure_ascii=False).encode("utf-8", "replace")


def _runtime(definition: Definition) -> dict[str, Any]:
    runtime = write_endpoint(definition.endpoint)
    kind = runtime.pop("type", "stdio")
    return {"transport": "streamable-http" if kind == "http" else kind} | runtime


def _authorization(definition: Definition) -> dict[str, Any]:
    told = definition.authorization
    variables = [
        {
            "name": each.name,
            "description": each.text,
            "required": each.required,
            "secret": each.secret,
        }
        for each in told.variables
    ]
    return {"type": told.kind, "variables": variables}
