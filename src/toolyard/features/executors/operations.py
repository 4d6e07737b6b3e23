"""Questions and orders about executors that people named."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from toolyard.core.agents import EXECUTORS, spelled
from toolyard.core.errors import ConfigError, StartError, TakenError
from toolyard.core.lookup import find_executor
from toolyard.core.model import Snapshot
from toolyard.core.site_fields import read_site
from toolyard.core.sites import Placement, Site
from toolyard.features.agents.store import AgentStore
from toolyard.features.executors.reach import ExecutorReach
from toolyard.links.sites import LOCAL, Sites
from toolyard.operation import Guard, NoInput, Ordered, operation
from toolyard.yard import Yard

TOP = "/api/v1/executors"
ONE = "/api/v1/executors/{name}"
Text = Annotated[str, Meta(max_length=2000)]
Limit = Annotated[int, Meta(ge=0, lt=1 << 31)]
ExecutorType = Literal["docker", "ssh", "kubernetes"]
"""Kinds of places that can be named; this machine needs no name."""


class ExecutorName(Struct, frozen=True):
    """The executor that is meant."""

    name: str


class PutExecutor(Struct, frozen=True, forbid_unknown_fields=True):
    """What kind of place it is, where, and what else its kind understands."""

    name: str
    type: ExecutorType
    host: Text = ""
    options: dict[str, Text] = {}
    running_limit: Limit | None = None
    """How many servers may run there; 0 for no limit, null for the hub's setting."""
    memory_limit: Limit | None = None
    """MB they may take together; 0 and null as above."""

    def executor(self) -> Site:
        """Return the executor it describes.

        Raises:
            TakenError: The name means something else.
            ConfigError: It cannot be used.
        """
        name = spelled(self.name)
        if name in EXECUTORS:
            hint = "choose another; this one stands for all places of its kind"
            raise TakenError(f"{name!r} is the name of a kind of executor", hint)
        return read_site(name, msgspec.to_builtins(self))


class ExecutorRow(Struct, frozen=True):
    """An executor, and whose policy holds there."""

    name: str
    type: str
    host: str
    options: dict[str, str]
    policy_of: str
    reached_at: str = ""
    """Where the hub is from there, once somebody asked."""
    out_of_reach: str = ""
    running_limit: int | None = None
    memory_limit: int | None = None


class ExecutorList(Struct, frozen=True):
    """The executors that were named, and the kinds that can always be."""

    executors: list[ExecutorRow]
    kinds: list[str]


class TestExecutor(Struct, frozen=True, forbid_unknown_fields=True):
    """In which image to try it, if not its own default."""

    name: str
    image: Text = ""


class StepTaken(Struct, frozen=True):
    """What was done, and how long it took."""

    text: str
    seconds: float


class TestRow(Struct, frozen=True):
    """What came of trying a place."""

    ok: bool
    steps: list[StepTaken]
    failed: str
    hint: str
    notes: list[str]


@operation("GET", TOP)
async def list_executors(yard: Yard, order: NoInput) -> ExecutorList:
    """All executors."""
    sites = sorted(yard.snapshot.roster.sites.items())
    return ExecutorList([_row(yard, site) for _, site in sites], list(EXECUTORS))


@operation("GET", ONE, errors=(404,))
async def get_executor(yard: Yard, order: ExecutorName) -> ExecutorRow:
    """One executor."""
    return _row(yard, find_executor(yard.snapshot, order.name))


@operation("PUT", ONE, guard=Guard.PICTURE, errors=(409,))
async def put_executor(yard: Yard, order: PutExecutor) -> Ordered:
    """Name it."""
    site = order.executor()
    if yard.is_live:
        _check_usable(yard.part(Sites), site)
    await asyncio.to_thread(yard.part(AgentStore).put_site, site, by=yard.caller)
    _forget_reach(yard, site.name)
    noticed = await yard.seen(lambda picture: picture.roster.sites.get(site.name) == site)
    return Ordered(order.name, noticed)


@operation("DELETE", ONE, guard=Guard.PICTURE, errors=(404,))
async def remove_executor(yard: Yard, order: ExecutorName) -> Ordered:
    """Forget it."""
    name = find_executor(yard.snapshot, order.name).name
    await asyncio.to_thread(yard.part(AgentStore).remove_site, name, by=yard.caller)
    _forget_reach(yard, name)

    def is_gone(picture: Snapshot) -> bool:
        return name not in picture.roster.sites

    return Ordered(order.name, await yard.seen(is_gone))


@operation("POST", f"{ONE}/test", errors=(404,))
async def test_executor(yard: Yard, order: TestExecutor) -> TestRow:
    """Try it."""
    is_local = spelled(order.name) == LOCAL
    where = LOCAL if is_local else find_executor(yard.snapshot, order.name).name
    port = yard.part(ExecutorReach).port
    trial = await yard.part(Sites).try_out(where, Placement(image=order.image), port)
    steps = [StepTaken(text, round(seconds, 3)) for text, seconds in trial.steps]
    return TestRow(not trial.failed, steps, trial.failed, trial.hint, list(trial.notes))


def _check_usable(sites: Sites, site: Site) -> None:
    """See that this hub has what an executor needs.

    Raises:
        ConfigError: It lacks something.
    """
    try:
        sites.make(site)
    except StartError as error:
        raise ConfigError(str(error), error.hint) from error


def _forget_reach(yard: Yard, name: str) -> None:
    if yard.is_live:
        yard.part(ExecutorReach).forget(name)


def _row(yard: Yard, site: Site) -> ExecutorRow:
    reach = yard.part(ExecutorReach)
    _, policy_of = yard.snapshot.roster.policy(site.name)
    reached_at, _ = reach.reach_of(site.name)
    return ExecutorRow(
        site.name,
        site.type,
        site.host,
        dict(site.options),
        policy_of,
        reached_at,
        reach.out_of_reach.get(site.name, ""),
        site.running_limit,
        site.memory_limit,
    )
