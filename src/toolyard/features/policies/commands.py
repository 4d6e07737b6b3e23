"""`policy`: what executors allow and change, previewed before it counts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.faults import noting_faults
from toolyard.console.jsonfile import read_object
from toolyard.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.features.policies.operations import PlanChangeRow, PolicyRow

TITLES = ("executor", "policy of", "allows", "only", "never", "changes")
TRANSPORTS = ("stdio", "http", "sse", "streamable_http")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_option = click.option(
    "--dry-run", is_flag=True, help="Show whose plans would change, and stop."
)


@click.group("policy")
@json_option
def policy_command() -> None:
    """Set what executors allow, and what they change."""


@policy_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List what each executor allows and changes."""
    from toolyard.features.policies.operations import list_policies
    from toolyard.operation import NoInput

    answer = context.start_hub().run(list_policies, NoInput())
    rows = [_cells(row) for row in answer.policies]
    context.terminal.answer(answer, lambda: context.terminal.table(TITLES, rows))


@policy_command.command("show")
@click.argument("executor")
@json_option
@click.pass_obj
def show_command(context: CliContext, executor: str) -> None:
    """Show the whole policy of an executor."""
    from toolyard.features.policies.operations import PolicyOf, get_policy

    row = context.start_hub().run(get_policy, PolicyOf(executor)).answer
    context.terminal.answer(row, lambda: _show(context, row))


@policy_command.command("set")
@click.argument("executor")
@click.argument("words", nargs=-1, required=True, metavar="KEY=VALUE...|FILE")
@dry_option
@yes_option
@json_option
@click.pass_obj
def set_command(
    context: CliContext, executor: str, words: Sequence[str], dry_run: bool, yes: bool
) -> None:
    """Write a policy; what you do not name stays as it is. A FILE (or -) replaces all of it.

    Shows first whose plans would change. Write a list as deny=a,b and empty it with deny= ; of a
    table, each word sets one entry.

    \b
    toolyard policy set docker allow_stdio=false
    toolyard policy set docker http_url_rewrite=localhost=host.docker.internal
    toolyard policy set kubernetes deny='fs*' env_injection=HTTP_PROXY=http://proxy:3128
    """
    import msgspec

    from toolyard.features.policies.operations import PolicyOf, PutPolicy, get_policy, put_policy

    hub = context.start_hub()
    before = hub.run(get_policy, PolicyOf(executor))
    if len(words) == 1 and "=" not in words[0]:
        body = read_object(words[0])
    else:
        body = _changed(msgspec.to_builtins(before.answer.policy), words)
    with noting_faults(context):
        changes = _preview(hub, executor, body)
        if _agreed(context, executor, changes, dry_run, yes):
            hub.run(put_policy, PutPolicy(executor, body), version=before.version)
            _done(context, "written", executor, changes)


@policy_command.command("reset")
@click.argument("executor")
@dry_option
@yes_option
@json_option
@click.pass_obj
def reset_command(context: CliContext, executor: str, dry_run: bool, yes: bool) -> None:
    """Remove the policy of an executor: that of its kind counts again, or all is allowed."""
    from toolyard.features.policies.operations import PolicyOf, reset_policy

    hub = context.start_hub()
    changes = _preview(hub, executor, None)
    if _agreed(context, executor, changes, dry_run, yes):
        hub.run(reset_policy, PolicyOf(executor))
        _done(context, "reset", executor, changes)


def _preview(hub: Control, executor: str, body: JsonObject | None) -> list[PlanChangeRow]:
    """The plans that a policy would change; None stands for taking it back."""
    from toolyard.features.policies.operations import PreviewPolicy, preview_policy

    order = PreviewPolicy(executor, body or {}, reset=body is None)
    return hub.run(preview_policy, order).changes


def _agreed(
    context: CliContext, executor: str, changes: list[PlanChangeRow], dry_run: bool, yes: bool
) -> bool:
    """Return whether to go on; a person who decides it has been shown what would change."""
    if dry_run:
        answer = {"done": "", "executor": executor, "changes": changes}
        context.terminal.answer(answer, lambda: _list_changes(context, changes))
        return False
    if yes or not changes:
        return True
    if context.terminal.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        text = f"this would change the plans of {_agents(changes)}"
        raise CommandError(text, "preview with --dry-run, then add --yes", Exit.REFUSED)
    _list_changes(context, changes)
    click.confirm("Write this?", abort=True)
    return True


def _list_changes(context: CliContext, changes: list[PlanChangeRow]) -> None:
    if not changes:
        context.terminal.say("no agent's plans would change")
    for change in changes:
        kinds = (("gained", change.gained), ("lost", change.lost), ("changed", change.changed))
        parts = [f"{word} {', '.join(names)}" for word, names in kinds if names]
        context.terminal.say(f"{change.agent} with {change.executor}: {'; '.join(parts)}")


def _done(context: CliContext, done: str, executor: str, changes: list[PlanChangeRow]) -> None:
    verb = {"written": "wrote", "reset": "removed"}[done]
    text = f"{verb} the policy of {executor}"
    if changes:
        text += f"; the plans of {_agents(changes)} changed"
    answer = {"done": done, "executor": executor, "changes": changes}
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _agents(changes: list[PlanChangeRow]) -> str:
    return ", ".join(dict.fromkeys(change.agent for change in changes))


def _changed(policy: JsonObject, words: Sequence[str]) -> JsonObject:
    """The policy, with the changes that words name; the hub judges them."""
    body = dict(policy)
    begun: set[str] = set()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"'{word}' is not of the form KEY=VALUE")
        present = body.get(key)
        if isinstance(present, dict):
            body[key] = _with_entry(key, present, value)
        elif isinstance(present, list):
            more = [name for name in value.split(",") if name]
            body[key] = [*(present if key in begun else ()), *more]
        else:
            body[key] = _flag(value)
        begun.add(key)
    return body


def _with_entry(key: str, table: dict[str, str], value: str) -> dict[str, str]:
    if not value:
        return {}
    # An address may hold the sign, and so may a variable's value.
    is_address = key == "http_url_rewrite" and "://" in value
    name, equals, meant = value.rpartition("=") if is_address else value.partition("=")
    if not equals or not name:
        raise click.UsageError(f"write {key}=NAME=VALUE, or {key}= for none")
    return {**table, name: meant}


def _flag(value: str) -> bool | str:
    # What is neither is refused by the hub, with the name of the field.
    words: dict[str, bool | str] = {"true": True, "on": True, "false": False, "off": False}
    return words.get(value.lower(), value)


def _cells(row: PolicyRow) -> list[str]:
    policy = row.policy
    allowed = [name for name in TRANSPORTS if getattr(policy, f"allow_{name}")]
    return [
        row.executor,
        row.policy_of,
        "all" if len(allowed) == len(TRANSPORTS) else ", ".join(allowed) or "nothing",
        ", ".join(policy.allow or ()),
        ", ".join(policy.deny or ()),
        ", ".join([*(policy.http_url_rewrite or ()), *(policy.env_injection or ())]),
    ]


def _show(context: CliContext, row: PolicyRow) -> None:
    import json

    import msgspec

    whose = "its own policy" if row.policy_of == row.executor else f"the policy of {row.policy_of}"
    if row.policy_of == "the default":
        whose = "the default policy"
    context.terminal.say(f"{row.executor} has {whose}")
    policy = msgspec.to_builtins(row.policy)
    context.terminal.say(json.dumps(policy, indent=2, ensure_ascii=False))
