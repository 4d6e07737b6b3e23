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

    @property
    def is_any(self) -> bool:
        """True if something differs."""
        return bool(self.gained or self.lost or self.changed)


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
            plans = resolve(before, agent, place).plans, resolve(after, agent, place).plans
            change = compare_resolutions(agent, place, *plans)
            if change.is_any:
                changes.append(change)
    return changes


def compare_resolutions(
    agent: str, executor: str, before: Iterable[Plan], after: Iterable[Plan]
) -> PlanChange:
    """Return the difference between the plans of an agent with an executor before and after."""
    old, new = {plan.name: plan for plan in before}, {plan.name: plan for plan in after}
    return PlanChange(
        agent,
        executor,
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name in old and _facts(old[name]) != _facts(new[name])),
    )


def _facts(plan: Plan) -> Plan:
    """A plan without the steps that led to it."""
    return replace(plan, steps=())
