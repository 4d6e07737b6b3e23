"""Ids of sessions that describe them: they always fit, and open for nobody else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from toolyard.core.caller import Caller
from toolyard.doors.http.ended import EndedHere
from toolyard.doors.http.session_ids import RandomIds, SealedIds
from toolyard.relay.client_greeting import ClientGreeting
from toolyard.wire.seal import LONGEST, Seal

SEAL = Seal(["fake-key-for-tests-" + "a" * 32])
ME = Caller("control")
AGENT = Caller("ci", is_agent=True)
DAY = 86400.0
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=40), inner),
    max_leaves=20,
)
NAMES = st.sampled_from(["elicitation", "sampling", "roots", "experimental", "extensions", "tasks"])
ABLE = JSON | st.dictionaries(NAMES | st.text(max_size=20), JSON)
INFO = JSON | st.dictionaries(st.sampled_from(["name", "version", "title", "icons"]), JSON)


@dataclass
class Clock:
    """A clock that is set."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Replicas:
    """Makes the ids of replicas that share a key and a clock."""

    clock: Clock = field(default_factory=Clock)

    def make(self, name: str, days: int = 7) -> SealedIds:
        return SealedIds(SEAL, name, EndedHere(self.clock), days, self.clock)


def params(able: Any = None, info: Any = None, version: Any = "2025-11-25") -> dict[str, Raw]:
    """The params of a client that greets."""
    members = {"protocolVersion": version, "capabilities": able, "clientInfo": info}
    return {name: Raw(json.dumps(value).encode()) for name, value in members.items()}


@given(ABLE, INFO)
def test_whatever_a_client_says_its_id_is_short_and_opens_elsewhere(able: Any, info: Any) -> None:
    replicas = Replicas()
    id_ = replicas.make("a").make(ME, "/mcp", params(able, info))

    greeting = replicas.make("b").open(ME, "/mcp", id_)
    assert len(id_) <= LONGEST
    assert greeting is not None and greeting.version == "2025-11-25"
    assert [json.loads(part) for part in (greeting.capabilities, greeting.info or b"{}")]


def test_what_has_room_is_all_there() -> None:
    able = {"elicitation": {"form": {}}, "experimental": {"x": {"deep": [1]}}}
    info = {"name": "Client", "version": "1.2", "title": "The client"}

    greeting = opened(able, info)

    assert (json.loads(greeting.capabilities), json.loads(greeting.info)) == (able, info)


LARGE = "x" * 2000


@pytest.mark.parametrize(
    ("able", "info", "left_able", "left_info"),
    [
        (
            {"roots": {}, "extensions": {"a/b": {}}},
            {"name": "n", "version": "1", "icons": [LARGE]},
            {"roots": {}, "extensions": {"a/b": {}}},
            {"name": "n", "version": "1"},
        ),
        (
            {"roots": {}, "experimental": {"x": LARGE}, "extensions": {"a/b": {}}},
            {"name": "n", "version": "1", "title": "t"},
            {"roots": {}, "extensions": {"a/b": {}}},
            {"name": "n", "version": "1"},
        ),
        (
            {"roots": {"listChanged": True, "more": 1}, "extensions": {"a/b": {"c": LARGE}}},
            {"name": "n"},
            {"roots": {"listChanged": True, "more": 1}},
            {"name": "n"},
        ),
        (
            {"roots": {"listChanged": True, "more": LARGE}, "elicitation": {"url": {"x": 1}}},
            {"name": "n", "version": "1"},
            {"roots": {"listChanged": True}, "elicitation": {"url": {}}},
            {"name": "n", "version": "1"},
        ),
        ({"sampling": 7}, {"name": LARGE, "version": "1"}, {"sampling": {}}, {"name": "x" * 100}),
    ],
)
def test_what_has_no_room_is_left_out_in_order(
    able: Any, info: Any, left_able: Any, left_info: Any
) -> None:
    greeting = opened(able, info)

    assert json.loads(greeting.capabilities) == left_able
    assert json.loads(greeting.info) == left_info


def test_a_name_of_the_widest_characters_leaves_the_capabilities_alone() -> None:
    able: Any = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}}
    able |= {"roots": {"listChanged": True}, "more": LARGE}

    greeting = opened(able, {"name": "\N{PILE OF POO}" * 500})

    assert json.loads(greeting.capabilities) == {k: v for k, v in able.items() if k != "more"}


def opened(able: Any, info: Any) -> ClientGreeting:
    """The greeting that another replica reads."""
    replicas = Replicas()
    id_ = replicas.make("a").make(ME, "/mcp", params(able, info))
    greeting = replicas.make("b").open(ME, "/mcp", id_)
    assert greeting is not None
    return greeting


def test_params_that_cannot_be_read_give_an_id_all_the_same() -> None:
    ids = Replicas().make("a")

    for raw in (b'{"a":', b'"\xff"', b""):
        id_ = ids.make(ME, "/mcp", {"capabilities": Raw(raw), "clientInfo": Raw(raw)})
        assert ids.open(ME, "/mcp", id_) is not None


@pytest.mark.parametrize(
    "caller",
    [
        Caller("page"),
        AGENT,
        Caller("control", is_agent=True),
        Caller("control", servers=frozenset({"git"})),
        Caller("control", profile="review"),
        Caller("control", agent="codex"),
        Caller("control", executor="docker"),
    ],
)
def test_an_id_opens_for_its_caller_alone(caller: Caller) -> None:
    ids = Replicas().make("a")

    assert ids.open(ME, "/mcp", ids.make(caller, "/mcp", params())) is None
    assert ids.open(caller, "/mcp", ids.make(ME, "/mcp", params())) is None
    assert ids.open(caller, "/mcp", ids.make(caller, "/mcp", params())) is not None


def test_an_id_opens_at_its_path_alone_however_that_is_spelled() -> None:
    ids = Replicas().make("a")
    id_ = ids.make(ME, "/mcp/s/web", params())

    assert ids.open(ME, "/mcp/s/w%65b", id_) is not None
    for path in ("/mcp", "/mcp/s/old", "/mcp/p/web"):
        assert ids.open(ME, path, id_) is None


def test_an_id_is_good_for_some_days_whatever_the_other_clock_says() -> None:
    replicas = Replicas()
    ids = replicas.make("a", days=2)
    id_ = ids.make(ME, "/mcp", params())

    for passed, is_good in ((-600, True), (2 * DAY - 1, True), (2 * DAY + 1, False)):
        replicas.clock.now = 1_800_000_000.0 + passed
        assert (ids.open(ME, "/mcp", id_) is not None) is is_good


def test_what_was_ended_does_not_open_again() -> None:
    ids = Replicas().make("a")
    over, other = ids.make(ME, "/mcp", params()), ids.make(ME, "/mcp", params())

    ids.end(over)

    assert ids.open(ME, "/mcp", over) is None
    assert ids.open(ME, "/mcp", other) is not None


def test_sessions_are_told_apart_alike_at_every_replica() -> None:
    replicas = Replicas()
    first, second = replicas.make("a"), replicas.make("b")
    id_ = first.make(ME, "/mcp", params())

    assert first.principal(id_) == second.principal(id_)
    assert first.principal(id_) != first.principal(first.make(ME, "/mcp", params()))


def test_without_a_key_an_id_says_nothing() -> None:
    ids = RandomIds()
    id_ = ids.make(ME, "/mcp", params())

    assert (len(id_), ids.replica, ids.open(ME, "/mcp", id_)) == (32, "", None)
    assert ids.principal(id_) == id_.decode()


def test_ended_sessions_are_few_enough_and_the_newest_stay() -> None:
    clock = Clock()
    sessions = [b"%d" % number for number in range(250)]
    memory = EndedHere(clock, most=100)

    remember(memory, sessions, clock.now + DAY)

    assert all(session in memory for session in sessions[-90:])
    assert sum(session in memory for session in sessions) <= 100


def test_what_no_id_leads_to_any_more_is_forgotten_first() -> None:
    clock = Clock()
    memory = EndedHere(clock, most=100)
    lasting, passing = [b"a%d" % n for n in range(50)], [b"b%d" % n for n in range(51)]
    remember(memory, lasting, clock.now + 2 * DAY)
    remember(memory, passing[:50], clock.now + DAY)

    clock.now += DAY + 1
    memory.add(passing[50], clock.now + DAY)

    assert all(session in memory for session in (*lasting, passing[50]))
    assert not any(session in memory for session in passing[:50])


def remember(memory: EndedHere, sessions: list[bytes], until: float) -> None:
    for session in sessions:
        memory.add(session, until)
