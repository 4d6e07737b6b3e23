"""What agents' own definitions are on the picture: each server once, whoever lists it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolyard.core.agents import FAR, AgentConfig, AgentServer, Override, Roster
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
    found: dict[Endpoint, Server] = {}
    taken: set[str] = set()
    for agent, wanted, endpoint in _definitions(roster):
        known = found.get(endpoint)
        if known is not None:
            found[endpoint] = replace(
                known,
                agents=known.agents | {agent},
                enabled=known.enabled or agent in active,
                spare=known.spare and _is_each(wanted),
            )
            continue
        name, number = wanted.name, 1
        while name in taken:
            name = f"{wanted.name}-{agent}" if number == 1 else f"{wanted.name}-{agent}-{number}"
            number += 1
        taken.add(name)
        found[endpoint] = Server(
            ServerId(name, SOURCE),
            endpoint,
            enabled=agent in active,
            agents=frozenset({agent}),
            spare=_is_each(wanted),
        )
    return tuple(found.values())


def _active(roster: Roster) -> frozenset[str]:
    """The agents that are given servers, with one executor at least."""
    by_list = {agent for agent, config in roster.configs.items() if config.enabled}
    return frozenset(by_list | {o.agent for o in roster.overrides.values() if o.enabled})


def _is_each(wanted: AgentServer) -> bool:
    """Whether sessions usually get processes of their own; what was tried may say otherwise."""
    return wanted.mode == "per_session" or (wanted.mode == "auto" and wanted.type == "stdio")


def asking_of(roster: Roster, server: Server) -> Asking | None:
    """What a server was seen to ask, if it was started as it is now."""
    found = roster.asking.get(str(server.id))
    return found if found is not None and found.launch == fingerprint(server.endpoint) else None


def listed_by(roster: Roster, server: Server, alias: str) -> tuple[tuple[str, bool], ...]:
    """The agents on whose lists a server is, and whether they are given any, by name."""
    names = {str(server.id)} if server.agents else {str(server.id), alias}
    lists: list[AgentConfig | Override] = [*roster.configs.values(), *roster.overrides.values()]
    by_name = {each.agent for each in lists if any(s.server in names for s in each.servers)}
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
            known = Known(
                id_,
                server.endpoint,
                server.enabled,
                trouble.text if trouble else "",
                trouble.hint if trouble else "",
                self._can_be_shared(server),
                server.placement.executor,
                asking_of(self.roster, server),
            )
            self._known[str(id_)] = known
            if not server.agents:
                self._known[entry.alias] = known

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
        who = self.roster.agent(agent)
        where = self.roster.executor(executor)
        is_site = where in self.roster.sites
        policy, of = self.roster.policy(where)
        return Terms(
            who,
            self.roster.config(who.id),
            where,
            policy,
            of,
            self.roster.overrides.get((who.id, where)),
            "",
            self._known,
            self._own,
            hub,
            loopback,
            is_site=is_site,
            is_far=(is_site or where in FAR) and not loopback,
        )
