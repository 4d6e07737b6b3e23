"""Agents' lists, overrides and policies as the API and the database say them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from toolyard.core.agents import AgentConfig, AgentServer, Meta, Override, Policy
from toolyard.core.endpoint import write_endpoint


def write_config(config: AgentConfig) -> dict[str, Any]:
    """What the API says of an agent's list."""
    return {
        "agent_id": config.agent,
        "enabled": config.enabled,
        "servers": {server.name: write_server(server) for server in config.servers},
        "meta": {name: _write(meta) for name, meta in config.meta},
    }


def write_server(server: AgentServer) -> dict[str, Any]:
    """What the API says of one server: only what it sets, and always its mode."""
    if server.endpoint is None:
        return {"server": server.server, "mode": server.mode}
    said = {key: value for key, value in write_endpoint(server.endpoint).items() if value}
    return {"type": server.type} | said | {"type": server.type, "mode": server.mode}


def write_override(override: Override) -> dict[str, Any]:
    """What the API says of an override."""
    servers: dict[str, Any] = {each.name: write_server(each) for each in override.servers}
    return {
        "enabled": override.enabled,
        "servers": {**servers, **dict.fromkeys(override.without)},
    }


def write_policy(policy: Policy) -> dict[str, Any]:
    """What the API says of a policy: everything."""
    said: dict[str, Any] = {}
    for field in fields(Policy):
        value = getattr(policy, field.name)
        if field.name in ("http_url_rewrite", "env_injection"):
            said[field.name] = dict(value)
        else:
            said[field.name] = list(value) if isinstance(value, tuple) else value
    return said


def _write(meta: Meta) -> dict[str, str]:
    said = {field.name: getattr(meta, field.name) for field in fields(Meta)}
    return {key: value for key, value in said.items() if value}
