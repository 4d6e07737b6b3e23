"""What executors allow and change, over the control API."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from toolyard.core.agents import EXECUTORS
from toolyard.core.agentwords import write_policy
from toolyard.hub.agents import Agents
from toolyard.operation import Ordered
from toolyard.surfaces.control.agentrows import (
    PlanChangeRow,
    PolicyBody,
    PolicyList,
    PolicyRow,
    Preview,
)
from toolyard.surfaces.control.api import Call, Operation, Reply

TOP = "/api/v1/policies"
ONE = "/api/v1/policies/{executor}"


class PreviewQuery(msgspec.Struct, frozen=True):
    """What to look at."""

    reset: bool = False
    """Whether the policy is to be taken back; what the body says does not count then."""


class PoliciesDoor:
    """Questions and orders about policies."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "policies"}
        order: dict[str, Any] = {"tag": "policies", "versioned": True}
        preview = {**tag, "shape": PolicyBody, "query": PreviewQuery}
        say = "Whose plans it would change"
        return [
            Operation("GET", TOP, "All policies", self._list, PolicyList, **tag),
            Operation("GET", ONE, "One policy", self._one, PolicyRow, **tag),
            Operation("PUT", ONE, "Write it", self._put, Ordered, shape=PolicyBody, **order),
            Operation("DELETE", ONE, "Take it back", self._reset, Ordered, **order),
            Operation("POST", f"{ONE}/preview", say, self._preview, Preview, **preview),
        ]

    async def _list(self, call: Call) -> PolicyList:
        names = dict.fromkeys((*EXECUTORS, *sorted(self._agents.roster.sites)))
        return PolicyList([self._row(name) for name in names])

    async def _one(self, call: Call) -> Reply:
        records = self._agents.records
        where = records.roster.executor(call.path["executor"])
        return Reply(self._row(where), etag=records.version("policy", where))

    def _row(self, executor: str) -> PolicyRow:
        roster = self._agents.roster
        policy, policy_of = roster.policy(executor)
        body = msgspec.convert(write_policy(policy), PolicyBody)
        return PolicyRow(executor, roster.kind(executor), policy_of, body)

    async def _put(self, call: Call) -> Reply:
        name = call.path["executor"]
        saved = await self._agents.put_policy(name, call.body, call.if_match)
        return Reply(Ordered(name, saved.noticed), etag=saved.version)

    async def _reset(self, call: Call) -> Ordered:
        name = call.path["executor"]
        return Ordered(name, await self._agents.remove_policy(name, call.if_match))

    async def _preview(self, call: Call) -> Preview:
        name = call.path["executor"]
        said = None if call.query.reset else call.body
        # Every agent is resolved twice, so it is done beside the loop.
        found = await asyncio.to_thread(self._agents.preview_policy, name, said)
        rows = [
            PlanChangeRow(c.agent, c.executor, list(c.gained), list(c.lost), list(c.changed))
            for c in found
        ]
        return Preview(self._agents.roster.executor(name), rows)
