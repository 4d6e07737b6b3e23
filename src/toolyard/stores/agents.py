"""Agents, their lists, policies and executors in the hub's database.

Every record has a version that no other state of it ever had, so that a writer who decided on an
older one is told. One revision counts all changes: whoever follows need only look at that.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, cast

from toolyard.core.agents import KNOWN_AGENTS, Agent, AgentConfig, Override, Policy, Roster
from toolyard.core.errors import (
    ConfigError,
    ConflictError,
    NotOursError,
    StoreError,
    UnknownNameError,
)
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.core.sites import Site
from toolyard.records.database import Database
from toolyard.stores.records import (
    KINDS,
    Key,
    Kind,
    Value,
    apart,
    pair,
    read_value,
    stand_in,
    write_value,
)
from toolyard.stores.sharing import read_asking, read_tried

MIGRATION: Final = """
CREATE TABLE roster (
    kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE roster_revision (revision INTEGER NOT NULL);
INSERT INTO roster_revision VALUES (0)
"""
_HINTS: Final[dict[Kind, str]] = {
    "agent": "define it again: toolyard agent add {0} --transport stdio",
    "config": "write it again: toolyard agent set {0} FILE",
    "override": "until it is written again, that agent gets nothing there",
    "policy": "until it is, nothing is allowed there; toolyard policy set {0}, or reset {0}",
    "site": "define the executor {0} again",
}
NEVER: Final = -1
"""The revision of what could not be read yet."""
ANY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Records:
    """All that was written, at one revision."""

    revision: int = 0
    roster: Roster = field(default_factory=Roster)
    versions: Mapping[Key, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def version(self, kind: Kind, key: str) -> str:
        """What stands for the present state of a record; that of none is "0"."""
        return str(self.versions.get((kind, key), 0))


class AgentStore:
    """Reads and writes the records; every method may be called from any thread."""

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._values: dict[Key, tuple[int, Value | None, Problem | None]] = {}
        self.records = Records()
        """What is known; reading it costs nothing."""
        try:
            self.load()
        except StoreError as error:
            hint = error.hint or "restore the database, or move it away"
            problem = Problem(ProblemCode.AGENTS_FAILED, str(error), hint, "agents")
            self.records = Records(NEVER, problems=(problem,))

    def revision(self) -> int:
        """How often something was changed so far, by anybody.

        Raises:
            StoreError: It cannot be read.
        """
        if self._database is None:
            return 0
        ((revision,),) = self._database.read("SELECT revision FROM roster_revision")
        return int(revision)

    def load(self) -> Records:
        """Read what changed since it was read last.

        Raises:
            StoreError: It cannot be read.
        """
        database = self._database
        if database is None:
            return self.records
        with self._lock:
            sql = "SELECT revision, kind, key, version FROM roster_revision LEFT JOIN roster"
            rows = database.read(sql)
            found = {(kind, key): version for _, kind, key, version in rows if kind in KINDS}
            values = {key: self._values.get(key) for key in found}
            for key, version in found.items():
                known = values[key]
                if known is None or known[0] != version:
                    values[key] = self._read(database, key)
            self._values = {key: known for key, known in values.items() if known is not None}
            records = _fold(int(rows[0][0]), self._values)
            tried, asking = read_tried(database), read_asking(database)
            roster = replace(records.roster, tried=tried, asking=asking)
            self.records = replace(records, roster=roster)
            return self.records

    def _read(
        self, database: Database, key: Key
    ) -> tuple[int, Value | None, Problem | None] | None:
        sql = "SELECT value, version FROM roster WHERE kind = ? AND key = ?"
        rows = database.read(sql, key)
        if not rows:
            return None  # gone again meanwhile; the next revision says so
        text, version = rows[0]
        try:
            return version, read_value(*key, text), None
        except (ConfigError, TypeError) as error:
            return version, stand_in(*key), _damaged(key, error)

    # Orders. Each gives the record's new version.

    def put_agent(self, agent: Agent, seen: frozenset[str] = ANY) -> int:
        """Define an agent.

        Raises:
            ConflictError: It is at none of the versions `seen`, if any are named.
            StoreError: It cannot be written.
        """
        return self._put(("agent", agent.id), agent, seen)

    def put_config(self, config: AgentConfig, seen: frozenset[str] = ANY) -> int:
        """Write an agent's list; raises like `put_agent`."""
        return self._put(("config", config.agent), config, seen)

    def put_override(self, override: Override, seen: frozenset[str] = ANY) -> int:
        """Write what differs with one executor; raises like `put_agent`."""
        return self._put(("override", pair(override.agent, override.executor)), override, seen)

    def put_policy(self, executor: str, policy: Policy, seen: frozenset[str] = ANY) -> int:
        """Write the policy of an executor; raises like `put_agent`."""
        return self._put(("policy", executor), policy, seen)

    def put_site(self, site: Site, seen: frozenset[str] = ANY) -> int:
        """Write an executor down; raises like `put_agent`."""
        return self._put(("site", site.name), site, seen)

    def remove_agent(self, agent: str, seen: frozenset[str] = ANY) -> None:
        """Forget an agent that a user defined, with its list and overrides.

        One that is known from the start is as it was again, and keeps its list.

        Raises:
            UnknownNameError, NotOursError: Nobody defined it.
            ConflictError: It is at none of the versions `seen`, if any are named.
            StoreError: It cannot be removed.
        """
        if agent in KNOWN_AGENTS and ("agent", agent) not in self.records.versions:
            text = f"the agent {agent!r} is known from the start"
            raise NotOursError(text, f"switch it off with: toolyard agent disable {agent}")
        also: list[Key] = []
        if agent not in KNOWN_AGENTS:
            overrides = [key for key in self.records.versions if key[0] == "override"]
            also = [("config", agent), *(k for k in overrides if k[1].startswith(f"{agent} "))]
        self._remove(("agent", agent), seen, also)

    def remove_override(self, agent: str, executor: str, seen: frozenset[str] = ANY) -> None:
        """Let an agent be with an executor as with any other; raises like `remove_policy`."""
        self._remove(("override", pair(agent, executor)), seen)

    def remove_policy(self, executor: str, seen: frozenset[str] = ANY) -> None:
        """Let an executor be as its kind is.

        Raises:
            UnknownNameError: There is no such record.
            ConflictError: It is at none of the versions `seen`, if any are named.
            StoreError: It cannot be removed.
        """
        self._remove(("policy", executor), seen)

    def remove_site(self, name: str, seen: frozenset[str] = ANY) -> None:
        """Forget an executor; raises like `remove_policy`."""
        self._remove(("site", name), seen)

    def _put(self, key: Key, value: Value, seen: frozenset[str]) -> int:
        sql = "INSERT OR REPLACE INTO roster (version, kind, key, value) VALUES (?, ?, ?, ?)"
        return self._change(key, seen, [(sql, (*key, write_value(value)))])

    def _remove(self, key: Key, seen: frozenset[str], also: Sequence[Key] = ()) -> None:
        sql = "DELETE FROM roster WHERE version <= ? AND kind = ? AND key = ?"
        self._change(key, seen, [(sql, each) for each in (key, *also)], must=True)

    def _change(
        self,
        key: Key,
        seen: frozenset[str],
        changes: Sequence[tuple[str, tuple[str, ...]]],
        *,
        must: bool = False,
    ) -> int:
        """Change records together or not at all; the version comes before a change's values."""
        if self._database is None:
            text = "what agents are given cannot be written: the database is not open"
            raise StoreError(text, "see: toolyard doctor")
        with self._database.change() as connection:
            run = connection.execute
            sql = "SELECT version FROM roster WHERE kind = ? AND key = ?"
            now: Any = run(sql, key).fetchone()
            if must and now is None:
                raise self._unknown(key)
            _check_seen(key, seen, str(now[0] if now else 0))
            run("UPDATE roster_revision SET revision = revision + 1")
            (version,) = run("SELECT revision FROM roster_revision").fetchone()
            for change, values in changes:
                run(change, (version, *values))
        self.load()
        return int(version)

    def _unknown(self, key: Key) -> UnknownNameError:
        known = sorted(name for kind, name in self.records.versions if kind == key[0])
        near = ", ".join(closest(key[1], known) or known[:20]) or "none"
        return UnknownNameError(f"there is no {_spell(key)}", f"there are: {near}")


def _check_seen(key: Key, seen: frozenset[str], now: str) -> None:
    if seen and not seen & {now, "*"}:
        text = f"somebody else changed the {_spell(key)}: its version is {now} now"
        raise ConflictError(text, "look again, and decide again")


def _spell(key: Key) -> str:
    kind, name = key
    words = {"config": "list of", "site": "executor", "policy": "policy of"}
    return f"{words.get(kind, kind)} {name!r}"


def _damaged(key: Key, error: Exception) -> Problem:
    text = f"the {_spell(key)} cannot be read: {error}"
    return Problem(
        ProblemCode.AGENTS_RECORD, text, _HINTS[key[0]].format(key[1]), f"{key[0]} {key[1]}"
    )


def _fold(revision: int, values: Mapping[Key, tuple[int, Value | None, Problem | None]]) -> Records:
    parts: dict[str, dict[Any, Any]] = {kind: {} for kind in KINDS}
    for (kind, name), (_, value, _) in sorted(values.items()):
        if value is not None:
            key = apart(name) if kind == "override" else name
            parts[kind][key] = value
    roster = Roster(
        cast("Mapping[str, Agent]", MappingProxyType({**KNOWN_AGENTS, **parts["agent"]})),
        *(parts[kind] for kind in ("config", "override", "policy", "site")),
    )
    versions = {key: version for key, (version, _, _) in values.items()}
    problems = tuple(problem for _, _, problem in values.values() if problem is not None)
    return Records(revision, roster, versions, problems)
