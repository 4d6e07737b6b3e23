"""`resolve` and `why`: what a run of an agent gets, and how that comes."""

from __future__ import annotations

from urllib.parse import urlencode

import click

from toolyard.cli.roster import Said, agent_option, executor_option
from toolyard.console.context import CliContext, json_option

TITLES = ("server", "transport", "mode", "through", "endpoint")


@click.command("resolve")
@agent_option
@executor_option
@click.option("--session", default="", metavar="SESSION", help="Under which name it runs.")
@json_option
@click.pass_obj
def resolve_command(context: CliContext, agent: str, executor: str, session: str) -> None:
    """Show what a run of an agent gets, and what it does not.

    Secrets are shown as the references that stand for them.
    """
    asked = urlencode({"agent": agent, "executor": executor, "session": session})
    found, _ = context.start_hub().record("GET", f"/api/v1/resolve?{asked}")
    context.terminal.answer(found, lambda: _show(context, found))


@click.command("why")
@click.argument("name", metavar="SERVER|TOOL")
@agent_option
@executor_option
@json_option
@click.pass_obj
def why_command(context: CliContext, name: str, agent: str, executor: str) -> None:
    """Tell why an agent is given a server or tool, or is not.

    What decided comes first, then all that happened on the way.
    """
    asked = urlencode({"name": name, "agent": agent, "executor": executor})
    found, _ = context.start_hub().record("GET", f"/api/v1/why?{asked}")
    context.terminal.answer(found, lambda: _tell(context, found))


def _show(context: CliContext, found: Said) -> None:
    say = context.terminal.say
    who = f"{found['agent']} with {found['executor']}"
    if not found["enabled"]:
        say(f"{who} is given nothing: its list is switched off")
        context.terminal.note(f"hint: toolyard agent enable {found['agent']}")
        return
    if not found["servers"]:
        say(f"{who} is given no server")
    else:
        context.terminal.table(TITLES, [_row(plan) for plan in found["servers"]])
    for no in found["refusals"]:
        say(f"left out: {no['name']} ({no['code']}): {no['text']}")
        if no["hint"]:
            say(f"  hint: {no['hint']}")


def _row(plan: Said) -> list[str]:
    endpoint = plan["endpoint"]
    where = endpoint.get("url") or " ".join([endpoint["command"], *endpoint["args"]])
    by = "the hub" if plan["via"] == "hub" else "directly"
    return [plan["name"], plan["transport"], plan["mode"], by, where]


def _tell(context: CliContext, found: Said) -> None:
    say = context.terminal.say
    say(found["text"])
    if found["decided"]:
        say(f"decided by: {found['decided']['rule']}")
    if found["hint"]:
        say(f"hint: {found['hint']}")
    for number, step in enumerate(found["steps"], 1):
        mark = "  <-" if step["decides"] else ""
        say(f"  {number}. {step['stage']}: {step['rule']}: {step['text']}{mark}")
    if found["also"]:
        say(f"also offered by: {', '.join(found['also'])}")
