"""`interceptor`: check or change calls of tools on their way."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from toolyard.features.interceptors.operations import InterceptorRow, TrialResult

TITLES = ("interceptor", "does", "tools", "failure", "trouble")


@click.group("interceptor")
@json_option
def interceptor_command() -> None:
    """Check or change tool calls on their way.

    Two come with the hub: one masks secrets and personal data in results, one hides, fixes,
    defaults or renames arguments. Others are programs or HTTP endpoints of your own.
    """


@interceptor_command.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the interceptors."""
    from toolyard.features.interceptors.operations import list_interceptors
    from toolyard.operation import NoInput

    answer = context.run(list_interceptors, NoInput())
    context.terminal.answer(answer, lambda: _show(context, answer.interceptors))


@interceptor_command.command("add")
@click.argument("name")
@click.argument("program", nargs=-1)
@click.option(
    *("-t", "--tool", "tools"),
    multiple=True,
    required=True,
    metavar="PATTERN",
    help="The tools it applies to, as in a profile; a leading ! excludes them.",
)
@click.option("--mask", metavar="KINDS", help="Mask these kinds, or 'all', in results.")
@click.option("--fix", multiple=True, metavar="ARG=VALUE", help="Hide an argument; send VALUE.")
@click.option("--hide", multiple=True, metavar="ARG", help="Hide an argument; send nothing.")
@click.option("--default", multiple=True, metavar="ARG=VALUE", help="Send VALUE if none is given.")
@click.option("--rename", multiple=True, metavar="ARG=NAME", help="Rename an argument.")
@click.option(
    "--override",
    is_flag=True,
    help="Ignore hidden arguments that callers send, instead of refusing.",
)
@click.option("--url", help="An HTTP endpoint of your own.")
@click.option("-H", "--header", multiple=True, metavar="K=V", help="A header for the endpoint.")
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable for the program.")
@click.option("--type", "kind", type=click.Choice(["validation", "mutation"]))
@click.option("--phase", type=click.Choice(["request", "response", "both"]))
@click.option(
    "--failure",
    type=click.Choice(["closed", "open"]),
    help="If it fails: refuse the call, or let it pass.",
)
@click.option("--seconds", type=float, help="The time for one invocation (5).")
@click.option("--largest", type=int, metavar="BYTES", help="The most it is given (1 MiB).")
@click.option("--priority", type=int, help="Lower priorities mutate first (0).")
@click.option("--audit", is_flag=True, help="Record what it says, and act on none of it.")
@config_option
@json_option
@click.pass_obj
def add_command(
    context: CliContext,
    /,
    name: str,
    program: tuple[str, ...],
    tools: tuple[str, ...],
    mask: str | None,
    url: str | None,
    kind: str | None,
    audit: bool,
    **more: Any,
) -> None:
    """Add an interceptor, or replace one.

    VALUE is JSON, or a text. A program follows after --; it is started without a shell.

    \b
    toolyard interceptor add no-leaks -t '*' --mask all
    toolyard interceptor add tenant -t crm --fix tenant_id=acme --fix read_only=true
    toolyard interceptor add check -t 'git/*' --type validation --phase request -- ./check.py
    toolyard interceptor add far -t '*' --type mutation --phase response --url http://127.0.0.1:9000
    """
    from toolyard.features.interceptors.operations import PutInterceptor, put_interceptor

    fields: JsonObject = {"tools": list(tools), "type": kind, "url": url}
    if mask is not None:
        fields["mask"] = {} if mask == "all" else {"kinds": mask.split(",")}
    fields["arguments"] = _arguments(**{key: more.pop(key) for key in _RULES}) or None
    fields["program"] = _whole(program) or None
    fields["env"] = _pairs(more.pop("env"), "-e") or None
    fields["headers"] = _pairs(more.pop("header"), "-H") or None
    fields["mode"] = "audit" if audit else None
    body = {key: value for key, value in {**fields, **more}.items() if value is not None}
    answer = context.run(put_interceptor, PutInterceptor(name, body))
    text = f"wrote the interceptor '{name}'; try it with: toolyard interceptor test {name}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@interceptor_command.command("remove")
@click.argument("name")
@config_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove an interceptor."""
    from toolyard.features.interceptors.operations import InterceptorName, remove_interceptor

    answer = context.run(remove_interceptor, InterceptorName(name))
    text = f"removed the interceptor '{name}'"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@interceptor_command.command("test")
@click.argument("name")
@click.option("--tool", default="sample", metavar="NAME", help="The tool that the sample is from.")
@click.option("--arguments", metavar="JSON", help="Arguments of a call.")
@click.option("--result", metavar="JSON", help="The result of a call.")
@click.option("--text", help="The same as a plain text.")
@json_option
@click.pass_obj
def test_command(
    context: CliContext,
    name: str,
    tool: str,
    arguments: str | None,
    result: str | None,
    text: str | None,
) -> None:
    """Try an interceptor on a sample; nothing is called.

    \b
    toolyard interceptor test no-leaks --text 'mail ann@example.com'
    toolyard interceptor test tenant --arguments '{"query": "x"}'
    """
    from msgspec import UNSET

    from toolyard.features.interceptors.operations import InterceptorTrial, try_interceptor

    if text is not None:
        result = json.dumps({"content": [{"type": "text", "text": text}]})
    trial = InterceptorTrial(
        name,
        tool,
        UNSET if arguments is None else _object(arguments, "--arguments"),
        UNSET if result is None else _object(result, "--result"),
    )
    answer = context.run(try_interceptor, trial)
    context.terminal.answer(answer, lambda: _tell(context, answer))


_RULES = ("fix", "hide", "default", "rename", "override")


def _arguments(
    fix: Sequence[str],
    hide: Sequence[str],
    default: Sequence[str],
    rename: Sequence[str],
    override: bool,
) -> dict[str, JsonObject]:
    """The rules that flags name, by argument."""
    rules: dict[str, JsonObject] = {}
    for flag, words in (("fix", fix), ("default", default), ("rename", rename)):
        for name, text in _pairs(words, f"--{flag}").items():
            rules.setdefault(name, {})[flag] = text if flag == "rename" else _value(text)
    for name in hide:
        rules.setdefault(name, {})["hide"] = True
    if override:
        for rule in rules.values():
            rule["sent"] = "override"
    return rules


def _whole(program: Sequence[str]) -> list[str]:
    """The words of a program; one that is named by its path here is named by the whole path."""
    return [os.path.abspath(word) if "/" in word else word for word in program[:1]] + [*program[1:]]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _object(text: str, flag: str) -> JsonObject:
    value = _value(text)
    if not isinstance(value, dict):
        raise click.UsageError(f"{flag} must be a JSON object")
    return value


def _pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    pairs = dict(word.partition("=")[::2] for word in words)
    if not all(pairs) or not all("=" in word for word in words):
        raise click.UsageError(f"{flag} must be given as NAME=VALUE")
    return pairs


def _show(context: CliContext, rows: list[InterceptorRow]) -> None:
    if not rows:
        context.terminal.say("no interceptors yet; add one with: toolyard interceptor add")
        return
    cells = [[r.name, r.work, ", ".join(r.fields.tools), r.fields.failure, r.trouble] for r in rows]
    context.terminal.table(TITLES, cells)


def _tell(context: CliContext, answer: TrialResult) -> None:
    context.terminal.say(f"{answer.outcome} in {answer.milliseconds:g} ms")
    if answer.text:
        context.terminal.say(answer.text)
    for value in (answer.arguments, answer.result):
        if value is not None:
            context.terminal.say(json.dumps(value, indent=2, ensure_ascii=False))
