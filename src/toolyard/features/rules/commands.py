"""`rule`: have calls wait for a yes, and answer them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option

if TYPE_CHECKING:
    from toolyard.features.rules.model import ArgumentTestFields
    from toolyard.features.rules.operations import RuleRow, WaitingCallRow

TITLES = ("rule", "says", "tools", "if")
WAITING_TITLES = ("id", "who", "tool", "arguments", "rule", "left")
WIDEST = 60


@click.group("rule")
@json_option
def rule_command() -> None:
    """Have calls wait for your yes, and answer those that do.

    A call that matches a rule asks in the client, if the client can show a form. Otherwise it waits
    for the page or for 'toolyard rule answer'. Each yes is for one call.
    """


@rule_command.command("set")
@click.argument("name")
@click.option("--refuse", is_flag=True, help="Refuse such calls instead of asking.")
@click.option("--tool", "tools", multiple=True, metavar="WHAT", help="Only calls of these tools.")
@click.option(
    "--tier",
    type=click.Choice(["read", "write", "destroy"]),
    help="Only tools that can do this much harm, or more.",
)
@click.option(
    "--argument",
    "arguments",
    multiple=True,
    metavar="PATH=GLOB",
    help="Only calls whose argument matches; PATH:=JSON for one value.",
)
@click.option("--member", "members", multiple=True, metavar="EMAIL", help="Only calls of theirs.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Only calls of this agent.")
@click.option("--reason", default="", metavar="TEXT", help="The sentence that the person reads.")
@click.option(
    "--wait",
    type=click.IntRange(1, 3600),
    default=600,
    show_default=True,
    metavar="S",
    help="Seconds to wait for the answer.",
)
@json_option
@click.pass_obj
def set_command(
    context: CliContext, /, name: str, refuse: bool, arguments: tuple[str, ...], **flags: Any
) -> None:
    """Set a rule, replacing any of that name.

    WHAT is a server (git), one of its tools (git/push), or a pattern ('*/delete_*'); '!git/log'
    excepts one. A call must match everything you give.

    \b
    toolyard rule set destroys --tier destroy
    toolyard rule set etc --tool files --argument 'path=/etc/*' --refuse
    toolyard rule set force --tool git/push --argument force:=true --reason "History is shared."
    """
    from toolyard.core.tiers import Tier
    from toolyard.features.rules.operations import PutRule, put_rule

    lists = {key: list(flags[key]) for key in ("tools", "members", "agents")}
    order = PutRule(
        name=name,
        says="refuse" if refuse else "ask",
        tier=Tier(flags["tier"]) if flags["tier"] else None,
        arguments=[_test(text) for text in arguments],
        reason=flags["reason"],
        wait=flags["wait"],
        **lists,
    )
    answer = context.run(put_rule, order)
    text = f"wrote the rule '{name}': such calls {'are refused' if refuse else 'wait for a yes'}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _test(text: str) -> ArgumentTestFields:
    from toolyard.features.rules.model import ArgumentTestFields

    path, separator, value = text.partition("=")
    if not separator or not path.strip(":"):
        raise click.UsageError(f"{text!r} is not PATH=GLOB or PATH:=JSON")
    if not path.endswith(":"):
        return ArgumentTestFields(path, value)
    try:
        return ArgumentTestFields(path[:-1], equals=json.loads(value))
    except ValueError as error:
        raise click.UsageError(f"{value!r} is not JSON; a text needs quotes") from error


@rule_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove a rule; calls that matched it pass again."""
    from toolyard.features.rules.operations import RuleName, remove_rule

    answer = context.run(remove_rule, RuleName(name))
    text = f"removed the rule '{name}'"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@rule_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the rules."""
    from toolyard.features.rules.operations import list_rules
    from toolyard.operation import NoInput

    rules = context.run(list_rules, NoInput())
    context.terminal.answer(rules, lambda: _show(context, rules.rules))


@rule_command.command("waiting")
@json_option
@click.pass_obj
def waiting_command(context: CliContext) -> None:
    """List the calls that wait for a yes."""
    show_waiting_calls(context)


@rule_command.command("answer")
@click.argument("id_", metavar="ID")
@click.argument("answer", type=click.Choice(["yes", "no"]))
@json_option
@click.pass_obj
def answer_command(context: CliContext, id_: str, answer: str) -> None:
    """Let a waiting call run once, or refuse it."""
    answer_waiting_call(context, id_, yes=answer == "yes")


def show_waiting_calls(context: CliContext) -> None:
    """List the calls that wait for a yes."""
    from toolyard.features.rules.operations import list_waiting_calls
    from toolyard.operation import NoInput

    calls = context.run(list_waiting_calls, NoInput())
    context.terminal.answer(calls, lambda: _show_waiting(context, calls.calls))


def answer_waiting_call(context: CliContext, id_: str, *, yes: bool) -> None:
    """Answer a call that waits."""
    from toolyard.features.rules.operations import AnswerCall, answer_call

    answered = context.run(answer_call, AnswerCall(id_, "yes" if yes else "no"))
    word = "runs now" if yes else "was refused"
    text = f"'{answered.tool}' of '{answered.server}' {word}"
    context.terminal.answer(answered, lambda: context.terminal.say(text))


def _show(context: CliContext, rows: list[RuleRow]) -> None:
    if not rows:
        context.terminal.say("no rules yet; make one with: toolyard rule set NAME --tier destroy")
        return
    context.terminal.table(TITLES, [_cells(row) for row in rows])


def _cells(row: RuleRow) -> list[str]:
    if row.fault:
        return [row.name, "damaged", ", ".join(row.tools) or "all", row.fault]
    conditions = [
        *([f"tier {row.tier.value} or above"] if row.tier is not None else []),
        *(_spelled(test) for test in row.arguments),
        *(f"member {member}" for member in row.members),
        *(f"agent {agent}" for agent in row.agents),
    ]
    return [row.name, row.says, ", ".join(row.tools) or "all", ", ".join(conditions)]


def _spelled(test: ArgumentTestFields) -> str:
    if test.glob:
        return f"{test.path}={test.glob}"
    return f"{test.path}:={json.dumps(test.equals, ensure_ascii=False)}"


def _show_waiting(context: CliContext, rows: list[WaitingCallRow]) -> None:
    if not rows:
        context.terminal.say("no call waits for a yes")
        return
    context.terminal.table(WAITING_TITLES, [_waiting_cells(row) for row in rows])
    if any(not row.in_client for row in rows):
        context.terminal.say("answer with: toolyard rule answer ID yes|no")


def _waiting_cells(row: WaitingCallRow) -> list[str]:
    arguments = json.dumps(row.arguments, ensure_ascii=True)
    cut = arguments if len(arguments) <= WIDEST else f"{arguments[:WIDEST]}…"
    left = "asked in the client" if row.in_client else f"{max(0, row.expires - time.time()):.0f} s"
    who = " ".join(word for word in (row.caller, row.agent) if word) or "-"
    return [row.id, who, f"{row.server}/{row.tool}", cut, row.rule, left]
