"""Start the servers of the official catalog and note the names of their tools.

    python scripts/catalog_tools.py [NAME ...]

Every definition that can be started here is: with made-up values for what it wants to know. Only
names are noted, so that a server can be found by what it does before anybody has started it; what
a tool says of itself is its author's, and comes with the first connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from toolyard.core.errors import ToolyardError
from toolyard.core.model import NO_OFFERS, Command, Offers, Peer
from toolyard.executors.local import Local
from toolyard.features.catalog.bundled_catalog import BUNDLED
from toolyard.features.catalog.model import Definition
from toolyard.features.catalog.reading import read_definition
from toolyard.links.connecting import open_link
from toolyard.links.listing import list_offers
from toolyard.links.patience import Patience
from toolyard.records.secrets.expand import Lookup, expand

PATIENCE = Patience(probe=5.0, open=240.0, list=60.0)
LIMIT = 16 << 20
MADE_UP = {
    "URL": "http://127.0.0.1:9",
    "STRING": "mongodb://127.0.0.1:9",
    "ROOT": tempfile.gettempdir(),
    "FILE": os.path.join(tempfile.gettempdir(), "catalog-tools.db"),
}


def made_up(name: str) -> str:
    """Return a value that a variable of this name may have."""
    ending = name.rpartition("_")[2]
    return MADE_UP.get(ending, "xoxp-0" if "SLACK" in name else "0" * 40)


async def tools_of(definition: Definition) -> list[str]:
    """Start a server and return the names of its tools.

    Raises:
        ToolyardError: It cannot be started here.
    """
    offers, _ = await look_at(definition, ("tools",))
    return sorted(offer.key for offer in offers.tools)


async def look_at(definition: Definition, kinds: tuple[str, ...]) -> tuple[Offers, Peer]:
    """Start a server and return what it offers, and says of itself.

    Raises:
        ToolyardError: It cannot be started here.
    """
    wanted = {v.name: made_up(v.name) for v in definition.authorization.variables if v.required}
    endpoint = expand(definition.endpoint, Lookup({**os.environ, **wanted}, None))
    if isinstance(endpoint, Command):
        endpoint = replace(endpoint, env=tuple({**dict(endpoint.env), **wanted}.items()))
    local = Local()
    try:
        async with open_link(definition.name, endpoint, local, PATIENCE, LIMIT, None) as link:
            return await list_offers(link, PATIENCE.list, NO_OFFERS, kinds), link.peer
    finally:
        await local.close()


def note(path: Path, names: list[str]) -> None:
    """Write the names into a definition, and leave the rest of it alone."""
    fields = json.loads(path.read_text("utf-8"))
    fields["tool_names"] = names
    path.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", "utf-8")


async def main(wanted: list[str]) -> None:
    """Note the tools of the definitions that are wanted, or of all."""
    for path in sorted(BUNDLED.glob("*.json")):
        definition = read_definition(path.read_bytes())
        if wanted and definition.name not in wanted:
            continue
        if not isinstance(definition.endpoint, Command):
            print(f"{definition.name}: runs elsewhere, left as it is", flush=True)
            continue
        try:
            names = await tools_of(definition)
        except ToolyardError as error:
            print(f"{definition.name}: {error}", flush=True)
            continue
        note(path, names)
        print(f"{definition.name}: {len(names)} tools", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
