"""The picture of a yard that had certain records, and the plans of agents on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from toolyard.core.agentfiles import read_override
from toolyard.core.agents import EXECUTORS, KNOWN_AGENTS, Roster
from toolyard.core.errors import UnknownNameError
from toolyard.core.fold import fold
from toolyard.core.model import Report, Server, Snapshot
from toolyard.core.plans import Plan
from toolyard.core.roster import SOURCE as AGENTS
from toolyard.core.roster import Resolver, declared
from toolyard.features.agents.codec import Kind, read_value
from toolyard.features.agents.resolutions import ARRIVED
from toolyard.features.catalog.additions import AdditionCodec
from toolyard.features.catalog.model import SOURCE as CATALOG
from toolyard.features.catalog.model import Definition
from toolyard.features.catalog.reading import read_definition
from toolyard.features.catalog.source import make_server
from toolyard.features.catalog.store import Catalog
from toolyard.features.policies.preview import PlanChange, compare_resolutions
from toolyard.features.servers.reading import SOURCE as CONFIGURED
from toolyard.features.servers.reading import read_servers
from toolyard.features.servers.store import ServersFile
from toolyard.features.transfer.agent_sections import split_override
from toolyard.features.transfer.sections import Bodies
from toolyard.records.jsonc import parse
from toolyard.yard import Yard


def imagine(yard: Yard, records: Mapping[str, Bodies]) -> Snapshot:
    """Return the picture that a yard with these records would have; it blocks."""
    picture = yard.snapshot
    roster = _roster(yard.snapshot.roster, records)
    for report in (
        Report(CONFIGURED, _configured(yard, records["servers"])),
        Report(CATALOG, tuple(_added(yard, records))),
        Report(AGENTS, declared(roster), roster=roster),
    ):
        picture = fold(picture, report)
    return picture


def _configured(yard: Yard, bodies: Bodies) -> tuple[Server, ...]:
    text = json.dumps({"mcpServers": dict(bodies)}).encode()
    return read_servers(yard.part(ServersFile).path, parse(text), os.environ).servers


def _added(yard: Yard, records: Mapping[str, Bodies]) -> Iterator[Server]:
    definitions = find_definitions(yard, records["definitions"])
    for name, body in records["catalog"].items():
        if name in definitions:
            addition = AdditionCodec().read(name, body)
            yield make_server(definitions[name], addition, os.environ)


def find_definitions(yard: Yard, bodies: Bodies) -> dict[str, Definition]:
    """Return the definitions of the catalog, with these in place of the user's own."""
    shelf = yard.part(Catalog).load().definitions
    official = {name: item.definition for name, item in shelf.items() if item.folder == "official"}
    own = {name: read_definition(json.dumps(body).encode()) for name, body in bodies.items()}
    return {**official, **own}


def _roster(present: Roster, records: Mapping[str, Bodies]) -> Roster:
    def values(section: str, kind: Kind) -> dict[str, Any]:
        return {name: read_value(kind, name, body) for name, body in records[section].items()}

    overrides = (
        read_override(*split_override(name), body) for name, body in records["overrides"].items()
    )
    return Roster(
        {**KNOWN_AGENTS, **values("agents", "agent")},
        values("lists", "config"),
        {(override.agent, override.executor): override for override in overrides},
        values("policies", "policy"),
        values("executors", "site"),
        present.tried,
        present.asking,
    )


def compare_agents(before: Snapshot, after: Snapshot) -> list[PlanChange]:
    """Return the agents whose plans differ between two pictures, with each executor."""
    old, new = Resolver(before), Resolver(after)
    sites = sorted({*old.roster.sites, *new.roster.sites})
    agents = sorted(_listed(old.roster) | _listed(new.roster))
    changes = [
        compare_resolutions(agent, place, _plans(old, agent, place), _plans(new, agent, place))
        for agent in agents
        for place in dict.fromkeys((*EXECUTORS, *sites))
    ]
    return [change for change in changes if change.is_any]


def _listed(roster: Roster) -> set[str]:
    return {*roster.configs, *(agent for agent, _ in roster.overrides)}


def _plans(resolver: Resolver, agent: str, executor: str) -> tuple[Plan, ...]:
    """The plans of an agent that has reached the hub; none where there is no such agent."""
    try:
        return resolver.resolve(agent, executor, ARRIVED).plans
    except UnknownNameError:
        return ()
