"""`agent resolve`, `why` and `render`: the servers of a run, the reasons, the manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.features.agents.options import agent_argument, executor_option

if TYPE_CHECKING:
    from toolyard.features.agents.planrows import PlanRow, ResolutionRow, StoryRow

TITLES = ("server", "transport", "mode", "through", "endpoint")


@click.command("resolve")
@agent_argument
@executor_option
@click.option("--session", default="", metavar="SESSION", help="Under which name it runs.")
@json_option
@click.pass_obj
def resolve_command(context: CliContext, agent: str, executor: str, session: str) -> None:
    """Show the servers that a run of an agent gets, and those it does not.

    Secrets appear as references, never as values.

    \b
    toolyard agent resolve codex
    toolyard agent resolve codex --executor docker
    """
    from toolyard.features.agents.operations import resolve_run
    from toolyard.features.agents.orders import RunQuery

    row = context.start_hub().run(resolve_run, RunQuery(agent, executor, session))
    context.terminal.answer(row, lambda: _show(context, row))


@click.command("why")
@agent_argument
@click.argument("name", metavar="SERVER|TOOL")
@executor_option
@json_option
@click.pass_obj
def why_command(context: CliContext, agent: str, name: str, executor: str) -> None:
    """Explain why an agent gets a server or tool, or does not.

    The reason comes first, then every step that led to it.

    \b
    toolyard agent why codex git__log
    toolyard agent why codex files --executor docker
    """
    from toolyard.features.agents.operations import explain_server
    from toolyard.features.agents.orders import WhyQuery

    row = context.start_hub().run(explain_server, WhyQuery(name, agent, executor))
    context.terminal.answer(row, lambda: _explain(context, row))


@click.command("render")
@agent_argument
@click.option("--executor", required=True, metavar="EXECUTOR", help="The cluster it runs in.")
@click.option("--native", is_flag=True, help="Use native sidecars (Kubernetes 1.29 and later).")
@json_option
@click.pass_obj
def render_command(context: CliContext, agent: str, executor: str, native: bool) -> None:
    """Write the manifests of an agent's servers: sidecars for its pod, and what is shared.

    Servers need a port for this; see docs/reference/executors/kubernetes.md.

    \b
    toolyard agent render codex --executor cluster
    """
    from toolyard.features.agents.operations import render_agent
    from toolyard.features.agents.orders import RenderQuery

    row = context.start_hub().run(render_agent, RenderQuery(agent, executor, native))
    context.terminal.answer(row, lambda: context.terminal.say(row.manifests))


def _show(context: CliContext, row: ResolutionRow) -> None:
    say = context.terminal.say
    run = f"{row.agent} with {row.executor}"
    if not row.enabled:
        say(f"{run} gets nothing: its list is switched off")
        context.terminal.note(f"hint: toolyard agent enable {row.agent}")
        return
    if row.servers:
        context.terminal.table(TITLES, [_cells(plan) for plan in row.servers])
    else:
        say(f"{run} gets no server")
    for refusal in row.refusals:
        say(f"left out: {refusal.name} ({refusal.code}): {refusal.text}")
        if refusal.hint:
            say(f"  hint: {refusal.hint}")


def _cells(plan: PlanRow) -> list[str]:
    endpoint = plan.endpoint
    where = endpoint.url or " ".join([endpoint.command or "", *(endpoint.args or ())])
    by = "the hub" if plan.via == "hub" else "directly"
    return [plan.name, plan.transport, plan.mode, by, where]


def _explain(context: CliContext, row: StoryRow) -> None:
    say = context.terminal.say
    say(row.text)
    if row.decided:
        say(f"decided by: {row.decided.rule}")
    if row.hint:
        say(f"hint: {row.hint}")
    for number, step in enumerate(row.steps, 1):
        mark = "  <-" if step.decides else ""
        say(f"  {number}. {step.stage}: {step.rule}: {step.text}{mark}")
    if row.also:
        say(f"also offered by: {', '.join(row.also)}")
