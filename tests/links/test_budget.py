"""Limits at each executor, and what is known of the memory of servers elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from toolyard.core.errors import StartError
from toolyard.core.model import Command, Server, ServerId
from toolyard.core.sites import Placement, Site
from toolyard.links.budget import RunningBudget, RunningLimits
from toolyard.links.keeper import Keeper
from toolyard.links.sites import Sites
from toolyard.links.weights import Weights

MB = 1 << 20


@dataclass
class Where:
    """A link, as far as its place matters."""

    where: str
    pid: int = 0


@dataclass
class Runner:
    """A keeper whose server runs, as far as room for it matters."""

    name: str
    executor: str
    is_idle: bool = True
    used_at: float = 0.0
    is_running: bool = True
    note: str = ""
    server: Server = field(init=False)
    link: Where | None = field(init=False)

    def __post_init__(self) -> None:
        id_ = ServerId(self.name, "configured")
        self.server = Server(id_, Command(("x",)), placement=Placement(executor=self.executor))
        self.link = Where(f"container {self.name}")

    def rest(self, why: str) -> None:
        self.note, self.is_running = why, False

    async def wait_ended(self) -> None:
        assert not self.is_running


class Scales:
    """Places that say what they are told to, and count how often they were asked."""

    def __init__(self) -> None:
        self.said: dict[str, dict[str, int]] = {}
        self.asked: list[str] = []

    async def memory(self, name: str) -> dict[str, int]:
        self.asked.append(name)
        if name not in self.said:
            raise StartError("it is gone", "")
        return self.said[name]


def keepers(*runners: Runner) -> list[Keeper]:
    return [cast(Keeper, each) for each in runners]


def make_budget(
    limits: RunningLimits,
    *runners: Runner,
    weight: Callable[[Keeper], int | None] = lambda _keeper: None,
    **own: int | None,
) -> RunningBudget:
    """A budget of these runners; `own` are the limits of the executor `box`."""
    box = Site("box", "docker", **own)  # type: ignore[arg-type]
    budget = RunningBudget(limits, site=lambda name: box if name == "box" else None, weight=weight)
    budget.count(lambda: keepers(*runners))
    return budget


async def admit(budget: RunningBudget, executor: str) -> None:
    await budget.admit(cast(Keeper, Runner("new", executor, is_running=False)))


async def test_an_executor_s_own_number_counts_there_and_nowhere_else() -> None:
    one, two = Runner("one", "box", used_at=1), Runner("two", "box", used_at=2)
    here = Runner("here", "")
    budget = make_budget(RunningLimits(running=1), one, two, here, running_limit=2)
    await admit(budget, "box")
    assert one.note == "rested to make room for 'new': 2 servers run on box, and 2 may"
    assert two.is_running and here.is_running
    await admit(budget, "local")
    assert here.note == "rested to make room for 'new': 1 server runs, and 1 may"


async def test_an_executor_may_have_no_limit_where_others_have_one() -> None:
    one = Runner("one", "box")
    await admit(make_budget(RunningLimits(running=1), one, running_limit=0), "box")
    assert one.is_running


async def test_the_memory_that_is_known_counts_at_its_executor() -> None:
    big, small = Runner("big", "box", used_at=1), Runner("small", "box", used_at=2)
    unknown, other = Runner("unknown", "box", used_at=3), Runner("other", "elsewhere")
    weights = {"big": 60 * MB, "small": 10 * MB, "other": 900 * MB}
    budget = make_budget(
        RunningLimits(memory=1000 * MB),
        *(big, small, unknown, other),
        weight=lambda keeper: weights.get(keeper.server.id.name),
        memory_limit=64,
    )
    await admit(budget, "box")
    assert big.note.endswith("servers on box use 70 MB of the 64 they may")
    assert small.is_running and unknown.is_running and other.is_running


async def test_a_call_under_way_is_not_touched_for_memory() -> None:
    busy = Runner("busy", "box", is_idle=False)
    budget = make_budget(RunningLimits(), busy, weight=lambda _keeper: 5 * MB, memory_limit=1)
    with pytest.raises(StartError, match="servers on box use 5 MB of the 1 they may"):
        await admit(budget, "box")
    assert busy.is_running


async def test_only_places_where_something_runs_are_asked_and_not_again_at_once() -> None:
    scales, one, here = Scales(), Runner("one", "box"), Runner("here", "")
    weights = Weights(cast(Sites, scales))
    await weights.look(keepers(here))
    assert scales.asked == []
    scales.said["box"] = {"container one": 5 * MB}
    await weights.look(keepers(here, one))
    await weights.look(keepers(here, one))
    assert scales.asked == ["box"]
    assert [weights.of(each) for each in keepers(one, here)] == [5 * MB, None]
    two = Runner("two", "box")
    await weights.look(keepers(one, two))
    assert scales.asked == ["box", "box"], "what is new is weighed soon"
    assert weights.of(*keepers(two)) is None, "its place did not know of it"


async def test_a_place_that_does_not_answer_leaves_its_own_unknown_and_no_others() -> None:
    scales, one, two = Scales(), Runner("one", "box"), Runner("two", "gone")
    scales.said["box"] = {"container one": 5 * MB}
    weights = Weights(cast(Sites, scales))
    await weights.look(keepers(one, two))
    assert [weights.of(each) for each in keepers(one, two)] == [5 * MB, None]
    await weights.look(keepers(two))
    assert weights.of(*keepers(one)) is None, "what no longer runs is forgotten"
