"""Reports what agents are given, what executors allow, and the servers agents define themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from toolyard.core.model import Problem, Report, Server
from toolyard.core.problems import ProblemCode
from toolyard.core.roster import SOURCE, declared
from toolyard.features.agents.store import AgentRecords, AgentStore
from toolyard.records.secrets.expand import Lookup, explain, find_unset
from toolyard.yard import Yard


def sources(yard: Yard) -> Sequence[AgentsSource]:
    """The source of all that was written about agents."""
    return [AgentsSource(yard.part(AgentStore), os.environ)]


class AgentsSource:
    """Reports all records at once, and again after every change to one of them."""

    def __init__(self, store: AgentStore, env: Mapping[str, str]) -> None:
        self._store = store
        self._env = env
        self._revision = store.records.revision
        self.report = self._report(store.records)
        """The latest report; true from the start, so that no client comes too early."""

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow the store until cancelled."""
        post(self.report)
        while True:
            await self._store.changed(self._revision)
            records = await asyncio.to_thread(self._store.load)
            self._revision = records.revision
            report = self._report(records)
            if report != self.report:
                self.report = report
                post(report)

    def _report(self, records: AgentRecords) -> Report:
        servers = tuple(self._judged(server) for server in declared(records.roster))
        return Report(SOURCE, servers, records.problems, roster=records.roster)

    def _judged(self, server: Server) -> Server:
        """A server, with what it refers to and is not set as its problem."""
        unset = find_unset(server.endpoint, Lookup(self._env))
        if not unset:
            return server
        text, hint = explain(unset)
        agents = ", ".join(sorted(server.agents))
        text = f"server '{server.id.name}' of {agents} refers to what is {text}"
        return replace(
            server, problem=Problem(ProblemCode.AGENTS_UNSET, text, hint, str(server.id))
        )
