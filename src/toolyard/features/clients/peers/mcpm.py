"""mcpm: `servers.json`, whose servers carry the names of their profiles."""

from __future__ import annotations

from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import PeerDraft, Translated, names, table, usual
from toolyard.features.clients.peers.model import UNFILTERED, PeerFile
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = ("name", "profile_tags", "config")


def read_mcpm(document: PeerDocument) -> PeerFile:
    """Read the servers of mcpm; in `profiles.json` of its first version, each stands in a list."""
    draft = PeerDraft(document)
    described = document.beside("profiles_metadata.json")
    profiles: dict[str, list[str]] = {}
    for name, raw in document.value.items():
        if isinstance(raw, list):
            for server in map(table, raw):
                server_name = str(server.get("name") or "server")
                draft.take(server_name, server, _translate)
                profiles.setdefault(name, []).append(server_name)
            continue
        draft.take(name, raw, _translate)
        for tag in names(table(raw), "profile_tags"):
            profiles.setdefault(tag, []).append(name)
    for profile, servers in profiles.items():
        title = str(table(described.get(profile)).get("description") or "")
        draft.select(profile, [(server, UNFILTERED) for server in servers], title)
        if table(described.get(profile)).get("api_key"):
            draft.leave(f"{profile}.api_key")
    return draft.finish()


def _translate(raw: JsonObject) -> Translated:
    # A server of a kind that mcpm does not know stands as it is under `config`.
    inner = table(raw.get("config"))
    entry = usual(raw) | usual(inner)
    untaken = tuple(Untaken(f"config.{key}") for key in inner if key not in usual(inner))
    return Translated(entry, _TAKEN, untaken=untaken)
