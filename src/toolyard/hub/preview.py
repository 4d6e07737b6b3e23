"""The faults of agents' lists: what they would come to, before they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from toolyard.core.agents import AgentConfig, AgentServer, Override
from toolyard.core.fields import FieldFault
from toolyard.core.plans import Refusal, Resolution
from toolyard.core.roster import Resolver
from toolyard.stores.plain_secrets import clear_secrets

FIELDS: Final = {
    "shared-stdio": "mode",
    "transport-refused": "type",
    "agent-cannot": "type",
    "out-of-reach": "url",
    "unknown-server": "server",
    "switched-off": "server",
    "not-usable": "server",
    "runs-elsewhere": "server",
}
"""The field of a list that a refusal is about; else it is the server's name."""
ERRORS: Final = frozenset({"shared-stdio"})
"""Refusals that keep a list from being saved: no choice of a person's makes it work as written."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What is wrong with a list, and what it should be told that works all the same."""

    faults: tuple[FieldFault, ...]
    warnings: tuple[FieldFault, ...]


def with_config(resolver: Resolver, config: AgentConfig) -> Resolver:
    """The same yard with another list of an agent."""
    roster = resolver.roster
    configs = {**roster.configs, config.agent: config}
    return resolver.with_roster(replace(roster, configs=configs))


def with_override(resolver: Resolver, override: Override) -> Resolver:
    """The same yard with another override."""
    key = override.agent, override.executor
    roster = resolver.roster
    return resolver.with_roster(replace(roster, overrides={**roster.overrides, key: override}))


def check(config: AgentConfig, made: Resolution) -> Checked:
    """What a resolution with a list says of that list."""
    names = {server.name for server in config.servers}
    refusals = [each for each in made.refusals if each.name in names]
    wrong = tuple(_fault(each) for each in refusals if each.code in ERRORS)
    doubts = tuple(_fault(each) for each in refusals if each.code not in ERRORS)
    clear = (fault for server in config.servers for fault in _clear(server))
    return Checked(wrong, (*doubts, *clear))


def _fault(refusal: Refusal) -> FieldFault:
    return FieldFault(refusal.name, FIELDS.get(refusal.code, "name"), refusal.text, refusal.hint)


def _clear(server: AgentServer) -> Iterator[FieldFault]:
    if server.endpoint is None:
        return
    for field, name in clear_secrets(server.endpoint):
        kept = f"{server.name}-{name}".lower().replace("_", "-")
        hint = f"keep it with: toolyard secret set {kept}; and write ${{keyring:{kept}}}"
        yield FieldFault(
            server.name, field, f"{name!r} in '{field}' is a secret in clear text", hint
        )
