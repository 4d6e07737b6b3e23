"""Servers in a pasted text: an install link, an address, or JSON as README files show it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from toolyard.core.errors import ConfigError
from toolyard.core.install_links import LinkedServer, is_link, read_link
from toolyard.core.jsontypes import JsonObject
from toolyard.core.server_entries import LAUNCH_KEYS, read_entry
from toolyard.features.adding.model import Proposal, WantedValue, secret_name, usable_name
from toolyard.features.servers.operations import ServerEntry
from toolyard.records.jsonc import JsoncError, parse

LONGEST: Final = 256 * 1024
"""Characters of a text that somebody pastes."""
_TOPS: Final = ("mcpServers", "servers", "mcp", "mcp_servers", "context_servers")
_INPUT: Final = re.compile(r"\$\{input:([^}]+)\}")
_HINT: Final = 'paste an install link, or JSON such as {"name": {"command": "..."}}'
_INSTALL: Final = ("/install-mcp", "/redirect", "/mcp/install")


def read_pasted(text: str) -> list[Proposal]:
    """Read every server of a text.

    Raises:
        ConfigError: There is none, or one cannot be used.
    """
    if len(text) > LONGEST:
        raise ConfigError(f"the text has more than {LONGEST} characters", _HINT)
    text = text.strip()
    servers = [_linked(text)] if is_link(text) else list(_from_json(text))
    if not servers:
        raise ConfigError("there is no server in the text", _HINT)
    return list(_named_apart(_propose(server) for server in servers))


def _named_apart(proposals: Iterable[Proposal]) -> Iterator[Proposal]:
    """Each with a name of its own: two may become the same when they are made usable."""
    taken: set[str] = set()
    for proposal in proposals:
        tries = (proposal.name, *(f"{proposal.name[:60]}-{n}" for n in range(2, 1000)))
        name = next(name for name in tries if name.lower() not in taken)
        taken.add(name.lower())
        yield replace(proposal, name=name)


def _linked(text: str) -> LinkedServer:
    """The server of an install link; any other address is that of the server itself."""
    parts = urlsplit(text)
    is_plain = parts.scheme.lower() in ("http", "https")
    if is_plain and not parts.path.rstrip("/").endswith(_INSTALL):
        return LinkedServer(_host(text), {"url": text})
    return read_link(text)


def _from_json(text: str) -> Iterator[LinkedServer]:
    whole = _parse(text)
    inputs = whole.get("inputs")
    inner = whole.get("mcp")
    if isinstance(inner, dict) and isinstance(inner.get("servers"), dict):
        whole, inputs = inner, inner.get("inputs", inputs)  # the settings of VS Code
    asked = tuple(item for item in inputs or () if isinstance(item, dict))
    if any(whole.get(key) for key in LAUNCH_KEYS):
        yield LinkedServer(str(whole.get("name") or ""), whole, asked)
        return
    tables = [whole[key] for key in _TOPS if isinstance(whole.get(key), dict)] or [whole]
    for table in tables:
        for name, entry in table.items():
            if isinstance(entry, dict) and any(entry.get(key) for key in LAUNCH_KEYS):
                yield LinkedServer(name, entry, asked)


def _parse(text: str) -> JsonObject:
    # README files often show the member alone, without the braces around it.
    candidates = [text, f"{{{text}}}"] if text.startswith('"') else [text]
    error: JsoncError | None = None
    for candidate in candidates:
        try:
            root = parse(candidate.encode("utf-8", "surrogatepass")).root
        except JsoncError as failed:
            error = failed
            continue
        value = root.plain() if root else None
        if isinstance(value, dict):
            return value
    raise ConfigError(str(error) if error else "the text holds no object", _HINT) from error


def _propose(server: LinkedServer) -> Proposal:
    usable = ServerEntry.__struct_fields__
    entry = {key: value for key, value in server.entry.items() if key in usable}
    read_entry(entry)  # so that what is wrong is known before anybody is asked
    name = usable_name(server.name or _guess(entry))
    ids = dict.fromkeys(_INPUT.findall(json.dumps(entry)))
    described = {str(asked.get("id")): asked for asked in server.inputs}
    wants = tuple(_wanted(name, key, described.get(key, {})) for key in ids)
    kept = {*usable, "name", "inputs", *_TOPS}
    return Proposal(name, entry, wants, tuple(key for key in server.entry if key not in kept))


def _wanted(server: str, key: str, asked: JsonObject) -> WantedValue:
    default = asked.get("default")
    return WantedValue(
        key,
        f"${{input:{key}}}",
        secret_name(server, key),
        str(asked.get("description") or key),
        # A value that nobody describes may be a secret.
        is_secret=bool(asked.get("password", not asked)),
        default=(default,) if isinstance(default, str) and default else (),
    )


def _guess(entry: JsonObject) -> str:
    """A name for a server that has none: its host, or its package."""
    for key in ("url", "httpUrl", "serverUrl"):
        if isinstance(entry.get(key), str):
            return _host(entry[key])
    words = [*_list(entry.get("command")), *_list(entry.get("args"))]
    packages = [word for word in words[1:] if not word.startswith("-")] or words
    name = packages[0].rstrip("/").rpartition("/")[2] if packages else ""
    return re.sub(r"(?<=.)@.*|\.(?:py|js|ts)$", "", name)


def _list(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        return [str(word) for word in value]
    return [value] if isinstance(value, str) else []


def _host(url: str) -> str:
    """The part of a host's name that people know it by."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    labels = [label for label in host.split(".") if label not in ("www", "mcp", "api")]
    is_number = host.replace(".", "").isdigit() or ":" in host
    return host.replace(":", "-") if is_number else (labels or [host])[0]
