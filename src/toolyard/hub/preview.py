"""What would become of agents' plans: under another policy, or with another list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from toolyard.core.agents import AgentConfig, AgentServer, Override, Policy
from toolyard.core.fields import FieldFault
from toolyard.core.plans import Plan, Refusal, Resolution
from toolyard.core.roster import Resolver
from toolyard.stores.clear import clear_secrets

Resolve = Callable[[Resolver, str, str], Resolution]
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
class PlanChange:
    """How the plans of one agent with one executor would change, by the servers' names."""

    agent: str
    executor: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What is wrong with a list, and what it should be told that works all the same."""

    faults: tuple[FieldFault, ...]
    warnings: tuple[FieldFault, ...]


def with_policy(resolver: Resolver, executor: str, policy: Policy | None) -> Resolver:
    """The same yard under another policy; None for none."""
    policies = {key: value for key, value in resolver.roster.policies.items() if key != executor}
    if policy is not None:
        policies[executor] = policy
    return resolver.with_roster(replace(resolver.roster, policies=policies))


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


def compare(
    before: Resolver, after: Resolver, executors: Iterable[str], resolve: Resolve
) -> list[PlanChange]:
    """The agents whose plans differ with these executors, in the order of their names."""
    roster = before.roster
    agents = sorted({*roster.configs, *(agent for agent, _ in roster.overrides)})
    places = list(executors)
    found = []
    for agent in (each for each in agents if each in roster.agents):
        for place in places:
            change = _compare(resolve(before, agent, place), resolve(after, agent, place))
            if change.gained or change.lost or change.changed:
                found.append(change)
    return found


def _compare(before: Resolution, after: Resolution) -> PlanChange:
    old = {plan.name: plan for plan in before.plans}
    new = {plan.name: plan for plan in after.plans}
    return PlanChange(
        after.agent,
        after.executor,
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name in old and _facts(old[name]) != _facts(new[name])),
    )


def _facts(plan: Plan) -> Plan:
    """A plan without the story of how it came to be."""
    return replace(plan, steps=())


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
