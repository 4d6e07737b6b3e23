"""Docker's MCP gateway: exported profiles, `registry.yaml` with what is beside it, and catalogs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.containers import container_command
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    exactly,
    fault,
    names,
    pairs,
    table,
)
from toolyard.features.clients.peers.model import UNFILTERED, PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = (
    *("name", "image", "volumes", "user", "disableNetwork", "remote", "sseEndpoint"),
    *("secrets", "config"),
)
_CATALOG: Final = "catalogs/docker-mcp.yaml"
_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}|\s]+)\s*((?:\|[^{}|]+)*)\}\}")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def read_docker(document: PeerDocument) -> PeerFile:
    """Read a file of the gateway, whichever of them it is."""
    draft, value = PeerDraft(document), document.value
    if isinstance(value.get("servers"), list):
        _read_profile(draft, value)
    elif isinstance(value.get("registry"), dict):
        _read_registry(draft, document)
    elif value.get("image") or value.get("remote") or value.get("type"):
        _take(draft, document.path.stem, value, {})
    else:
        draft.leave_rest(())
    return draft.finish()


def _read_profile(draft: PeerDraft, value: JsonObject) -> None:
    """Read a profile as `docker mcp profile export` writes it."""
    members = []
    for raw in map(table, value["servers"]):
        entry = table(table(raw.get("snapshot")).get("server")) or {"image": raw.get("image")}
        name = str(entry.get("name") or _short(str(raw.get("image") or raw.get("source") or "")))
        if not (raw.get("image") or entry.get("remote")):
            hint = "import it from the registry: toolyard catalog import"
            draft.refuse(name, "only its address in a registry is there", hint)
            continue
        entry = {**entry, "image": raw["image"]} if raw.get("image") else entry
        _take(draft, name, entry, {name: table(raw.get("config"))})
        members.append((name, _only(raw.get("tools"))))
    profile = str(value.get("id") or value.get("name") or "docker")
    draft.select(profile, members, str(value.get("name") or ""))
    draft.leave_rest(("version", "id", "name", "servers", "secrets"))


def _read_registry(draft: PeerDraft, document: PeerDocument) -> None:
    """Read a catalog, or the list of enabled servers that refers to one."""
    catalog = table(document.beside(_CATALOG).get("registry"))
    config, tools = document.beside("config.yaml"), document.beside("tools.yaml")
    for name, raw in document.value["registry"].items():
        entry = table(raw)
        if not (entry.keys() - {"ref", "config"}):
            if name not in catalog:
                hint = "export its profile: docker mcp profile export NAME FILE"
                draft.refuse(name, f"it is not in '{_CATALOG}' beside the file", hint)
                continue
            entry = table(catalog[name])
        _take(draft, name, entry, config, _only(tools.get(name)))
    draft.leave_rest(("registry", "version", "name", "displayName"))


def _take(
    draft: PeerDraft,
    name: str,
    entry: JsonObject,
    config: JsonObject,
    shown: PeerFilter = UNFILTERED,
) -> None:
    draft.take(name, entry, partial(_translate, config, shown))


def _translate(config: JsonObject, shown: PeerFilter, raw: JsonObject) -> Translated:
    if raw.get("type") == "poci":
        raise fault("type", "each of its tools is a container of its own", "nothing here does that")
    values = _Values(config)
    secrets = {
        str(secret.get("env")): f"${{keyring:{secret.get('name')}}}"
        for secret in map(table, raw.get("secrets") or [])
        if secret.get("env") and secret.get("name")
    }
    remote = table(raw.get("remote"))
    address = remote.get("url") or raw.get("sseEndpoint")
    if address:
        entry = _remote(str(address), remote, raw, secrets)
    else:
        entry = _container(raw, values, secrets)
    entry["title"] = raw.get("title") or raw.get("description") or ""
    # The tools of a catalog are a description, and restrict nothing.
    untaken = [Untaken(key) for key in ("oauth", "tools") if raw.get(key)]
    untaken += [Untaken(f"{{{{{key}}}}}") for key in values.missing]
    return Translated(entry, (*_TAKEN, "oauth", "tools"), shown, untaken=tuple(untaken))


def _remote(url: str, remote: JsonObject, raw: JsonObject, secrets: dict[str, str]) -> JsonObject:
    def refer(match: re.Match[str]) -> str:
        return secrets.get(match[1], f"${{{match[1]}}}")

    headers = {key: _VARIABLE.sub(refer, text) for key, text in pairs(remote, "headers").items()}
    is_sse = raw.get("sseEndpoint") or remote.get("transport_type") == "sse"
    return {"type": "sse" if is_sse else "http", "url": url, "headers": headers}


def _container(raw: JsonObject, values: _Values, secrets: dict[str, str]) -> JsonObject:
    if not raw.get("image"):
        raise fault("image", "it has neither an image nor an address", "name it with 'image'")
    env = {
        str(variable.get("name")): " ".join(values.fill(str(variable.get("value") or "")))
        for variable in map(table, raw.get("env") or [])
        if variable.get("name")
    } | secrets
    words = container_command(
        str(raw["image"]),
        [word for text in names(raw, "command") for word in values.fill(text)],
        env,
        mounts=[word for text in names(raw, "volumes") for word in values.fill(text)],
        user=" ".join(values.fill(str(raw.get("user") or ""))),
        has_network=not raw.get("disableNetwork"),
    )
    return {"command": words[0], "args": words[1:], "env": env}


class _Values:
    """The settings that templates such as `{{filesystem.paths|volume|into}}` stand for."""

    def __init__(self, config: JsonObject) -> None:
        self._config = config
        self.missing: list[str] = []
        """The templates that nothing was set for."""

    def fill(self, text: str) -> list[str]:
        """Return the words that a text stands for: a list gives one for each of its members."""
        whole = _TEMPLATE.fullmatch(text)
        if whole:
            return list(self._words(whole))
        return [_TEMPLATE.sub(lambda match: ",".join(self._words(match)), text)] if text else []

    def _words(self, match: re.Match[str]) -> Iterator[str]:
        value = self._find(match[1])
        changes = [change.strip() for change in match[2].split("|") if change.strip()]
        default = next((c.partition(":")[2] for c in changes if c.startswith("or:")), None)
        if value is None and default is None:
            self.missing.append(match[1])
            yield match[0]
            return
        items = value if isinstance(value, list) else [default if value is None else value]
        for item in map(str, items):
            yield f"{item}:{item}" if "volume" in changes else item

    def _find(self, path: str) -> Any:
        value: Any = self._config
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value


def _only(tools: object) -> PeerFilter:
    return PeerFilter(exactly(map(str, tools))) if isinstance(tools, list) else UNFILTERED


def _short(reference: str) -> str:
    """A name for an image: its last part, without tag and digest."""
    return re.split(r"[:@]", reference.rstrip("/").rpartition("/")[2])[0] or "server"
