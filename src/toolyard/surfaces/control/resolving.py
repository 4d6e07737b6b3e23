"""What a run of an agent gets, and why, over the control API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from toolyard.core.model import Command, Endpoint
from toolyard.core.plans import Plan, Refusal, Resolution, Step
from toolyard.hub.agents import Agents
from toolyard.hub.why import Story
from toolyard.operation import fault_rows
from toolyard.stores.plain_secrets import pairs_without_secrets, without_secrets
from toolyard.surfaces.control.agentrows import (
    CheckedConfig,
    Name,
    PlanEndpoint,
    PlanRow,
    RefusalRow,
    ResolutionRow,
    StepRow,
    StoryRow,
)
from toolyard.surfaces.control.agents import ONE, ExecutorQuery
from toolyard.surfaces.control.api import Call, Operation


class RunQuery(msgspec.Struct, frozen=True):
    """Which run; without an executor, one on this machine."""

    agent: Name
    executor: str = ""
    session: str = ""


class WhyQuery(msgspec.Struct, frozen=True):
    """Which server or tool, and for whom."""

    name: Name
    agent: Name
    executor: str = ""


class CheckQuery(ExecutorQuery, frozen=True):
    """With which executor, and what is checked."""

    override: bool = False
    """Whether it is what differs with the executor, and not a whole list."""


class ResolvingDoor:
    """Questions about what agents get."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "agents", "errors": (404,)}
        resolve = {**tag, "query": RunQuery}
        why = {**tag, "query": WhyQuery}
        # Whatever is said is checked, so that nothing is too wrong to be asked about.
        check: dict[str, Any] = {"tag": "agents", "query": CheckQuery, "shape": Any}
        path = "/api/v1/resolve"
        say = "Check a list without saving it"
        return [
            Operation("GET", path, "What a run gets", self._resolve, ResolutionRow, **resolve),
            Operation("GET", "/api/v1/why", "Why it does", self._why, StoryRow, **why),
            Operation("POST", f"{ONE}/validate", say, self._check, CheckedConfig, **check),
        ]

    async def _resolve(self, call: Call) -> ResolutionRow:
        query: RunQuery = call.query
        await self._agents.prepare(query.executor)
        return resolution_row(self._agents.resolution(query.agent, query.executor, query.session))

    async def _why(self, call: Call) -> StoryRow:
        query: WhyQuery = call.query
        await self._agents.prepare(query.executor)
        return story_row(self._agents.why(query.name, query.agent, query.executor))

    async def _check(self, call: Call) -> CheckedConfig:
        agent, query = call.path["id"], call.query
        if query.override:
            found = self._agents.validate_override(agent, query.executor, call.body)
        else:
            found = self._agents.validate(agent, call.body, query.executor)
        errors, warnings = fault_rows(found.faults), fault_rows(found.warnings)
        return CheckedConfig(not errors, errors, warnings)


def resolution_row(made: Resolution) -> ResolutionRow:
    """What a run gets, without secrets that stand in clear text."""
    return ResolutionRow(
        made.agent,
        made.executor,
        made.session,
        made.enabled,
        [plan_row(plan) for plan in made.plans],
        [refusal_row(refusal) for refusal in made.refusals],
    )


def story_row(story: Story) -> StoryRow:
    """A story, without secrets that stand in clear text."""
    return StoryRow(
        story.name,
        story.agent,
        story.executor,
        story.verdict,
        story.text,
        story.hint,
        story.server,
        story.tool,
        _steps([story.decided])[0] if story.decided else None,
        _steps(story.steps),
        plan_row(story.plan) if story.plan else None,
        list(story.also),
    )


def plan_row(plan: Plan) -> PlanRow:
    """A plan, without secrets that stand in clear text."""
    return PlanRow(
        plan.name,
        plan.transport,
        plan.mode,
        plan.via,
        str(plan.server or ""),
        _endpoint(without_secrets(plan.endpoint)),
        dict(pairs_without_secrets(plan.env)),
        dict(pairs_without_secrets(plan.headers)),
        _steps(plan.steps),
    )


def _endpoint(endpoint: Endpoint) -> PlanEndpoint:
    if isinstance(endpoint, Command):
        command, *args = endpoint.argv
        return PlanEndpoint(command=command, args=args, cwd=endpoint.cwd)
    return PlanEndpoint(url=endpoint.url)


def refusal_row(no: Refusal) -> RefusalRow:
    """A refusal, with the steps that led to it."""
    return RefusalRow(no.name, no.code, no.rule, no.text, no.hint, _steps(no.steps))


def _steps(steps: Iterable[Step]) -> list[StepRow]:
    return [StepRow(step.stage, step.rule, step.text, step.decides) for step in steps]
