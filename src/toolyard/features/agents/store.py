"""Agents, their lists, policies and executors as rows of a database.

Every record has a version that no other state of it ever had, so that a writer who decided on an
older one is told. One revision counts all changes: whoever follows need only look at that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, cast

from toolyard.core.agents import KNOWN_AGENTS, Agent, AgentConfig, AgentOverride, Policy, Roster
from toolyard.core.errors import ConflictError, NotOursError, StoreError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.sites import Site
from toolyard.features.agents.codec import (
    KINDS,
    AgentCodec,
    Key,
    Kind,
    Value,
    apart,
    join_key,
    pair,
    spell,
    split_key,
    stand_in,
)
from toolyard.features.sharing.store import KINDS as SHARING_KINDS
from toolyard.features.sharing.store import SharingStore
from toolyard.records.database import Database
from toolyard.records.places import JointRecords, RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.records.state import RESTORE

NEVER: Final = -1
"""The revision of what could not be read yet."""
ANY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class AgentRecords:
    """All that was written, at one revision."""

    revision: int = 0
    roster: Roster = field(default_factory=Roster)
    versions: Mapping[Key, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def version(self, kind: Kind, key: str) -> str:
        """Return what stands for the present state of a record; that of none is "0"."""
        return str(self.versions.get((kind, key), 0))


class AgentStore:
    """Reads and writes the records; every method may be called from any thread."""

    def __init__(self, rows: JointRecords[Value] | None, sharing: SharingStore) -> None:
        self._rows, self._sharing = rows, sharing
        self._lock = threading.Lock()
        self.records = AgentRecords()
        """The latest that was read; looking at it costs nothing."""
        if rows is None:
            return
        try:
            self.load()
        except StoreError as error:
            self.records = AgentRecords(NEVER, problems=(_failed(error),))

    @property
    def is_open(self) -> bool:
        """True if there is a database to read and write."""
        return self._rows is not None

    def load(self) -> AgentRecords:
        """Read what changed since it was read last.

        Raises:
            StoreError: It cannot be read.
        """
        if self._rows is None:
            return self.records
        with self._lock:
            kept = self._rows.read()
            if kept.failure is not None:
                raise StoreError(kept.failure.text, kept.failure.hint)
            records = _fold(kept)
            tried, asking = self._sharing.tried(), self._sharing.asking()
            roster = replace(records.roster, tried=tried, asking=asking)
            self.records = replace(records, roster=roster)
            return self.records

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever wrote.

        Raises:
            StoreError: That cannot be told.
        """
        if self._rows is None:
            await asyncio.get_running_loop().create_future()  # there is nothing to change
        else:
            await self._rows.changed(after)

    # Orders. Each gives the record's new version.

    def put_agent(self, agent: Agent, expected: frozenset[str] = ANY, *, by: str = "") -> int:
        """Define an agent.

        Raises:
            ConflictError: It is at none of the expected versions, if any are named.
            StoreError: It cannot be written.
        """
        return self._put(("agent", agent.id), agent, expected, by)

    def put_config(
        self, config: AgentConfig, expected: frozenset[str] = ANY, *, by: str = ""
    ) -> int:
        """Write an agent's list; raises like `put_agent`."""
        return self._put(("config", config.agent), config, expected, by)

    def put_override(
        self, override: AgentOverride, expected: frozenset[str] = ANY, *, by: str = ""
    ) -> int:
        """Write what differs with one executor; raises like `put_agent`."""
        return self._put(
            ("override", pair(override.agent, override.executor)), override, expected, by
        )

    def put_policy(
        self, executor: str, policy: Policy, expected: frozenset[str] = ANY, *, by: str = ""
    ) -> int:
        """Write the policy of an executor; raises like `put_agent`."""
        return self._put(("policy", executor), policy, expected, by)

    def put_site(self, site: Site, expected: frozenset[str] = ANY, *, by: str = "") -> int:
        """Write an executor down; raises like `put_agent`."""
        return self._put(("site", site.name), site, expected, by)

    def remove_agent(self, agent: str, expected: frozenset[str] = ANY, *, by: str = "") -> None:
        """Forget an agent that a user defined, with its list and overrides.

        One that is known from the start is as it was again, and keeps its list.

        Raises:
            UnknownNameError, NotOursError: Nobody defined it.
            ConflictError: It is at none of the expected versions, if any are named.
            StoreError: It cannot be removed.
        """
        if agent in KNOWN_AGENTS and ("agent", agent) not in self.records.versions:
            text = f"the agent {agent!r} is known from the start"
            raise NotOursError(text, f"switch it off with: toolyard agent disable {agent}")
        also: list[Key] = []
        if agent not in KNOWN_AGENTS:
            overrides = [key for key in self.records.versions if key[0] == "override"]
            also = [("config", agent), *(k for k in overrides if k[1].startswith(f"{agent} "))]
        self._remove(("agent", agent), expected, by, also)

    def remove_override(
        self, agent: str, executor: str, expected: frozenset[str] = ANY, *, by: str = ""
    ) -> None:
        """Let an agent be with an executor as with any other; raises like `remove_policy`."""
        self._remove(("override", pair(agent, executor)), expected, by)

    def remove_policy(self, executor: str, expected: frozenset[str] = ANY, *, by: str = "") -> None:
        """Let an executor be as its kind is.

        Raises:
            UnknownNameError: There is no such record.
            ConflictError: It is at none of the expected versions, if any are named.
            StoreError: It cannot be removed.
        """
        self._remove(("policy", executor), expected, by)

    def remove_site(self, name: str, expected: frozenset[str] = ANY, *, by: str = "") -> None:
        """Forget an executor; raises like `remove_policy`."""
        self._remove(("site", name), expected, by)

    def _put(self, key: Key, value: Value, expected: frozenset[str], by: str) -> int:
        rows = self._open_rows()
        name = join_key(*key)
        try:
            version = rows.write(name, value, expect=self._expected(key, expected), by=by)
        except ConflictError as error:
            raise _conflict(key, self.load()) from error
        self.load()
        return version

    def _remove(
        self, key: Key, expected: frozenset[str], by: str, also: Sequence[Key] = ()
    ) -> None:
        rows = self._open_rows()
        if key not in self.load().versions:
            raise self._unknown(key)
        expect = self._expected(key, expected)
        gone = dict.fromkeys(join_key(*record) for record in (key, *also))
        try:
            versions = {} if expect is None else {join_key(*key): expect}
            rows.write_all(gone, expect=versions, by=by)
        except ConflictError as error:
            raise _conflict(key, self.load()) from error
        self.load()

    def _open_rows(self) -> JointRecords[Value]:
        if self._rows is None:
            text = "what agents are given cannot be written: the database is not open"
            raise StoreError(text, RESTORE)
        return self._rows

    def _expected(self, key: Key, expected: frozenset[str]) -> int | None:
        """The version to write over: the present one, if it is among the expected ones."""
        if not expected or "*" in expected:
            return None
        version = self.load().version(*key)
        if version not in expected:
            raise _conflict(key, self.records)
        return int(version)

    def _unknown(self, key: Key) -> UnknownNameError:
        names = sorted(name for kind, name in self.records.versions if kind == key[0])
        near = ", ".join(closest(key[1], names) or names[:20]) or "none"
        return UnknownNameError(f"there is no {spell(*key)}", f"there are: {near}")


def open_agents(
    places: RecordPlaces, database: Database | None, sharing: SharingStore
) -> AgentStore:
    """Open the records of agents: rows of the hub's database, or of a shared one."""
    rows = places.joint(database, AgentCodec(), KINDS, also=SHARING_KINDS)
    return AgentStore(rows, sharing)


def _conflict(key: Key, records: AgentRecords) -> ConflictError:
    version = records.version(*key)
    text = f"somebody else changed the {spell(*key)}: its version is {version} now"
    return ConflictError(text, "look again, and decide again")


def _failed(error: StoreError) -> Problem:
    return AgentCodec().problem(None, "", error)


def _fold(kept: Kept[Value]) -> AgentRecords:
    parts: dict[str, dict[Any, Any]] = {kind: {} for kind in KINDS}
    stand_ins = {key: stand_in(*split_key(key)) for key in kept.troubles}
    for key, value in sorted({**kept.values, **stand_ins}.items()):
        if value is not None:
            kind, name = split_key(key)
            parts[kind][apart(name) if kind == "override" else name] = value
    roster = Roster(
        cast("Mapping[str, Agent]", MappingProxyType({**KNOWN_AGENTS, **parts["agent"]})),
        *(parts[kind] for kind in ("config", "override", "policy", "site")),
    )
    versions = {split_key(key): version for key, version in kept.versions.items()}
    return AgentRecords(kept.revision, roster, versions, kept.problems)
