"""Runs of agents over the control API: what one is to be handed, and a token for as long as it is.

For those who start agents: `toolyard run`, and platforms with containers of their own.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Command
from toolyard.core.plans import Plan
from toolyard.features.tokens.store import TokensFile
from toolyard.hub import Hub
from toolyard.hub.agents import Agents
from toolyard.operation import Done
from toolyard.relay.dismissals import Dismissals
from toolyard.surfaces.control.agentrows import Name, RefusalRow
from toolyard.surfaces.control.api import Call, Operation
from toolyard.surfaces.control.resolving import refusal_row

TOP = "/api/v1/runs"
PREFIX = "run-"


class NewRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which agent is to run, where, and under which name."""

    agent: Name
    executor: str = ""
    session: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{0,48}$")] = ""


class RunServer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server as the agent is to be given it; references such as `${TOKEN}` are still in it."""

    name: str
    transport: str
    mode: str
    via: str
    command: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    folder: str = ""
    """What `${workspaceFolder}` stands for."""


class RunRow(msgspec.Struct, frozen=True):
    """A run: what to hand over, and the token that stands for `${TOOLYARD_TOKEN}`."""

    session: str
    agent: str
    executor: str
    token: str
    servers: list[RunServer]
    refusals: list[RefusalRow]


class RunsDoor:
    """Begins and ends runs."""

    def __init__(
        self, hub: Hub, agents: Agents, tokens: TokensFile, dismissals: Dismissals
    ) -> None:
        self._hub = hub
        self._agents = agents
        self._tokens = tokens
        self._dismissals = dismissals

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        what: dict[str, Any] = {"tag": "agents", "status": 201, "errors": (404, 409)}
        end: dict[str, Any] = {"tag": "agents", "errors": (404,)}
        return [
            Operation("POST", TOP, "Begin a run", self._begin, RunRow, body=NewRun, **what),
            Operation("DELETE", f"{TOP}/{{session}}", "End it", self._end, Done, **end),
        ]

    async def _begin(self, call: Call) -> RunRow:
        new: NewRun = call.body
        session = new.session or secrets.token_hex(8)
        await self._agents.prepare(new.executor)
        made = self._agents.resolution(new.agent, new.executor, session)
        limits = frozenset[str](), "", made.agent, made.executor
        token = await asyncio.to_thread(self._tokens.create, PREFIX + session, *limits)
        servers = [self._server(plan) for plan in made.plans]
        refusals = [refusal_row(each) for each in made.refusals]
        return RunRow(session, made.agent, made.executor, token, servers, refusals)

    def _server(self, plan: Plan) -> RunServer:
        entry = self._hub.snapshot.entries.get(plan.server) if plan.server else None
        folder = (entry.server.folder or "") if entry is not None else ""
        row = RunServer(plan.name, plan.transport, plan.mode, plan.via, folder=folder)
        if isinstance(plan.endpoint, Command):
            command, env = list(plan.endpoint.argv), dict(plan.endpoint.env)
            return replace(row, command=command, env=env, cwd=plan.endpoint.cwd or "")
        return replace(row, url=plan.endpoint.url, headers=dict(plan.endpoint.headers))

    async def _end(self, call: Call) -> Done:
        name = PREFIX + call.path["session"]
        found = [each for each in await asyncio.to_thread(self._tokens.list) if each.name == name]
        if not found:
            raise UnknownNameError(f"there is no run {call.path['session'][:80]!r}", "it has ended")
        await asyncio.to_thread(self._tokens.revoke, name)
        self._dismissals.dismiss(found[0].caller)
        return Done()
