"""What agents are given survives restarts, damage and several writers."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.following import following
from toolyard.core.agentfiles import read_agent, read_config, read_override, read_policy
from toolyard.core.agents import AgentConfig, Roster
from toolyard.core.errors import ConflictError, NotOursError, StoreError, UnknownNameError
from toolyard.core.model import Report
from toolyard.core.sites import Site
from toolyard.features.agents.source import AgentsSource
from toolyard.features.agents.store import AgentStore, open_agents
from toolyard.features.sharing.store import SharingStore, open_sharing
from toolyard.records.database import Database
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces
from toolyard.records.schema import MIGRATIONS

GIT = {"command": "git-mcp", "args": ["--repo", "."], "env": {"A": "${B}"}, "mode": "shared"}
LIST = read_config("codex", {"enabled": True, "servers": {"git": GIT, "yard": {"server": "x"}}})


@contextlib.contextmanager
def opened(path: Path, follower: Follower | None = None) -> Iterator[AgentStore]:
    database = Database(path, MIGRATIONS)
    try:
        places = RecordPlaces(follower or Follower())
        yield open_agents(places, database, open_sharing(places, database))
    finally:
        database.close()


def damage(path: Path, kind: str, key: str, text: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE roster SET value = ?, version = version + 1 WHERE kind = ? AND key = ?",
            (text, kind, key),
        )
        connection.execute("UPDATE roster_revision SET revision = revision + 1")


def write_everything(store: AgentStore) -> Roster:
    store.put_agent(read_agent("mine", {"title": "Mine", "transports": ["sse"]}))
    store.put_config(LIST)
    store.put_override(read_override("codex", "docker", {"servers": {"git": None}}))
    store.put_policy("docker", read_policy({"deny": ["git"], "env_injection": {"A": "1"}}))
    store.put_site(Site("box", "docker", "ssh://me@box", (("image", "node"),)))
    return store.records.roster


def test_everything_written_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "toolyard.db"
    with opened(path) as store:
        before = write_everything(store)
    with opened(path) as store:
        assert store.records.roster == before
        assert store.records.problems == ()
        assert before.config("codex") == LIST
        assert before.agent("MINE").transports == ("sse",)
        assert before.policy("box")[1] == "the default"
        assert before.kind("box") == "remote-docker"


@pytest.mark.parametrize("text", ["{", "[]", '{"enabled": 1}', '{"what": 1}', "", "[" * 5000])
def test_a_damaged_record_is_a_problem_that_names_it_and_nothing_else(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "toolyard.db"
    with opened(path) as store:
        write_everything(store)
        store.put_config(AgentConfig("cursor", enabled=True))
    damage(path, "config", "codex", text)
    with opened(path) as store:
        (problem,) = store.records.problems
        assert (problem.code, problem.subject) == ("agents-record", "config codex")
        assert "'codex'" in problem.text and "toolyard agent set codex" in problem.hint
        assert not store.records.roster.config("codex").enabled
        assert store.records.roster.config("cursor").enabled
        store.put_config(LIST)
        assert store.records.problems == ()


def test_what_cannot_be_read_does_not_allow_what_it_may_have_forbidden(tmp_path: Path) -> None:
    path = tmp_path / "toolyard.db"
    with opened(path) as store:
        write_everything(store)
        damage(path, "policy", "docker", "{")
        damage(path, "override", "codex docker", "{")
        roster = store.load().roster
        policy = roster.policy("docker")[0]
        assert not any(policy.allows(each) for each in ("stdio", "http", "sse", "streamable_http"))
        assert roster.overrides["codex", "docker"].enabled is False


def test_a_writer_who_saw_an_older_version_is_told(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as store:
        assert store.records.version("config", "codex") == "0"
        first = store.put_config(LIST, frozenset({"0"}))
        with pytest.raises(ConflictError, match="list of 'codex'"):
            store.put_config(AgentConfig("codex"), frozenset({"0"}))
        second = store.put_config(AgentConfig("codex"), frozenset({str(first)}))
        assert second > first
        with pytest.raises(ConflictError):
            store.put_policy("local", read_policy({}), frozenset({"7"}))
        assert store.records.version("policy", "local") == "0"


def test_of_many_who_saw_the_same_version_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as mine, opened(path) as theirs:
        won: list[int] = []
        gate = threading.Barrier(8)

        def write(number: int) -> None:
            store = (mine, theirs)[number % 2]
            gate.wait(60)
            with contextlib.suppress(ConflictError):
                store.put_config(AgentConfig("codex", meta=()), frozenset({"0"}))
                won.append(number)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(won) == 1


def test_an_agent_of_ones_own_goes_with_all_that_was_said_of_it(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as store:
        write_everything(store)
        store.put_config(AgentConfig("mine", enabled=True))
        store.put_override(read_override("mine", "local", {"enabled": False}))
        store.remove_agent("mine")
        roster = store.records.roster
        assert "mine" not in roster.agents and "mine" not in roster.configs
        assert list(roster.overrides) == [("codex", "docker")]
        with pytest.raises(UnknownNameError):
            store.remove_agent("mine")
        with pytest.raises(NotOursError, match="known from the start"):
            store.remove_agent("codex")
        assert roster.config("codex") == LIST


def test_without_a_database_agents_are_given_nothing_and_writing_says_why() -> None:
    store = AgentStore(None, SharingStore(None))
    assert store.records.roster == Roster() and store.load().revision == 0
    with pytest.raises(StoreError, match="not open") as error:
        store.put_config(LIST)
    assert "toolyard doctor" in error.value.hint


async def test_a_change_of_another_process_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    follower = Follower()
    with opened(path, follower) as mine, opened(path) as theirs:
        reports: asyncio.Queue[Report] = asyncio.Queue()
        async with asyncio.timeout(60), following(follower), asyncio.TaskGroup() as group:
            task = group.create_task(AgentsSource(mine, {}).run(reports.put_nowait))
            first = await reports.get()
            assert first.roster is not None and not first.roster.configs
            theirs.put_config(LIST)
            report = await reports.get()
            theirs.put_config(LIST)  # says nothing new
            theirs.put_config(AgentConfig("codex"))
            last = await reports.get()
            task.cancel()
        assert report.roster is not None and report.roster.configs == {"codex": LIST}
        (server,) = report.servers
        assert (str(server.id), server.agents) == ("git@agents", frozenset({"codex"}))
        assert server.problem is not None and "'B'" in server.problem.text
        assert last.servers == () and reports.empty()
