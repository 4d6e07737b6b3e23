"""`policy`: what executors allow and change, looked at before it counts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from toolyard.cli.roster import Said, policy_path, read_object, telling
from toolyard.console.context import CliContext, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

TITLES = ("executor", "policy of", "allows", "only", "never", "changes")
TRANSPORTS = ("stdio", "http", "sse", "streamable_http")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
dry_option = click.option("--dry-run", is_flag=True, help="Only say whose plans would change.")


@click.group("policy")
@json_option
def policy_command() -> None:
    """Say what executors allow and change."""


@policy_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List what every executor allows and changes."""
    found, _ = context.start_hub().record("GET", "/api/v1/policies")
    rows = [_row(each) for each in found["policies"]]
    context.terminal.answer(found, lambda: context.terminal.table(TITLES, rows))


@policy_command.command("show")
@click.argument("executor")
@json_option
@click.pass_obj
def show_command(context: CliContext, executor: str) -> None:
    """Show all that the policy of an executor says."""
    found, _ = context.start_hub().record("GET", policy_path(executor))
    context.terminal.answer(found, lambda: _show(context, found))


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
    """Write a policy; what is not named stays as it is. A FILE (or -) says all of it.

    Whose plans would change is shown first. A list is given as deny=a,b and emptied as deny= ;
    of a table, each word sets one entry.

    \b
    toolyard policy set docker allow_stdio=false
    toolyard policy set docker http_url_rewrite=localhost=host.docker.internal
    toolyard policy set kubernetes deny='fs*' env_injection=HTTP_PROXY=http://proxy:3128
    """
    hub = context.start_hub()
    before, tag = hub.record("GET", policy_path(executor))
    if len(words) == 1 and "=" not in words[0]:
        said = read_object(words[0])
    else:
        said = _changed(before["policy"], words)
    with telling(context):
        changes = _preview(hub, executor, said)
        if _agreed(context, executor, changes, dry_run, yes):
            hub.record("PUT", policy_path(executor), said, tag)
            _done(context, "written", executor, changes)


@policy_command.command("reset")
@click.argument("executor")
@dry_option
@yes_option
@json_option
@click.pass_obj
def reset_command(context: CliContext, executor: str, dry_run: bool, yes: bool) -> None:
    """Take the policy of an executor back: it is as its kind is, or allows all."""
    hub = context.start_hub()
    changes = _preview(hub, executor, None)
    if _agreed(context, executor, changes, dry_run, yes):
        hub.record("DELETE", policy_path(executor))
        _done(context, "reset", executor, changes)


def _preview(hub: Control, executor: str, said: Said | None) -> list[Said]:
    query = "?reset=true" if said is None else ""
    found, _ = hub.record("POST", f"{policy_path(executor)}/preview{query}", said or {})
    changes: list[Said] = found["changes"]
    return changes


def _agreed(
    context: CliContext, executor: str, changes: list[Said], dry_run: bool, yes: bool
) -> bool:
    """Whether to go on; what would change has been shown if a person decides it."""
    if dry_run:
        answer = {"done": "", "executor": executor, "changes": changes}
        context.terminal.answer(answer, lambda: _tell(context, changes))
        return False
    if yes or not changes:
        return True
    if context.terminal.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        who = ", ".join(dict.fromkeys(each["agent"] for each in changes))
        text = f"this would change the plans of {who}"
        raise CommandError(text, "look with --dry-run, then use --yes", Exit.REFUSED)
    _tell(context, changes)
    click.confirm("Write this?", abort=True)
    return True


def _tell(context: CliContext, changes: list[Said]) -> None:
    if not changes:
        context.terminal.say("no agent's plans would change")
    for each in changes:
        parts = [
            f"{word} {', '.join(each[word])}"
            for word in ("gained", "lost", "changed")
            if each[word]
        ]
        context.terminal.say(f"{each['agent']} with {each['executor']}: {'; '.join(parts)}")


def _done(context: CliContext, what: str, executor: str, changes: list[Said]) -> None:
    answer = {"done": what, "executor": executor, "changes": changes}
    who = ", ".join(dict.fromkeys(each["agent"] for each in changes))
    verb = {"written": "wrote", "reset": "took back"}[what]
    text = f"{verb} the policy of {executor}" + (f"; the plans of {who} changed" if who else "")
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _changed(policy: Said, words: Sequence[str]) -> Said:
    """The policy, with what the words say."""
    said = dict(policy)
    began: set[str] = set()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"'{word}' is not of the form KEY=VALUE")
        present = said.get(key)
        if isinstance(present, dict):
            said[key] = _with_entry(key, present, value)
        elif isinstance(present, list):
            more = [each for each in value.split(",") if each]
            said[key] = [*(present if key in began else ()), *more]
        else:
            said[key] = _flag(value)
        began.add(key)
    return said


def _with_entry(key: str, table: Said, value: str) -> Said:
    if not value:
        return {}
    # An address may hold the sign, and so may a variable's value.
    is_address = key == "http_url_rewrite" and "://" in value
    name, equals, meant = value.rpartition("=") if is_address else value.partition("=")
    if not equals or not name:
        raise click.UsageError(f"write {key}=NAME=VALUE, or {key}= for none")
    return {**table, name: meant}


def _flag(value: str) -> Any:
    # What is neither is refused by the hub, with the name of the field.
    return {"true": True, "on": True, "false": False, "off": False}.get(value.lower(), value)


def _row(row: Said) -> list[str]:
    policy = row["policy"]
    allowed = [each for each in TRANSPORTS if policy[f"allow_{each}"]]
    changes = [*policy["http_url_rewrite"], *policy["env_injection"]]
    return [
        row["executor"],
        row["policy_of"],
        "all" if len(allowed) == len(TRANSPORTS) else ", ".join(allowed) or "nothing",
        ", ".join(policy["allow"]),
        ", ".join(policy["deny"]),
        ", ".join(changes),
    ]


def _show(context: CliContext, found: Said) -> None:
    import json

    of = found["policy_of"]
    whose = "its own policy" if of == found["executor"] else f"the policy of {of}"
    context.terminal.say(f"{found['executor']} has {whose if of != 'the default' else of}")
    context.terminal.say(json.dumps(found["policy"], indent=2, ensure_ascii=False))
