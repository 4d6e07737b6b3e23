"""The plans of agents under another policy, before it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from toolyard.core.agents import EXECUTORS, Policy
from toolyard.core.plans import Plan, Resolution
from toolyard.core.roster import Resolver

Resolve = Callable[[Resolver, str, str], Resolution]


@dataclass(frozen=True, slots=True)
class PlanChange:
    """The difference in the plans of one agent with one executor, by the servers' names."""

    agent: str
    executor: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    changed: tuple[str, ...]


def compare_plans(
    before: Resolver, executor: str, policy: Policy | None, resolve: Resolve
) -> list[PlanChange]:
    """Return the plans that a policy of an executor would change; None takes its policy back."""
    after = _with_policy(before, executor, policy)
    reached = [
        place
        for place in dict.fromkeys((*EXECUTORS, *before.roster.sites))
        if before.roster.policy(place)[0] != after.roster.policy(place)[0]
    ]
    return _compare_all(before, after, reached, resolve)


def _with_policy(resolver: Resolver, executor: str, policy: Policy | None) -> Resolver:
    policies = {key: value for key, value in resolver.roster.policies.items() if key != executor}
    if policy is not None:
        policies[executor] = policy
    return resolver.with_roster(replace(resolver.roster, policies=policies))


def _compare_all(
    before: Resolver, after: Resolver, executors: Iterable[str], resolve: Resolve
) -> list[PlanChange]:
    """The changes for agents whose plans differ with these executors, by the agents' names."""
    roster = before.roster
    listed = {*roster.configs, *(agent for agent, _ in roster.overrides)}
    places = list(executors)
    changes = []
    for agent in sorted(listed & roster.agents.keys()):
        for place in places:
            change = _compare(resolve(before, agent, place), resolve(after, agent, place))
            if change.gained or change.lost or change.changed:
                changes.append(change)
    return changes


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
    """A plan without the steps that led to it."""
    return replace(plan, steps=())
