"""Agents' lists, overrides and policies as the API and the database say them.

`core/agentfiles.py` reads them.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from toolyard.core.agents import AgentConfig, AgentOverride, AgentServer, Meta, Policy
from toolyard.core.endpoint import write_endpoint
from toolyard.core.endpoint_body import EndpointBody

Texts = list[str] | None
Table = dict[str, str] | None


class AgentServerBody(EndpointBody, frozen=True):
    """A server on a list: a definition, or in `server` the name of one that the yard knows."""

    mode: str | UnsetType | None = UNSET
    server: str | UnsetType | None = UNSET


class MetaBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a server on a list, for people."""

    name: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    url: str | UnsetType | None = UNSET
    icon: str | UnsetType | None = UNSET


class AgentConfigRow(Struct, frozen=True):
    """The servers an agent is given."""

    agent_id: str
    enabled: bool
    servers: dict[str, AgentServerBody]
    meta: dict[str, MetaBody]


class OverrideBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The differences with one executor; a server that is null is left out there."""

    enabled: bool | UnsetType | None = UNSET
    servers: dict[str, AgentServerBody | None] | UnsetType | None = UNSET


class PolicyBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of an executor; those left out are as usual."""

    allow_stdio: bool | UnsetType | None = UNSET
    allow_http: bool | UnsetType | None = UNSET
    allow_sse: bool | UnsetType | None = UNSET
    allow_streamable_http: bool | UnsetType | None = UNSET
    http_url_rewrite: Table | UnsetType = UNSET
    env_injection: Table | UnsetType = UNSET
    env_override: Texts | UnsetType = UNSET
    allow: Texts | UnsetType = UNSET
    deny: Texts | UnsetType = UNSET
    stdio_proxy: bool | UnsetType | None = UNSET


def write_config(config: AgentConfig) -> AgentConfigRow:
    """Return an agent's list as the API shows it."""
    return AgentConfigRow(
        config.agent,
        config.enabled,
        {server.name: write_server(server) for server in config.servers},
        {name: _write(meta) for name, meta in config.meta},
    )


def write_server(server: AgentServer) -> AgentServerBody:
    """Return one server as the API shows it: only what it sets, and always its mode."""
    if server.endpoint is None:
        return AgentServerBody(server=server.server, mode=server.mode)
    entry = {key: value for key, value in write_endpoint(server.endpoint).items() if value}
    return msgspec.convert({**entry, "type": server.type, "mode": server.mode}, AgentServerBody)


def write_override(override: AgentOverride) -> OverrideBody:
    """Return an override as the API shows it."""
    servers = {server.name: write_server(server) for server in override.servers}
    return OverrideBody(override.enabled, {**servers, **dict.fromkeys(override.without)})


def write_policy(policy: Policy) -> PolicyBody:
    """Return a policy as the API shows it: everything."""
    return PolicyBody(
        allow_stdio=policy.allow_stdio,
        allow_http=policy.allow_http,
        allow_sse=policy.allow_sse,
        allow_streamable_http=policy.allow_streamable_http,
        http_url_rewrite=dict(policy.http_url_rewrite),
        env_injection=dict(policy.env_injection),
        env_override=list(policy.env_override),
        allow=list(policy.allow),
        deny=list(policy.deny),
        stdio_proxy=policy.stdio_proxy,
    )


def _write(meta: Meta) -> MetaBody:
    return MetaBody(
        meta.name or UNSET, meta.description or UNSET, meta.url or UNSET, meta.icon or UNSET
    )
