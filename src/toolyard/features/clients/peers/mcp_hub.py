"""MCP Hub (ravitemer): the `servers.json` of mcphub.nvim, in the words of clients or of VS Code."""

from __future__ import annotations

import re
from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    exactly,
    names,
    table,
    usual,
)
from toolyard.features.clients.peers.model import PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_HIDDEN: Final = (
    *("disabled_tools", "disabled_prompts", "disabled_resources"),
    "disabled_resourceTemplates",
)
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_UNFILLED: Final = re.compile(r"\$\{(?:cmd:|workspaceFolder)[^}]*\}")


def read_mcp_hub(document: PeerDocument) -> PeerFile:
    """Read the servers of MCP Hub."""
    draft, value = PeerDraft(document), document.value
    # With both keys, that of VS Code counts.
    key = "servers" if isinstance(value.get("servers"), dict) else "mcpServers"
    for name, raw in table(value.get(key)).items():
        draft.take(name, raw, _translate)
    draft.leave_rest((key,))
    return draft.finish()


def _translate(raw: JsonObject) -> Translated:
    entry = usual(raw)
    env = {name: _own(name, value) for name, value in table(raw.get("env")).items()}
    own = {name: value for name, value in env.items() if "${" not in value}

    def fill(text: str) -> str:
        return _REFERENCE.sub(lambda match: own.get(match[1], match[0]), text)

    if env:
        entry["env"] = {name: fill(value) for name, value in env.items()}
    if isinstance(raw.get("args"), list):
        entry["args"] = [fill(_braced(str(word))) for word in raw["args"]]
    if isinstance(raw.get("headers"), dict):
        entry["headers"] = {name: fill(str(value)) for name, value in raw["headers"].items()}
    if isinstance(raw.get("command"), str):
        entry["command"] = fill(raw["command"])
    hidden = [offer for key in _HIDDEN for offer in names(raw, key)]
    references = dict.fromkeys(_UNFILLED.findall(repr(entry)))
    untaken = tuple(map(Untaken, references))
    return Translated(entry, _HIDDEN, PeerFilter(hide=exactly(hidden)), untaken=untaken)


def _own(name: str, value: object) -> str:
    """The value of a variable; without one, it is that of the hub."""
    return str(value) if value not in (None, "") else f"${{{name}}}"


def _braced(word: str) -> str:
    """An argument such as `$TOKEN`, written as a reference."""
    return f"${{{word[1:]}}}" if re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", word) else word
