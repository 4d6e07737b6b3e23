"""mcpproxy-go: `mcp_config.json`, with its servers in a list."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    listed,
    names,
    table,
    usual,
)
from toolyard.features.clients.peers.model import PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = (
    *("name", "protocol", "working_dir", "enabled_tools", "disabled_tools", "isolation"),
    "quarantined",
)
_SELECTION: Final = ("name", "servers", "title", "description", "tools")
_TIERS: Final = ("max_tier", "unannotated")
"""Limits by what tools say of themselves, which no profile here has."""
_WEB: Final = ("http", "sse", "streamable-http")


def read_mcpproxy(document: PeerDocument) -> PeerFile:
    """Read a configuration of mcpproxy."""
    draft = PeerDraft(document)
    is_isolated = bool(table(document.value.get("docker_isolation")).get("enabled"))
    servers = document.value.get("mcpServers")
    for raw in servers if isinstance(servers, list) else []:
        name = table(raw).get("name") or "server"
        draft.take(name, raw, partial(_translate, is_isolated))
    profiles = document.value.get("profiles")
    for profile in profiles if isinstance(profiles, list) else []:
        _select(draft, table(profile))
    draft.leave_rest(("mcpServers", "profiles"))
    return draft.finish()


def _translate(is_isolated: bool, raw: JsonObject) -> Translated:
    entry, untaken = usual(raw), []
    protocol = raw.get("protocol") or "auto"
    if protocol in _WEB:
        entry["type"] = protocol
        if raw.get("command"):
            # It starts a server and then speaks to its address; here only the second is done.
            untaken.append(Untaken("command"))
    elif raw.get("command"):
        entry["type"] = "stdio"
    if raw.get("working_dir"):
        entry["cwd"] = raw["working_dir"]
    if raw.get("quarantined"):
        entry["enabled"] = False
    isolation = table(raw.get("isolation"))
    if isolation.get("enabled", is_isolated and entry.get("type") == "stdio"):
        untaken.append(Untaken("isolation", opens=True))
    tools = listed(raw, "enabled_tools", "disabled_tools")
    return Translated(entry, _TAKEN, tools, untaken=tuple(untaken))


def _select(draft: PeerDraft, profile: JsonObject) -> None:
    """Take one of its profiles; rules on tools are written as `server:tool`."""
    name = str(profile.get("name") or "profile")
    if any(profile.get(key) for key in _TIERS):
        draft.leave(f"profiles.{name}")
        return
    rules = table(profile.get("tools"))
    allow, deny = (_by_server(names(rules, key)) for key in ("allow", "deny"))
    members = []
    for server in names(profile, "servers"):
        only = (*allow.get(server, ()), *allow.get("*", ())) if allow else None
        members.append((server, PeerFilter(only, (*deny.get(server, ()), *deny.get("*", ())))))
    draft.select(name, members, str(profile.get("title") or profile.get("description") or ""))
    for key, value in profile.items():
        if key not in _SELECTION and value is not None:
            draft.leave(f"profiles.{name}.{key}")
    if rules.get("classify"):
        draft.leave(f"profiles.{name}.tools.classify")


def _by_server(patterns: tuple[str, ...]) -> dict[str, list[str]]:
    tools: dict[str, list[str]] = {}
    for pattern in patterns:
        server, _, tool = pattern.partition(":")
        tools.setdefault(server, []).append(tool or "*")
    return tools
