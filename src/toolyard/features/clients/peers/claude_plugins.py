"""Plugins of Claude Code: the servers they bring along, by the list of what is installed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument, read_document
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    milliseconds,
    table,
    usual,
)
from toolyard.features.clients.peers.model import PeerFile

_ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"


def read_claude_plugins(document: PeerDocument) -> PeerFile:
    """Read the servers of all plugins; those of a project's plugin are for that project."""
    draft = PeerDraft(document)
    switches = table(document.beside("../settings.json").get("enabledPlugins"))
    for key, installs in table(document.value.get("plugins")).items():
        is_enabled = switches.get(key) is not False
        # Before version 2 of the list, a plugin could be installed once.
        for install in map(table, installs if isinstance(installs, list) else [installs]):
            _take_plugin(draft, install, is_enabled)
    draft.leave_rest(("version", "plugins"))
    return draft.finish()


def _take_plugin(draft: PeerDraft, install: JsonObject, is_enabled: bool) -> None:
    folder = Path(str(install.get("installPath") or ""))
    is_for_project = install.get("scope") in ("project", "local")
    project = str(install.get("projectPath") or "") if is_for_project else ""
    more: JsonObject = {"project": project} if project else {}
    more |= {} if is_enabled else {"disabled": True}
    for name, raw in _servers(folder).items():
        draft.take(name, raw, partial(_translate, str(folder), more))


def _servers(folder: Path) -> JsonObject:
    """The servers of one plugin: in files of its folder, or in its manifest."""
    servers = _in_file(folder / ".mcp.json")
    declared = _read(folder / ".claude-plugin" / "plugin.json").get("mcpServers")
    for part in declared if isinstance(declared, list) else [declared]:
        if isinstance(part, dict):
            servers |= part
        elif isinstance(part, str):
            servers |= _in_file(folder / part)
    return servers


def _in_file(path: Path) -> JsonObject:
    whole = _read(path)
    return dict(table(whole.get("mcpServers")) or whole)


def _read(path: Path) -> JsonObject:
    return read_document(path).value if path.is_file() else {}


def _translate(folder: str, more: JsonObject, raw: JsonObject) -> Translated:
    entry = usual(raw) | milliseconds(raw, "timeout")
    rooted: JsonObject = _rooted(entry, folder)
    return Translated(rooted | more, ("timeout",))


def _rooted(value: Any, folder: str) -> Any:
    """The value with the plugin's folder in place of the variable that stands for it."""
    if isinstance(value, dict):
        return {key: _rooted(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_rooted(item, folder) for item in value]
    return value.replace(_ROOT, folder) if isinstance(value, str) else value
