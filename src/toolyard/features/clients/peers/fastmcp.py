"""FastMCP: an `MCPConfig` with tools transformed, or a `fastmcp.json` that describes one server."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    exactly,
    milliseconds,
    table,
    usual,
)
from toolyard.features.clients.peers.model import PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = ("auth", "timeout", "tools", "include_tags", "exclude_tags")
_TRANSFORMS: Final = ("name", "description", "enabled")
_SSE: Final = re.compile(r"/sse(/|$)")


def read_fastmcp(document: PeerDocument) -> PeerFile:
    """Read a configuration of FastMCP."""
    draft, value = PeerDraft(document), document.value
    if isinstance(value.get("source"), dict):
        _read_project(draft, document)
        return draft.finish()
    servers = value.get("mcpServers")
    if not isinstance(servers, dict):
        servers = {name: raw for name, raw in value.items() if isinstance(raw, dict)}
    for name, raw in servers.items():
        draft.take(name, raw, _translate)
    draft.leave_rest(("mcpServers", *servers))
    return draft.finish()


def _read_project(draft: PeerDraft, document: PeerDocument) -> None:
    """Read a `fastmcp.json`: FastMCP itself starts the server it describes."""
    path = document.path.absolute()
    words = ["fastmcp", "run", str(path), "--transport", "stdio"]
    entry: JsonObject = {"command": "uvx", "args": words, "cwd": str(path.parent)}
    name = path.parent.name if path.name == "fastmcp.json" else path.name.partition(".")[0]
    draft.take(name or "server", {}, lambda _: Translated(entry))
    for key in table(document.value.get("deployment")):
        if key in ("transport", "host", "port", "path"):
            draft.leave(f"deployment.{key}")
    draft.leave_rest(("$schema", "source", "environment", "deployment"))


def _translate(raw: JsonObject) -> Translated:
    entry = usual(raw) | milliseconds(raw, "timeout")
    untaken = [Untaken(key, opens=True) for key in ("include_tags", "exclude_tags") if raw.get(key)]
    is_told = raw.get("transport") or raw.get("type")
    if isinstance(raw.get("url"), str) and not is_told:
        entry["type"] = "sse" if _SSE.search(urlsplit(raw["url"]).path) else "http"
    if raw.get("auth") == "oauth":
        untaken.append(Untaken("auth"))
    elif raw.get("auth"):
        entry["headers"] = {**table(raw.get("headers")), "Authorization": f"Bearer {raw['auth']}"}
    return Translated(entry, _TAKEN, _filter(raw, untaken), untaken=tuple(untaken))


def _filter(raw: JsonObject, untaken: list[Untaken]) -> PeerFilter:
    """The tools as they are transformed; what is done to arguments is named."""
    hide, rename, describe = [], {}, {}
    for tool, change in table(raw.get("tools")).items():
        transform = table(change)
        if transform.get("enabled") is False:
            hide.append(tool)
        if transform.get("name"):
            rename[tool] = str(transform["name"])
        if transform.get("description"):
            describe[tool] = str(transform["description"])
        untaken += [
            Untaken(f"tools.{tool}.{key}", opens=key == "arguments")
            for key, value in transform.items()
            if key not in _TRANSFORMS and value
        ]
    return PeerFilter(None, exactly(hide), tuple(rename.items()), tuple(describe.items()))
