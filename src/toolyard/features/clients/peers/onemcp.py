"""1MCP: `mcp.json`, and the presets beside it, which are queries on tags."""

from __future__ import annotations

from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    exactly,
    fault,
    milliseconds,
    names,
    table,
    usual,
)
from toolyard.features.clients.peers.model import UNFILTERED, PeerFile, PeerFilter

_TAKEN: Final = ("tags", "requestTimeout", "timeout", "disabledTools")


def read_onemcp(document: PeerDocument) -> PeerFile:
    """Read the servers of 1MCP, with its presets as profiles."""
    draft = PeerDraft(document)
    servers = table(document.value.get("mcpServers"))
    for name, raw in servers.items():
        draft.take(name, raw, _translate)
    tags = {name: frozenset(table(raw).get("tags") or ()) for name, raw in servers.items()}
    for name, preset in table(document.beside("presets.json").get("presets")).items():
        query = table(preset).get("tagQuery")
        members = [(server, UNFILTERED) for server in tags if _holds(query, tags[server])]
        draft.select(name, members, str(table(preset).get("description") or ""))
    for name in table(document.value.get("mcpTemplates")):
        hint = "write a server of its own for each project"
        draft.refuse(name, "it is a template that depends on who asks", hint)
    draft.leave_rest(("mcpServers", "mcpTemplates"))
    return draft.finish()


def _translate(raw: JsonObject) -> Translated:
    entry = usual(raw) | milliseconds(raw, "requestTimeout", "timeout")
    if isinstance(raw.get("env"), list):
        entry["env"] = dict(_variable(word) for word in names(raw, "env"))
    shown = PeerFilter(hide=exactly(names(raw, "disabledTools")))
    return Translated(entry, _TAKEN, shown, names(raw, "tags"))


def _variable(word: str) -> tuple[str, str]:
    """A variable of the list form: without a value, it is that of the hub."""
    name, equals, value = word.partition("=")
    if not name:
        raise fault("env", "a variable has no name", 'write it as "NAME=value"')
    return name, value if equals else f"${{{name}}}"


def _holds(query: Any, tags: frozenset[str]) -> bool:
    """Tell whether a server with these tags is meant; a query that is not understood means none."""
    if not isinstance(query, dict) or not query:
        return False
    return all(_clause(key, value, tags) for key, value in query.items())


def _clause(key: str, value: Any, tags: frozenset[str]) -> bool:
    if key == "tag":
        several = value.get("$in") if isinstance(value, dict) else [value]
        return isinstance(several, list) and any(tag in tags for tag in several)
    if key == "$in":
        return isinstance(value, list) and any(tag in tags for tag in value)
    if key == "$not":
        return isinstance(value, dict) and bool(value) and not _holds(value, tags)
    parts = [_holds(part, tags) for part in value] if isinstance(value, list) else []
    return {"$or": any(parts), "$and": bool(parts) and all(parts)}.get(key, False)
