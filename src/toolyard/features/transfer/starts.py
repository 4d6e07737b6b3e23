"""The commands and addresses that a change lets the hub start and reach, for a person to judge."""

from __future__ import annotations

import json
import shlex

from toolyard.core.agentfiles import read_config, read_override
from toolyard.core.endpoint import Command, Endpoint, Url
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Entry, ServerId, Snapshot
from toolyard.core.server_entries import read_entry
from toolyard.features.catalog.reading import read_definition
from toolyard.features.interceptors.model import make_interceptor, read_fields
from toolyard.features.transfer.reading import SOURCES
from toolyard.records.secrets.plain_secrets import without_passwords


def find_starts(section: str, name: str, body: JsonObject, after: Snapshot) -> tuple[str, ...]:
    """Return what a record starts or reaches, each as one line, without passwords.

    `after` is the picture of the yard that has the record.
    """
    match section:
        case "servers":
            return (spell_endpoint(read_entry(body).endpoint),)
        case "definitions":
            return (spell_endpoint(read_definition(json.dumps(body).encode()).endpoint),)
        case "catalog":
            entry = find_server(section, name, after)
            return (spell_endpoint(entry.server.endpoint),) if entry is not None else ()
        case "interceptors":
            work = make_interceptor(name, read_fields(body)).work
            return (spell_endpoint(work),) if isinstance(work, Command | Url) else ()
        case "lists" | "overrides":
            return _of_list(body, is_whole=section == "lists")
    return ()


def find_server(section: str, name: str, after: Snapshot) -> Entry | None:
    """Return the server that a record of a section declares, if it declares one."""
    source = SOURCES.get(section)
    return after.entries.get(ServerId(name, source)) if source is not None else None


def _of_list(body: JsonObject, *, is_whole: bool) -> tuple[str, ...]:
    """The servers that an agent defines for itself, with their names."""
    servers = (read_config("", body) if is_whole else read_override("", "", body)).servers
    return tuple(
        f"{server.name}: {spell_endpoint(server.endpoint)}"
        for server in servers
        if server.endpoint is not None
    )


def spell_endpoint(endpoint: Endpoint) -> str:
    """Return a command as a shell would take it, or an address."""
    shown = without_passwords(endpoint)
    return shlex.join(shown.argv) if isinstance(shown, Command) else shown.url
