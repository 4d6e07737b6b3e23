"""Whatever sources report in any order, the picture is what they said last, and never runs back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from toolyard.board import Board
from toolyard.core.model import (
    Command,
    Event,
    Observation,
    Problem,
    Report,
    Server,
    ServerId,
    SourceFailed,
    Status,
)
from toolyard.core.problems import ProblemCode

SOURCES = st.sampled_from(["files", "scan", "apps"])
NAMES = st.sampled_from(["acme", "Acme", "acme-2", "bolt", "bolt bolt", "x" * 70])
FEW = settings(max_examples=50, stateful_step_count=30)
BROKEN = Problem(ProblemCode.CONFIG_UNSET, "it stopped", "start it")


class Picture(RuleBasedStateMachine):
    """A board, beside the last word of every source."""

    stages: tuple[object, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.board = Board(self.stages)  # type: ignore[arg-type]
        self.last: dict[str, Report] = {}
        self.failed: set[str] = set()
        self.before = self.board.snapshot
        self.kept = repr(self.before)

    def post(self, event: Event) -> None:
        """Post, and see that nobody's older picture was changed."""
        self.before, self.kept = self.board.snapshot, repr(self.board.snapshot)
        self.board.post(event)

    @rule(
        source=SOURCES, names=st.lists(NAMES, unique=True, max_size=4), word=st.sampled_from("ab")
    )
    def report(self, source: str, names: list[str], word: str) -> None:
        servers = tuple(Server(ServerId(name, source), Command((name, word))) for name in names)
        self.last[source] = Report(source, servers)
        self.failed.discard(source)
        self.post(self.last[source])

    @rule(source=SOURCES)
    def fail(self, source: str) -> None:
        self.failed.add(source)
        self.last.setdefault(source, Report(source))
        self.post(SourceFailed(source, BROKEN))

    @rule(source=SOURCES, name=NAMES, status=st.sampled_from(Status))
    def observe(self, source: str, name: str, status: Status) -> None:
        self.post(Observation(ServerId(name, source), status))

    @rule()
    def say_it_again(self) -> None:
        snapshot = self.board.snapshot
        for source, report in self.last.items():
            if source not in self.failed:
                self.board.post(report)
        assert self.board.snapshot is snapshot

    @invariant()
    def it_shows_what_sources_said_last(self) -> None:
        snapshot = self.board.snapshot
        said = {server.id: server for report in self.last.values() for server in report.servers}
        assert {id_: entry.server for id_, entry in snapshot.entries.items()} == said
        assert {name for name, state in snapshot.sources.items() if state.problem} == self.failed

    @invariant()
    def it_is_numbered_and_never_edited(self) -> None:
        after = self.board.snapshot
        assert repr(self.before) == self.kept
        assert after is self.before or after.revision == self.before.revision + 1
        assert (replace(after, revision=0) == replace(self.before, revision=0)) == (
            after is self.before
        )

    @invariant()
    def whoever_stays_keeps_a_name_of_its_own(self) -> None:
        entries = self.board.snapshot.entries
        aliases = [entry.alias for entry in entries.values()]
        assert len(set(aliases)) == len(aliases)
        stayed = entries.keys() & self.before.entries.keys()
        assert all(entries[id_].alias == self.before.entries[id_].alias for id_ in stayed)


def test_any_order_of_events_gives_the_picture_of_the_last_words() -> None:
    run_state_machine_as_test(Picture, settings=FEW)


def test_a_stage_that_drops_a_server_is_found() -> None:
    def drop(_: object, event: Event) -> Event:
        if isinstance(event, Report) and len(event.servers) > 2:
            return replace(event, servers=event.servers[:2])
        return event

    machine = type("Picture", (Picture,), {"stages": (drop,)})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=settings(FEW, report_multiple_bugs=False))
