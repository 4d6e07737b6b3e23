"""Whatever is declared, changed and lost in any order: each server ends with one link."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.links.company import HASTY, Indoors, Landlord, declared, tools, until
from toolyard.board import Board
from toolyard.core.errors import ToolyardError
from toolyard.core.model import Command, Report, ServerId, Status
from toolyard.links.pool import LinkPool

NAMES = ("acme", "bolt", "cask", "dill")
DECLARED = st.dictionaries(
    st.sampled_from(NAMES), st.tuples(st.sampled_from("ab"), st.booleans()), max_size=4
)
FEW = settings(max_examples=20, stateful_step_count=20)


class Pool(RuleBasedStateMachine):
    """A pool, beside what is declared now."""

    patience = HASTY

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.landlord = Landlord({"tools/list": tools("a")})
        self.wanted: dict[str, tuple[str, bool]] = {}
        self.runner.run(self.begin())

    async def begin(self) -> None:
        self.board = Board()
        self.pool = LinkPool(self.board, self.landlord, self.patience)
        self.pool.report_to(lambda *_: None, lambda *_: None)
        self.running = asyncio.get_running_loop().create_task(self.pool.run())

    @property
    def open_ones(self) -> Counter[str]:
        """How many links each server has."""
        return Counter(life.link.name for life in self.landlord.lives if is_open(life))

    def expected(self) -> Counter[str]:
        return Counter(name for name, (_, is_enabled) in self.wanted.items() if is_enabled)

    def is_settled(self) -> bool:
        """Tell whether each server that may run has one link, or waits for a call; no other has."""
        links, expected = self.open_ones, self.expected()
        waits = {
            entry.alias
            for entry in self.board.snapshot.entries.values()
            if entry.status is Status.KNOWN and entry.offers.tools
        }
        return links <= expected and (expected - links).keys() <= waits

    async def settled(self) -> None:
        """Wait until that is so."""
        await until(self.is_settled, 60)
        await until(lambda: {id_.name for id_ in self.pool.keepers} == set(self.expected()), 60)

    @rule(wanted=DECLARED)
    def declare(self, wanted: dict[str, tuple[str, bool]]) -> None:
        before = {
            life.link.name: life
            for life in self.landlord.lives
            if is_open(life) and self.wanted.get(life.link.name) == wanted.get(life.link.name)
        }
        self.wanted = wanted
        servers = [
            replace(declared(name, Command((name, word))), enabled=is_enabled)
            for name, (word, is_enabled) in wanted.items()
        ]

        async def post() -> None:
            self.board.post(Report("t", tuple(servers)))
            await self.settled()

        self.runner.run(post())
        assert all(is_open(life) for life in before.values()), "one that did not change was ended"

    @rule(name=st.sampled_from(NAMES))
    def lose(self, name: str) -> None:
        async def lose() -> None:
            for life in self.landlord.lives:
                if life.link.name == name:
                    life.link.lose("it died")
            await self.settled()

        self.runner.run(lose())

    @rule(name=st.sampled_from(NAMES))
    def lease(self, name: str) -> None:
        async def lease() -> Any:
            async with asyncio.timeout(60):
                return await self.pool.lease(ServerId(name, "t"))

        if self.expected()[name]:
            link = self.runner.run(lease())
            assert link.name == name and not link.closed.done()
        else:
            with pytest.raises(ToolyardError):
                self.runner.run(lease())

    def teardown(self) -> None:
        async def end() -> None:
            self.running.cancel()
            await asyncio.wait([self.running])

        self.runner.run(end())
        self.runner.close()
        assert not self.open_ones


def is_open(life: Indoors) -> bool:
    return not life.link.closed.done()


def test_any_order_of_declarations_and_losses_ends_in_one_link_each() -> None:
    run_state_machine_as_test(Pool, settings=FEW)
