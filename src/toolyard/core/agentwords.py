"""Agents' lists, overrides and policies as the API and the database say them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from toolyard.core.agents import AgentConfig, AgentOverride, AgentServer, Meta, Policy
from toolyard.core.endpoint import write_endpoint


def write_config(config: AgentConfig) -> dict[str, Any]:
    """Return an agent's list as the API shows it."""
    return {
        "agent_id": config.agent,
        "enabled": config.enabled,
        "servers": {server.name: write_server(server) for server in config.servers},
        "meta": {name: _write(meta) for name, meta in config.meta},
    }


def write_server(server: AgentServer) -> dict[str, Any]:
    """Return one server as the API shows it: only what it sets, and always its mode."""
    if server.endpoint is None:
        return {"server": server.server, "mode": server.mode}
    entry = {key: value for key, value in write_endpoint(server.endpoint).items() if value}
    return {"type": server.type} | entry | {"type": server.type, "mode": server.mode}


def write_override(override: AgentOverride) -> dict[str, Any]:
    """Return an override as the API shows it."""
    servers: dict[str, Any] = {server.name: write_server(server) for server in override.servers}
    return {
        "enabled": override.enabled,
        "servers": {**servers, **dict.fromkeys(override.without)},
    }


def write_policy(policy: Policy) -> dict[str, Any]:
    """Return a policy as the API shows it: everything."""
    entries: dict[str, Any] = {}
    for field in fields(Policy):
        value = getattr(policy, field.name)
        if field.name in ("http_url_rewrite", "env_injection"):
            entries[field.name] = dict(value)
        else:
            entries[field.name] = list(value) if isinstance(value, tuple) else value
    return entries


def _write(meta: Meta) -> dict[str, str]:
    entries = {field.name: getattr(meta, field.name) for field in fields(Meta)}
    return {key: value for key, value in entries.items() if value}
