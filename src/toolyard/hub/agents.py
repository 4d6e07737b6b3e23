"""What agents are given, and why: the questions and orders of every door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from toolyard.core.agentfiles import (
    fill_in,
    read_agent,
    read_config,
    read_override,
)
from toolyard.core.agents import AgentConfig, Roster
from toolyard.core.errors import ConflictError
from toolyard.core.fields import FaultsError, FieldFault
from toolyard.core.model import Snapshot
from toolyard.core.plans import Resolution
from toolyard.core.roster import Resolver
from toolyard.hub import Hub
from toolyard.hub.executors import Executors
from toolyard.hub.preview import (
    Checked,
    check,
    with_config,
    with_override,
)
from toolyard.hub.resolutions import Resolutions
from toolyard.hub.why import Story, tell
from toolyard.stores.agents import ANY, AgentRecords, AgentStore

TRIES: Final = 20
"""How often a change of a part is tried again because somebody else was quicker."""
Holds = Callable[[Snapshot], bool]


@dataclass(frozen=True, slots=True)
class Saved:
    """An order was written down."""

    version: str
    noticed: bool
    """Whether the picture shows it already."""
    warnings: tuple[FieldFault, ...] = ()


class Agents:
    """Everything there is to ask and to order about agents."""

    def __init__(
        self, hub: Hub, store: AgentStore, executors: Executors, resolutions: Resolutions
    ) -> None:
        self._hub = hub
        self._store = store
        self._executors = executors
        self._resolutions = resolutions

    # Questions.

    @property
    def records(self) -> AgentRecords:
        """All that was written, with versions."""
        return self._store.records

    @property
    def roster(self) -> Roster:
        """All that was written, and the agents that are known from the start."""
        return self._store.records.roster

    async def prepare(self, executor: str) -> None:
        """Find out how the hub is reached from a place before plans for it are made.

        Raises:
            UnknownNameError: There is no such executor.
        """
        await self._executors.prepare(self._resolver.roster.executor(executor))

    def resolution(self, agent: str, executor: str = "", session: str = "") -> Resolution:
        """What a run of an agent gets, and what it does not; made once per picture.

        Raises:
            UnknownNameError: There is no such agent or executor.
        """
        made = self._resolutions.planned(agent, executor)
        return replace(made, session=session) if session else made

    def why(self, name: str, agent: str, executor: str = "") -> Story:
        """How it comes that an agent is given a server or tool, or is not.

        Raises:
            UnknownNameError: Nobody knows such an agent, executor, server or tool.
        """
        return tell(name, self.resolution(agent, executor), self._hub.snapshot, self._resolver)

    def validate(self, agent: str, said: Any, executor: str = "") -> Checked:
        """What is wrong with a list, and what will not work with an executor; nothing is saved.

        Raises:
            UnknownNameError: There is no such agent or executor.
        """
        resolver = self._resolver
        who, where = resolver.roster.agent(agent).id, resolver.roster.executor(executor)
        try:
            config = read_config(who, said)
        except FaultsError as error:
            return Checked(error.faults, ())
        after = with_config(resolver, replace(config, enabled=True))
        return check(config, self._resolutions.imagine(after, who, where))

    def validate_override(self, agent: str, executor: str, said: Any) -> Checked:
        """What is wrong with what differs, and what will not work; raises like `validate`."""
        resolver = self._resolver
        who, where = resolver.roster.agent(agent).id, resolver.roster.executor(executor)
        try:
            override = read_override(who, where, said)
        except FaultsError as error:
            return Checked(error.faults, ())
        after = with_override(resolver, replace(override, enabled=True))
        added = AgentConfig(who, servers=override.servers)
        return check(added, self._resolutions.imagine(after, who, where))

    @property
    def _resolver(self) -> Resolver:
        return self._resolutions.resolver

    # Orders; all of them raise ConflictError and StoreError as the store does.

    async def put_config(
        self, agent: str, said: Any, executor: str = "", seen: frozenset[str] = ANY
    ) -> Saved:
        """Write an agent's list.

        Raises:
            UnknownNameError: There is no such agent or executor.
            FaultsError: It cannot be used; nothing of it was stored.
        """
        checked = self.validate(agent, said, executor)
        if checked.faults:
            raise FaultsError(checked.faults)
        config = read_config(self.roster.agent(agent).id, said)

        def holds(picture: Snapshot) -> bool:
            return picture.roster.configs.get(config.agent) == config

        return await self._order(self._store.put_config, config, seen, holds, checked.warnings)

    async def change_config(
        self, agent: str, said: Any, executor: str = "", seen: frozenset[str] = ANY
    ) -> Saved:
        """Write the fields of an agent's list that are named; the others stay as they are.

        Raises like `put_config`.
        """
        for _ in range(TRIES):
            records = await asyncio.to_thread(self._store.load)
            who = records.roster.agent(agent).id
            version = records.version("config", who)
            whole = fill_in(said, records.roster.config(who))
            # What is kept was read at this version, so it is written over no other.
            wanted = frozenset({version}) if not seen or seen & {version, "*"} else seen
            try:
                return await self.put_config(agent, whole, executor, wanted)
            except ConflictError as error:
                if seen and "*" not in seen:
                    raise
                conflict = error
        raise conflict

    async def put_override(
        self, agent: str, executor: str, said: Any, seen: frozenset[str] = ANY
    ) -> Saved:
        """Write what differs for an agent with one executor; raises like `put_config`."""
        checked = self.validate_override(agent, executor, said)
        if checked.faults:
            raise FaultsError(checked.faults)
        who, where = self.roster.agent(agent).id, self.roster.executor(executor)
        override = read_override(who, where, said)

        def holds(picture: Snapshot) -> bool:
            return picture.roster.overrides.get((who, where)) == override

        put = self._store.put_override
        return await self._order(put, override, seen, holds, checked.warnings)

    async def put_agent(self, agent: str, said: Any, seen: frozenset[str] = ANY) -> Saved:
        """Define an agent.

        Raises:
            FaultsError: It cannot be used.
        """
        made = read_agent(agent, said)

        def holds(picture: Snapshot) -> bool:
            return picture.roster.agents.get(made.id) == made

        return await self._order(self._store.put_agent, made, seen, holds)

    async def remove_agent(self, agent: str, seen: frozenset[str] = ANY) -> bool:
        """Forget an agent that a user defined.

        Raises:
            UnknownNameError, NotOursError: Nobody defined it.
        """
        who = self.roster.agent(agent).id
        await asyncio.to_thread(self._store.remove_agent, who, seen)

        def holds(picture: Snapshot) -> bool:
            agent = picture.roster.agents.get(who)
            return agent is None or not agent.own

        return await self._hub.board.wait_until(holds)

    async def remove_override(self, agent: str, executor: str, seen: frozenset[str] = ANY) -> bool:
        """Let an agent be with an executor as with any other.

        Raises:
            UnknownNameError: There is no such override.
        """
        who, where = self.roster.agent(agent).id, self.roster.executor(executor)
        await asyncio.to_thread(self._store.remove_override, who, where, seen)
        return await self._hub.board.wait_until(
            lambda picture: (who, where) not in picture.roster.overrides
        )

    async def _order(
        self,
        put: Callable[[Any, frozenset[str]], int],
        value: Any,
        seen: frozenset[str],
        holds: Holds,
        warnings: tuple[FieldFault, ...] = (),
    ) -> Saved:
        version = await asyncio.to_thread(put, value, seen)
        return Saved(str(version), await self._hub.board.wait_until(holds), warnings)
