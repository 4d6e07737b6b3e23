"""MCPHub (samanhappy): `mcp_settings.json`, with groups."""

from __future__ import annotations

from functools import partial
from typing import Final

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

_TAKEN: Final = ("tools", "prompts", "resources", "options", "timeout")
_LISTS: Final = ("tools", "prompts", "resources")


def read_mcphub(document: PeerDocument) -> PeerFile:
    """Read the settings of MCPHub, with its groups as profiles."""
    draft = PeerDraft(document)
    separator = str(table(document.value.get("systemConfig")).get("nameSeparator") or "-")
    for name, raw in table(document.value.get("mcpServers")).items():
        draft.take(name, raw, partial(_translate, f"{name}{separator}"))
    groups = document.value.get("groups")
    for group in map(table, groups if isinstance(groups, list) else []):
        members = [_member(draft, group, server) for server in group.get("servers") or []]
        title = str(group.get("description") or "")
        draft.select(str(group.get("name") or group.get("id") or "group"), members, title)
    draft.leave_rest(("mcpServers", "groups"))
    return draft.finish()


def _translate(prefix: str, raw: JsonObject) -> Translated:
    options = table(raw.get("options"))
    entry = usual(raw) | milliseconds({**raw, **options}, "timeout")
    hide: list[str] = []
    describe: dict[str, str] = {}
    for key in _LISTS:
        for full_name, change in table(raw.get(key)).items():
            name = full_name.removeprefix(prefix)
            if table(change).get("enabled") is False:
                hide.append(name)
            elif key == "tools" and table(change).get("description"):
                describe[name] = str(table(change)["description"])
    untaken = [Untaken(f"options.{key}") for key in options if key != "timeout"]
    shown = PeerFilter(hide=exactly(hide), describe=tuple(describe.items()))
    return Translated(entry, _TAKEN, shown, untaken=tuple(untaken))


def _member(draft: PeerDraft, group: JsonObject, server: object) -> tuple[str, PeerFilter]:
    """A server of a group: a name, or an object with the tools that are shown."""
    if not isinstance(server, dict):
        return str(server), PeerFilter()
    name = str(server.get("name") or "")
    lists = [server[key] for key in _LISTS if isinstance(server.get(key), list)]
    if server.get("alias"):
        draft.leave(f"groups.{group.get('name')}.{name}.alias")
    if not lists:
        return name, PeerFilter()
    # A list of one kind says nothing of the others, but here all offers are selected together.
    return name, PeerFilter(exactly(str(offer) for offers in lists for offer in offers))
