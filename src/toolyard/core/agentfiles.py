"""The written form of agents' lists and policies, read with every fault named.

Nothing half-valid comes out of here: all faults of what was said are collected, each with the
server, the field and what to do, and raised together.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolyard.core.agents import (
    MODES,
    Agent,
    AgentConfig,
    AgentOverride,
    AgentServer,
    Meta,
    Mode,
    Policy,
    Transport,
    spelled,
)
from toolyard.core.agentwords import write_config
from toolyard.core.endpoint import Command, Endpoint
from toolyard.core.endpoint_fields import ENDPOINT_KEYS, check_variables, read_endpoint
from toolyard.core.errors import ConfigError
from toolyard.core.fields import MOST, FaultsError, Fields
from toolyard.core.rewrite import check_rule
from toolyard.core.transports import TRANSPORT_KEYS, is_streamable, read_transport

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"


def read_config(agent: str, request: Any) -> AgentConfig:
    """Make an agent's list of what a request says: `{enabled, servers, meta}`, or `mcpServers`.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    body = Fields(request, 'write it as {"enabled": true, "servers": {…}}')
    body.only(("enabled", "servers", "mcpServers", "meta"), "an agent's configuration")
    if body.get("enabled") is None:
        body.fault("enabled", "'enabled' is missing", "write true or false")
    enabled = body.flag("enabled", False)
    if "servers" in body.value and "mcpServers" in body.value:
        body.fault("servers", "it has both 'servers' and 'mcpServers'", "keep one of them")
    field = "mcpServers" if "mcpServers" in body.value else "servers"
    if body.get(field) is None:
        body.fault(field, f"'{field}' is missing", "write {} for a list without servers")
    servers, gone = _servers(body, field)
    if gone:
        body.fault(field, f"server {gone[0]!r} is null", "leave it out, or say what it is")
    meta = _meta(body, {server.name for server in servers})
    body.finish()
    return AgentConfig(agent, enabled, servers, meta)


def fill_in(request: Any, now: AgentConfig) -> Any:
    """Return a request for an agent's list with the fields that it does not name as they are now.

    `meta` of servers that leave the list goes with them. A request that names neither the list
    nor whether it is on is returned as it came: `read_config` says what it lacks.
    """
    if not isinstance(request, Mapping):
        return request
    named = {key: value for key, value in request.items() if value is not None}
    listed = named.keys() & {"servers", "mcpServers"}
    if not listed and "enabled" not in named:
        return request
    before = write_config(now)
    whole = {"enabled": now.enabled, **named}
    if not listed:
        whole["servers"] = msgspec.to_builtins(before.servers)
    if "meta" not in named:
        servers = whole.get("servers", whole.get("mcpServers"))
        entries = servers if isinstance(servers, Mapping) else {}
        meta = {name: words for name, words in before.meta.items() if name in entries}
        whole["meta"] = msgspec.to_builtins(meta)
    return whole


def read_override(agent: str, executor: str, request: Any) -> AgentOverride:
    """Make an override of what a request says; a server that is null is left out there.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    body = Fields(request, 'write it as {"enabled": true, "servers": {"git": null}}')
    body.only(("enabled", "servers"), "an override")
    enabled = None if body.get("enabled") is None else body.flag("enabled", True)
    servers, without = _servers(body, "servers")
    body.finish()
    return AgentOverride(agent, executor, enabled, servers, without)


def read_policy(request: Any) -> Policy:
    """Make a policy of what a request says; what it leaves out is as usual.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    body = Fields(request, 'write it as {"allow_stdio": false}')
    usual = Policy()
    policy = Policy(
        allow_stdio=body.flag("allow_stdio", usual.allow_stdio),
        allow_http=body.flag("allow_http", usual.allow_http),
        allow_sse=body.flag("allow_sse", usual.allow_sse),
        allow_streamable_http=body.flag("allow_streamable_http", usual.allow_streamable_http),
        http_url_rewrite=body.pairs("http_url_rewrite"),
        env_injection=body.pairs("env_injection"),
        env_override=body.texts("env_override"),
        allow=body.texts("allow"),
        deny=body.texts("deny"),
        stdio_proxy=body.flag("stdio_proxy", usual.stdio_proxy),
    )
    body.only((field.name for field in dataclasses.fields(Policy)), "a policy")
    for pattern, target in policy.http_url_rewrite:
        if wrong := check_rule(pattern, target):
            hint = "write addresses as http://host:port/path on both sides, or hosts as host:port"
            body.fault("http_url_rewrite", wrong, hint)
    check_variables(body, "env_injection")
    body.finish()
    return policy


def read_agent(name: str, request: Any) -> Agent:
    """Make an agent that a user defines: `{title, transports}`.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    body = Fields(request, 'write it as {"title": "My agent", "transports": ["stdio"]}')
    body.only(("title", "transports"), "an agent")
    id_ = spelled(name)
    if not NAME.fullmatch(id_):
        body.fault("id", f"{name[:80]!r} cannot name an agent", NAME_HINT)
    transports: list[Transport] = []
    for word in body.texts("transports"):
        try:
            transports.append(_transport(word))
        except ConfigError as error:
            body.fault("transports", str(error), error.hint)
    if not transports and not body.faults:
        body.fault("transports", "it takes no transport", "name at least one, e.g. stdio")
    title = body.text("title")
    body.finish()
    return Agent(id_, title or name.strip(), tuple(dict.fromkeys(transports)), own=True)


# One server.


def _servers(body: Fields, field: str) -> tuple[tuple[AgentServer, ...], tuple[str, ...]]:
    """The servers in the order of their names, and the names of those that are null."""
    entries = body.get(field)
    if entries is None:
        return (), ()
    if not isinstance(entries, Mapping):
        body.fault(field, f"'{field}' is not an object", 'write it as {"git": {…}}')
        return (), ()
    if len(entries) > MOST:
        body.fault(field, f"'{field}' has more than {MOST} entries", "shorten it")
    servers = []
    hint = 'write it as {"command": "…"} or {"url": "…"}'
    for name in sorted(entries):
        entry = Fields(
            {} if entries[name] is None else entries[name], hint, within=body, server=name
        )
        if not NAME.fullmatch(name):
            entry.fault("name", f"{name[:80]!r} cannot name a server", NAME_HINT)
        elif entries[name] is not None:
            servers.append(_server(name, entry))
    return tuple(servers), tuple(name for name in sorted(entries) if entries[name] is None)


def _server(name: str, entry: Fields) -> AgentServer:
    entry.only((*ENDPOINT_KEYS, "mode", "server"), "a server")
    mode = _mode(entry)
    if entry.get("server") is not None:
        return AgentServer(name, mode=mode, server=_reference(entry))
    try:
        endpoint = read_endpoint(entry.value)
    except FaultsError as error:
        for fault in error.faults:
            entry.fault(fault.field, fault.text, fault.hint)
        return AgentServer(name)
    return AgentServer(name, _type(entry, endpoint), endpoint, mode)


def _reference(entry: Fields) -> str:
    """The server of the yard that an entry names, and nothing beside it."""
    extra = [key for key in ENDPOINT_KEYS if entry.get(key) is not None]
    if extra:
        hint = "leave it out, or define the server here without 'server'"
        text = f"it refers to a server of the yard, and has '{extra[0]}' too"
        entry.fault(extra[0], text, hint)
    elif not entry.has("server"):
        entry.fault("server", "'server' is empty", "name a server; see: toolyard list")
    return entry.text("server")


def _type(entry: Fields, endpoint: Endpoint) -> Transport:
    if isinstance(endpoint, Command):
        return "stdio"
    word = next((entry.text(key) for key in TRANSPORT_KEYS if entry.has(key)), "http")
    return _transport(word)


def _transport(word: str) -> Transport:
    # Two names of one thing, and each agent is told the one it knows.
    return "streamable_http" if is_streamable(word) else read_transport(word)


def _mode(entry: Fields) -> Mode:
    word = entry.text("mode") or "auto"
    mode = word.strip().lower().replace("-", "_")
    if mode not in MODES:
        entry.fault("mode", f"there is no mode {word[:40]!r}", f"use one of {', '.join(MODES)}")
        return "auto"
    return mode


def _meta(body: Fields, names: set[str]) -> tuple[tuple[str, Meta], ...]:
    keys = tuple(field.name for field in dataclasses.fields(Meta))
    entries = body.get("meta")
    table = Fields({} if entries is None else entries, 'write it as {"git": {…}}', within=body)
    metas = []
    for name in sorted(table.value):
        entry = Fields(
            table.value[name], 'write it as {"description": "…"}', within=body, server=str(name)
        )
        entry.only(keys, "a server's meta")
        if name not in names:
            entry.fault("meta", "'meta' speaks of a server that is not listed", "take it out")
        metas.append((str(name), Meta(*(entry.text(key) for key in keys))))
    return tuple(metas)
