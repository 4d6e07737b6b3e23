"""Agents and their lists over the control API: as `/api/mcp-config`, and in full."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from toolyard.core.agents import Agent, Override
from toolyard.core.agentwords import write_config, write_override
from toolyard.core.errors import UnknownNameError
from toolyard.core.fields import FaultsError
from toolyard.doors.rest.errors import problem
from toolyard.hub.agents import Agents, Saved
from toolyard.operation import Ordered, fault_rows
from toolyard.stores.agentrecords import pair
from toolyard.surfaces.control.agentrows import (
    AgentBody,
    AgentConfigBody,
    AgentConfigChange,
    AgentConfigRow,
    AgentList,
    AgentRow,
    Name,
    OverrideBody,
    SavedConfig,
)
from toolyard.surfaces.control.api import Call, Operation, Reply

SHORT = "/api/mcp-config"
TOP = "/api/v1/agents"
ONE = "/api/v1/agents/{id}"
CONFIG = "/api/v1/agents/{id}/config"
OVERRIDE = "/api/v1/agents/{id}/overrides/{executor}"


class AgentQuery(msgspec.Struct, frozen=True):
    """Whose list."""

    agent: Name
    executor: str = ""
    """The executor for which the list is checked when it is saved."""


class ExecutorQuery(msgspec.Struct, frozen=True):
    """With which executor; with none, on this machine."""

    executor: str = ""


class AgentsDoor:
    """Questions and orders about agents, their lists, and what differs with an executor."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        return [*self._short(), *self._whole()]

    def _short(self) -> list[Operation]:
        what: dict[str, Any] = {"tag": "agents", "query": AgentQuery, "errors": (404,)}
        what["invalid"] = 400
        return [
            Operation("GET", SHORT, "The list of an agent", self._get, AgentConfigRow, **what),
            Operation(
                "POST",
                SHORT,
                "Write what is named of it",
                self._post,
                SavedConfig,
                shape=AgentConfigChange,
                versioned=True,
                **what,
            ),
        ]

    def _whole(self) -> list[Operation]:
        tag: dict[str, Any] = {"tag": "agents"}
        order: dict[str, Any] = {"tag": "agents", "versioned": True}
        put = {**order, "shape": AgentBody}
        config = {**order, "shape": AgentConfigBody, "query": ExecutorQuery}
        override = {**order, "shape": OverrideBody}
        return [
            Operation("GET", TOP, "All agents", self._list, AgentList, **tag),
            Operation("GET", ONE, "One agent", self._one, AgentRow, **tag),
            Operation("PUT", ONE, "Define an agent", self._define, Ordered, **put),
            Operation("DELETE", ONE, "Forget it", self._forget, Ordered, errors=(409,), **order),
            Operation("GET", CONFIG, "Its list", self._config, AgentConfigRow, **tag),
            Operation("PUT", CONFIG, "Write its list", self._put, SavedConfig, **config),
            Operation("GET", OVERRIDE, "What differs", self._override, OverrideBody, **tag),
            Operation("PUT", OVERRIDE, "Write that", self._put_override, Ordered, **override),
            Operation("DELETE", OVERRIDE, "No difference", self._drop_override, Ordered, **order),
        ]

    # Lists.

    async def _get(self, call: Call) -> Reply:
        return self._row(call.query.agent)

    async def _config(self, call: Call) -> Reply:
        return self._row(call.path["id"])

    def _row(self, agent: str) -> Reply:
        records = self._agents.records
        config = records.roster.config(records.roster.agent(agent).id)
        row = msgspec.convert(write_config(config), AgentConfigRow)
        return Reply(row, etag=records.version("config", config.agent))

    async def _post(self, call: Call) -> Reply | Response:
        query: AgentQuery = call.query
        try:
            saved = await self._agents.change_config(
                query.agent, call.body, query.executor, call.if_match
            )
            return self._saved(query.agent, saved)
        except FaultsError as error:
            return problem(
                400, str(error), str(error), error.hint, fault_rows(error.faults), success=False
            )

    async def _put(self, call: Call) -> Reply:
        agent, executor = call.path["id"], call.query.executor
        saved = await self._agents.put_config(agent, call.body, executor, call.if_match)
        return self._saved(agent, saved)

    def _saved(self, agent: str, saved: Saved) -> Reply:
        roster = self._agents.roster
        config = write_config(roster.config(roster.agent(agent).id))
        row = msgspec.convert(config, AgentConfigRow)
        warnings = fault_rows(saved.warnings)
        whole = SavedConfig(**msgspec.structs.asdict(row), noticed=saved.noticed, warnings=warnings)
        return Reply(whole, etag=saved.version)

    # Agents.

    async def _list(self, call: Call) -> AgentList:
        agents = self._agents.roster.agents
        return AgentList([self._described(agents[name]) for name in sorted(agents)])

    async def _one(self, call: Call) -> Reply:
        agent = self._agents.roster.agent(call.path["id"])
        return Reply(self._described(agent), etag=self._agents.records.version("agent", agent.id))

    def _described(self, agent: Agent) -> AgentRow:
        roster = self._agents.roster
        config = roster.config(agent.id)
        return AgentRow(
            agent.id,
            agent.title,
            list(agent.transports),
            agent.own,
            config.enabled,
            agent.id in roster.configs,
            len(config.servers),
            sorted(executor for name, executor in roster.overrides if name == agent.id),
        )

    async def _define(self, call: Call) -> Reply:
        name = call.path["id"]
        return _ordered(name, await self._agents.put_agent(name, call.body, call.if_match))

    async def _forget(self, call: Call) -> Ordered:
        name = call.path["id"]
        return Ordered(name, await self._agents.remove_agent(name, call.if_match))

    # What differs with an executor.

    async def _override(self, call: Call) -> Reply:
        override = self._find(call)
        key = pair(override.agent, override.executor)
        body = msgspec.convert(write_override(override), OverrideBody)
        return Reply(body, etag=self._agents.records.version("override", key))

    def _find(self, call: Call) -> Override:
        roster = self._agents.roster
        agent, executor = roster.agent(call.path["id"]).id, roster.executor(call.path["executor"])
        found = roster.overrides.get((agent, executor))
        if found is None:
            hint = f"what counts there is the list of {agent!r}"
            raise UnknownNameError(f"nothing differs for {agent!r} with {executor!r}", hint)
        return found

    async def _put_override(self, call: Call) -> Reply:
        agent, executor = call.path["id"], call.path["executor"]
        saved = await self._agents.put_override(agent, executor, call.body, call.if_match)
        return _ordered(f"{agent} x {executor}", saved)

    async def _drop_override(self, call: Call) -> Ordered:
        agent, executor = call.path["id"], call.path["executor"]
        noticed = await self._agents.remove_override(agent, executor, call.if_match)
        return Ordered(f"{agent} x {executor}", noticed)


def _ordered(name: str, saved: Saved) -> Reply:
    return Reply(Ordered(name, saved.noticed), etag=saved.version)
