"""The faults of agents' lists, found before they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolyard.core.agents import AgentConfig, AgentOverride, AgentServer
from toolyard.core.fields import FaultsError, FieldFault
from toolyard.core.plans import Refusal, Resolution
from toolyard.features.agents.resolutions import Resolutions
from toolyard.records.secrets.plain_secrets import find_plain_secrets

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
    """The faults of a list, and warnings about what works all the same."""

    faults: tuple[FieldFault, ...] = ()
    warnings: tuple[FieldFault, ...] = ()

    def raise_faults(self) -> None:
        """Refuse a list that cannot be used.

        Raises:
            FaultsError: There are faults.
        """
        if self.faults:
            raise FaultsError(self.faults)


def check_config(resolutions: Resolutions, config: AgentConfig, executor: str) -> Checked:
    """Return what comes of a list with an executor once it is switched on."""
    resolver = resolutions.resolver
    configs = {**resolver.roster.configs, config.agent: replace(config, enabled=True)}
    after = resolver.with_roster(replace(resolver.roster, configs=configs))
    return _check(config.servers, resolutions.imagine(after, config.agent, executor))


def check_override(resolutions: Resolutions, override: AgentOverride) -> Checked:
    """Return what comes of an override once it is switched on."""
    resolver, key = resolutions.resolver, (override.agent, override.executor)
    overrides = {**resolver.roster.overrides, key: replace(override, enabled=True)}
    after = resolver.with_roster(replace(resolver.roster, overrides=overrides))
    return _check(override.servers, resolutions.imagine(after, *key))


def _check(servers: Sequence[AgentServer], made: Resolution) -> Checked:
    """Judge servers by what a resolution with them says."""
    names = {server.name for server in servers}
    refusals = [refusal for refusal in made.refusals if refusal.name in names]
    errors = tuple(_fault(refusal) for refusal in refusals if refusal.code in ERRORS)
    warnings = tuple(_fault(refusal) for refusal in refusals if refusal.code not in ERRORS)
    clear = (fault for server in servers for fault in _find_plain_secrets(server))
    return Checked(errors, (*warnings, *clear))


def _fault(refusal: Refusal) -> FieldFault:
    return FieldFault(refusal.name, FIELDS.get(refusal.code, "name"), refusal.text, refusal.hint)


def _find_plain_secrets(server: AgentServer) -> Iterator[FieldFault]:
    if server.endpoint is None:
        return
    for field, name in find_plain_secrets(server.endpoint):
        key = f"{server.name}-{name}".lower().replace("_", "-")
        text = f"{name!r} in '{field}' is a secret in clear text"
        hint = f"keep it with: toolyard secret set {key}; and write ${{keyring:{key}}}"
        yield FieldFault(server.name, field, text, hint)
