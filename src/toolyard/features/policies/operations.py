"""Questions and orders about policies."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from toolyard.core.agentfiles import read_policy
from toolyard.core.agents import EXECUTORS, Roster
from toolyard.core.agentwords import PolicyBody, write_policy
from toolyard.features.agents.resolutions import Resolutions
from toolyard.features.agents.store import AgentStore
from toolyard.features.policies.preview import PlanChange, compare_plans
from toolyard.operation import Guard, NoInput, Ordered, Versioned, operation
from toolyard.yard import Yard

TOP = "/api/v1/policies"
ONE = "/api/v1/policies/{executor}"


class PolicyOf(Struct, frozen=True):
    """The executor whose policy is meant."""

    executor: str


class PutPolicy(Struct, frozen=True):
    """A policy to write; `read_policy` judges it."""

    executor: str
    body: Any


class PreviewPolicy(Struct, frozen=True):
    """A policy to try."""

    executor: str
    body: Any
    reset: bool = False
    """The policy is to be taken back; what the body says does not count then."""


class PolicyRow(Struct, frozen=True):
    """The rules that count for an executor."""

    executor: str
    kind: str
    policy_of: str
    """The owner of the policy that counts: itself, its kind, or the default."""
    policy: PolicyBody


class PolicyList(Struct, frozen=True):
    """The policies of all executors."""

    policies: list[PolicyRow]


class PlanChangeRow(Struct, frozen=True):
    """The changes in the plans of one agent with one executor."""

    agent: str
    executor: str
    gained: list[str]
    lost: list[str]
    changed: list[str]


class Preview(Struct, frozen=True):
    """The plans that would change."""

    executor: str
    changes: list[PlanChangeRow]


@operation("GET", TOP)
async def list_policies(yard: Yard, order: NoInput) -> PolicyList:
    """All policies."""
    roster = yard.part(AgentStore).records.roster
    names = dict.fromkeys((*EXECUTORS, *sorted(roster.sites)))
    return PolicyList([_row(roster, name) for name in names])


@operation("GET", ONE)
async def get_policy(yard: Yard, order: PolicyOf) -> Versioned[PolicyRow]:
    """The policy of one executor."""
    records = yard.part(AgentStore).records
    executor = records.roster.executor(order.executor)
    return Versioned(_row(records.roster, executor), records.version("policy", executor))


@operation("PUT", ONE, guard=Guard.RECORD, shape=PolicyBody)
async def put_policy(yard: Yard, order: PutPolicy) -> Versioned[Ordered]:
    """Write the policy of an executor."""
    store = yard.part(AgentStore)
    executor, policy = store.records.roster.executor(order.executor), read_policy(order.body)
    put = store.put_policy
    version = await asyncio.to_thread(put, executor, policy, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: picture.roster.policies.get(executor) == policy)
    return Versioned(Ordered(order.executor, noticed), str(version))


@operation("DELETE", ONE, guard=Guard.RECORD)
async def reset_policy(yard: Yard, order: PolicyOf) -> Ordered:
    """Delete the policy of an executor; that of its kind counts again."""
    store = yard.part(AgentStore)
    executor = store.records.roster.executor(order.executor)
    await asyncio.to_thread(store.remove_policy, executor, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: executor not in picture.roster.policies)
    return Ordered(order.executor, noticed)


@operation("POST", f"{ONE}/preview", query=("reset",), shape=PolicyBody)
async def preview_policy(yard: Yard, order: PreviewPolicy) -> Preview:
    """The plans that a policy would change."""
    resolutions = yard.part(Resolutions)
    before = resolutions.resolver
    executor = before.roster.executor(order.executor)
    policy = None if order.reset else read_policy(order.body)
    # Every agent is resolved twice, so it is done beside the loop.
    changes = await asyncio.to_thread(compare_plans, before, executor, policy, resolutions.imagine)
    return Preview(executor, [change_row(change) for change in changes])


def _row(roster: Roster, executor: str) -> PolicyRow:
    policy, policy_of = roster.policy(executor)
    return PolicyRow(executor, roster.kind(executor), policy_of, write_policy(policy))


def change_row(change: PlanChange) -> PlanChangeRow:
    """Return a change of plans as an answer tells it."""
    gained, lost, changed = list(change.gained), list(change.lost), list(change.changed)
    return PlanChangeRow(change.agent, change.executor, gained, lost, changed)
