"""Agents' own definitions on the picture: each server once, whoever lists it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolyard.core.agents import FAR, AgentConfig, AgentOverride, AgentServer, Roster
from toolyard.core.endpoint import Endpoint, fingerprint
from toolyard.core.model import Server, ServerId, Snapshot
from toolyard.core.plans import Known, Resolution, Terms
from toolyard.core.resolve import resolve
from toolyard.core.sharing import Asking

SOURCE: Final = "agents"


def declared(roster: Roster) -> tuple[Server, ...]:
    """The servers that agents define for themselves; what several define alike is one server.

    The first agent by name gives a server its name; another with that name for something else
    gets its own behind it. One that is only on lists that are switched off is not in use.
    """
    active = _active(roster)
    servers: dict[Endpoint, Server] = {}
    taken: set[str] = set()
    for agent, listed, endpoint in _definitions(roster):
        server = servers.get(endpoint)
        if server is not None:
            servers[endpoint] = replace(
                server,
                agents=server.agents | {agent},
                enabled=server.enabled or agent in active,
                spare=server.spare and _is_each(listed),
            )
            continue
        name, number = listed.name, 1
        while name in taken:
            name = f"{listed.name}-{agent}" if number == 1 else f"{listed.name}-{agent}-{number}"
            number += 1
        taken.add(name)
        servers[endpoint] = Server(
            ServerId(name, SOURCE),
            endpoint,
            enabled=agent in active,
            agents=frozenset({agent}),
            spare=_is_each(listed),
        )
    return tuple(servers.values())


def _active(roster: Roster) -> frozenset[str]:
    """The agents that are given servers, with one executor at least."""
    by_list = {agent for agent, config in roster.configs.items() if config.enabled}
    return frozenset(by_list | {o.agent for o in roster.overrides.values() if o.enabled})


def _is_each(listed: AgentServer) -> bool:
    """Return whether sessions usually get processes of their own; trials may say otherwise."""
    return listed.mode == "per_session" or (listed.mode == "auto" and listed.type == "stdio")


def asking_of(roster: Roster, server: Server) -> Asking | None:
    """The questions a server was seen to ask, if it was started as it is now."""
    asking = roster.asking.get(str(server.id))
    return asking if asking is not None and asking.launch == fingerprint(server.endpoint) else None


def listed_by(roster: Roster, server: Server, alias: str) -> tuple[tuple[str, bool], ...]:
    """The agents on whose lists a server is, and whether they are given any, by name."""
    names = {str(server.id)} if server.agents else {str(server.id), alias}
    lists: list[AgentConfig | AgentOverride] = [
        *roster.configs.values(),
        *roster.overrides.values(),
    ]
    by_name = {config.agent for config in lists if any(s.server in names for s in config.servers)}
    active = _active(roster)
    return tuple((agent, agent in active) for agent in sorted(by_name | server.agents))


def _definitions(roster: Roster) -> Iterator[tuple[str, AgentServer, Endpoint]]:
    lists = [
        *((agent, roster.configs[agent].servers) for agent in sorted(roster.configs)),
        *((key[0], roster.overrides[key].servers) for key in sorted(roster.overrides)),
    ]
    for agent, servers in lists:
        for server in servers:
            if server.endpoint is not None:
                yield agent, server, server.endpoint


class Resolver:
    """One picture, made ready for resolving; make one per picture and ask it often."""

    def __init__(self, snapshot: Snapshot, roster: Roster | None = None) -> None:
        """Take the servers of a picture, and who is given which from another roster, if told."""
        self._snapshot = snapshot
        self.roster = snapshot.roster if roster is None else roster
        self._known: dict[str, Known] = {}
        self._own: dict[Endpoint, ServerId] = {}
        for id_, entry in snapshot.entries.items():
            server = entry.server
            if id_.source == SOURCE:
                self._own[server.endpoint] = id_
            trouble = server.problem
            facts = Known(
                id_,
                server.endpoint,
                server.enabled,
                trouble.text if trouble else "",
                trouble.hint if trouble else "",
                self._can_be_shared(server),
                server.placement.executor,
                asking_of(self.roster, server),
            )
            self._known[str(id_)] = facts
            if not server.agents:
                self._known[entry.alias] = facts

    def _can_be_shared(self, server: Server) -> bool | None:
        tried = self.roster.tried.get(str(server.id))
        if tried is None or tried.launch != fingerprint(server.endpoint):
            return None
        return tried.shareable

    def with_roster(self, roster: Roster) -> Resolver:
        """Return what resolves as if that were the roster."""
        return Resolver(self._snapshot, roster)

    def resolve(self, agent: str, executor: str, reach: tuple[str, str]) -> Resolution:
        """Return what an agent gets at an executor; each plan says which server of the yard it is.

        `reach` is the hub's address as the executor sees it, and the host that stands for our
        loopback there; both may be empty.

        Raises:
            UnknownNameError: There is no such agent or executor.
        """
        return resolve(self._terms(agent, executor, *reach))

    def _terms(self, agent: str, executor: str, hub: str, loopback: str) -> Terms:
        """Everything that decides for one run."""
        entry = self.roster.agent(agent)
        where = self.roster.executor(executor)
        is_site = where in self.roster.sites
        policy, of = self.roster.policy(where)
        return Terms(
            entry,
            self.roster.config(entry.id),
            where,
            policy,
            of,
            self.roster.overrides.get((entry.id, where)),
            "",
            self._known,
            self._own,
            hub,
            loopback,
            is_site=is_site,
            is_far=(is_site or where in FAR) and not loopback,
        )
