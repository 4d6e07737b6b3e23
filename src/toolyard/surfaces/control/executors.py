"""Executors that people named, over the control API."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolyard.core.agents import EXECUTORS
from toolyard.core.sites import Placement, Site
from toolyard.features.agents.orders import Name
from toolyard.features.agents.resolutions import Resolutions
from toolyard.hub.executors import Executors
from toolyard.operation import Ordered
from toolyard.surfaces.control.api import Call, Operation

TOP = "/api/v1/executors"
ONE = "/api/v1/executors/{name}"
Text = Annotated[str, Meta(max_length=2000)]
Limit = Annotated[int, Meta(ge=0, lt=1 << 31)]


class ExecutorBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What kind of place it is, where, and what else its kind understands."""

    type: Literal["docker", "ssh", "kubernetes"]
    host: Text = ""
    options: dict[str, Text] = {}
    running_limit: Limit | None = None
    """How many servers may run there; 0 for no limit, null for the hub's setting."""
    memory_limit: Limit | None = None
    """MB they may take together; 0 and null as above."""


class ExecutorRow(msgspec.Struct, frozen=True):
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


class ExecutorList(msgspec.Struct, frozen=True):
    """The executors that were named, and the kinds that can always be."""

    executors: list[ExecutorRow]
    kinds: list[str]


class TestBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In which image to try it, if not its own default."""

    image: Text = ""


class RenderQuery(msgspec.Struct, frozen=True):
    """For which agent and cluster."""

    agent: Name
    executor: Name
    native: bool = False


class RenderRow(msgspec.Struct, frozen=True):
    """Manifests, in YAML."""

    manifests: str


class StepTaken(msgspec.Struct, frozen=True):
    """What was done, and how long it took."""

    text: str
    seconds: float


class TestRow(msgspec.Struct, frozen=True):
    """What came of trying a place."""

    ok: bool
    steps: list[StepTaken]
    failed: str
    hint: str
    notes: list[str]


class ExecutorsDoor:
    """Questions and orders about executors."""

    def __init__(self, executors: Executors, resolutions: Resolutions) -> None:
        self._executors = executors
        self._resolutions = resolutions

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "executors"}
        put = {**tag, "body": ExecutorBody, "changes": True, "errors": (409,)}
        one = {**tag, "errors": (404,)}
        gone = {**one, "changes": True}
        try_ = {**one, "body": TestBody}
        return [
            Operation("GET", TOP, "All executors", self._list, ExecutorList, **tag),
            Operation("GET", ONE, "One executor", self._one, ExecutorRow, **one),
            Operation("PUT", ONE, "Name it", self._put, Ordered, **put),
            Operation("DELETE", ONE, "Forget it", self._remove, Ordered, **gone),
            Operation("POST", f"{ONE}/test", "Try it", self._test, TestRow, **try_),
            Operation(
                "GET",
                "/api/v1/render",
                "Manifests of an agent's servers",
                self._render,
                RenderRow,
                query=RenderQuery,
                **one,
            ),
        ]

    async def _list(self, call: Call) -> ExecutorList:
        rows = [self._row(site) for _, site in sorted(self._executors.sites.items())]
        return ExecutorList(rows, list(EXECUTORS))

    async def _one(self, call: Call) -> ExecutorRow:
        return self._row(self._executors.site(call.path["name"]))

    def _row(self, site: Site) -> ExecutorRow:
        _, of = self._resolutions.resolver.roster.policy(site.name)
        reached, _ = self._executors.reach_of(site.name)
        why = self._executors.out_of_reach.get(site.name, "")
        return ExecutorRow(
            site.name,
            site.type,
            site.host,
            dict(site.options),
            of,
            reached,
            why,
            site.running_limit,
            site.memory_limit,
        )

    async def _render(self, call: Call) -> RenderRow:
        query: RenderQuery = call.query
        site = self._executors.site(query.executor)
        await self._resolutions.prepare(site.name)
        made = self._resolutions.planned(query.agent, site.name)
        text = await asyncio.to_thread(self._executors.render, made, site, native=query.native)
        return RenderRow(text)

    async def _put(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._executors.put(name, msgspec.to_builtins(call.body)))

    async def _remove(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._executors.remove(name))

    async def _test(self, call: Call) -> TestRow:
        body: TestBody = call.body
        trial = await self._executors.try_out(call.path["name"], Placement(image=body.image))
        steps = [StepTaken(text, round(seconds, 3)) for text, seconds in trial.steps]
        return TestRow(not trial.failed, steps, trial.failed, trial.hint, list(trial.notes))
