"""Plans, refusals and explanations as the control API gives them, without secrets in clear text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolyard.core.agents import Mode, Transport
from toolyard.core.model import Command, Endpoint
from toolyard.core.plans import Plan, Refusal, Resolution, Step
from toolyard.features.agents.explanation import Explanation
from toolyard.records.secrets.plain_secrets import pairs_without_secrets, without_secrets


class StepRow(Struct, frozen=True):
    """One thing that happened to a server on its way."""

    stage: str
    rule: str
    text: str
    decides: bool


class PlanEndpoint(Struct, frozen=True):
    """The command of a plan, or its address."""

    command: str | UnsetType = UNSET
    args: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    url: str | UnsetType = UNSET


class PlanRow(Struct, frozen=True):
    """A plan for one server of one agent; references stand for secrets."""

    name: str
    transport: Transport
    mode: Mode
    via: Literal["direct", "hub"]
    server: str
    """The server of the yard that it is."""
    endpoint: PlanEndpoint
    env: dict[str, str]
    headers: dict[str, str]
    steps: list[StepRow]


class RefusalRow(Struct, frozen=True):
    """The reason why a server that was asked for is left out."""

    name: str
    code: str
    rule: str
    text: str
    hint: str
    steps: list[StepRow]


class ResolutionRow(Struct, frozen=True):
    """The servers that one run gets, and those it does not."""

    agent: str
    executor: str
    session: str
    enabled: bool
    servers: list[PlanRow]
    refusals: list[RefusalRow]


class StoryRow(Struct, frozen=True):
    """The reason why an agent is given a server or tool, or is not."""

    name: str
    agent: str
    executor: str
    verdict: str
    text: str
    hint: str
    server: str
    tool: str
    decided: StepRow | None
    """The first step that made it other than was asked for."""
    steps: list[StepRow]
    plan: PlanRow | None
    also: list[str]


class RunServer(Struct, frozen=True, omit_defaults=True):
    """A server as the agent is to be given it; references such as `${TOKEN}` are still in it."""

    name: str
    transport: str
    mode: str
    via: str
    command: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    folder: str = ""
    """The value of `${workspaceFolder}`."""


class RunRow(Struct, frozen=True):
    """A run: the servers to hand over, and the token that stands for `${TOOLYARD_TOKEN}`."""

    session: str
    agent: str
    executor: str
    token: str
    servers: list[RunServer]
    refusals: list[RefusalRow]


class RenderRow(Struct, frozen=True):
    """Manifests, in YAML."""

    manifests: str


def resolution_row(made: Resolution, session: str) -> ResolutionRow:
    """Return what a run gets."""
    return ResolutionRow(
        made.agent,
        made.executor,
        session,
        made.enabled,
        [_plan_row(plan) for plan in made.plans],
        [refusal_row(refusal) for refusal in made.refusals],
    )


def story_row(explanation: Explanation) -> StoryRow:
    """Return an explanation."""
    return StoryRow(
        explanation.name,
        explanation.agent,
        explanation.executor,
        explanation.verdict,
        explanation.text,
        explanation.hint,
        explanation.server,
        explanation.tool,
        _step_rows([explanation.decided])[0] if explanation.decided else None,
        _step_rows(explanation.steps),
        _plan_row(explanation.plan) if explanation.plan else None,
        list(explanation.also),
    )


def refusal_row(refusal: Refusal) -> RefusalRow:
    """Return a refusal, with the steps that led to it."""
    steps = _step_rows(refusal.steps)
    return RefusalRow(refusal.name, refusal.code, refusal.rule, refusal.text, refusal.hint, steps)


def run_server(plan: Plan, folder: str) -> RunServer:
    """Return a plan as an agent is handed it, with its references."""
    row = RunServer(plan.name, plan.transport, plan.mode, plan.via, folder=folder)
    if isinstance(plan.endpoint, Command):
        command, env = list(plan.endpoint.argv), dict(plan.endpoint.env)
        return replace(row, command=command, env=env, cwd=plan.endpoint.cwd or "")
    return replace(row, url=plan.endpoint.url, headers=dict(plan.endpoint.headers))


def _plan_row(plan: Plan) -> PlanRow:
    return PlanRow(
        plan.name,
        plan.transport,
        plan.mode,
        plan.via,
        str(plan.server or ""),
        _endpoint(without_secrets(plan.endpoint)),
        dict(pairs_without_secrets(plan.env)),
        dict(pairs_without_secrets(plan.headers)),
        _step_rows(plan.steps),
    )


def _endpoint(endpoint: Endpoint) -> PlanEndpoint:
    if isinstance(endpoint, Command):
        command, *args = endpoint.argv
        return PlanEndpoint(command=command, args=args, cwd=endpoint.cwd)
    return PlanEndpoint(url=endpoint.url)


def _step_rows(steps: Iterable[Step]) -> list[StepRow]:
    return [StepRow(step.stage, step.rule, step.text, step.decides) for step in steps]
