"""Links that add the hub to a client: its command on this machine, or its public address."""

from __future__ import annotations

from typing import Final

from toolyard.core.endpoint import EndpointEntry
from toolyard.core.install_links import cursor_link, vscode_link
from toolyard.core.jsontypes import JsonObject
from toolyard.installation import NAME

ASKED: Final = "toolyard-token"
"""The name under which VS Code keeps the token that it asks for."""


def make_links(command: EndpointEntry, public: str) -> dict[str, str]:
    """Return a link for each client that has such links, by its name.

    A link has no token in it: VS Code asks for it, and Cursor reads it from its environment.
    """
    if not public:
        return {
            "vscode": vscode_link(NAME, {"type": "stdio", **command}),
            "cursor": cursor_link(NAME, command),
        }
    return {
        "vscode": vscode_link(NAME, {"type": "http", **_entry(public, f"${{input:{ASKED}}}")}),
        "cursor": cursor_link(NAME, _entry(public, "${env:TOOLYARD_TOKEN}")),
    }


def _entry(public: str, token: str) -> JsonObject:
    entry: JsonObject = {"url": f"{public}/mcp", "headers": {"Authorization": f"Bearer {token}"}}
    if ASKED in token:
        description = "Token for Toolyard, as `toolyard token create` prints it"
        asked = {"type": "promptString", "id": ASKED, "description": description, "password": True}
        entry["inputs"] = [asked]
    return entry
