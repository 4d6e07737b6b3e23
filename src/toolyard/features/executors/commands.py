"""`executor`: the places where servers run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.packages.commands import packages_command

if TYPE_CHECKING:
    from toolyard.features.executors.operations import ExecutorRow, ExecutorType, TestRow

TITLES = ("executor", "type", "host", "options", "limits", "policy of")
LIMIT = "Instead of the hub's own setting; or none."
TEST_SECONDS = 90.0


@click.group("executor")
@json_option
def executor_command() -> None:
    """Name the places where servers run, and try them."""


executor_command.add_command(packages_command)


@executor_command.command("add")
@click.argument("name")
@click.option("--type", "type_", required=True, metavar="docker|ssh|kubernetes")
@click.option("--host", default="", metavar="ADDRESS", help="Where it is; by its type.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE")
@click.option("--running-limit", metavar="SERVERS", help=f"How many may run there. {LIMIT}")
@click.option("--memory-limit", metavar="MB", help=f"How much memory they may take. {LIMIT}")
@json_option
@click.pass_obj
def add_command(
    context: CliContext,
    name: str,
    type_: str,
    host: str,
    options: tuple[str, ...],
    running_limit: str | None,
    memory_limit: str | None,
) -> None:
    """Name a place where servers can run, or change one.

    \b
    toolyard executor add box --type ssh --host me@box.example
    toolyard executor add here --type docker -o image=python:3.12-slim
    toolyard executor add far --type docker --host tcp://box:2376 -o ca=ca.pem --memory-limit 4096
    toolyard executor add cluster --type kubernetes --host my-context -o namespace=agents
    """
    from toolyard.features.executors.operations import PutExecutor, put_executor

    order = PutExecutor(
        name,
        cast("ExecutorType", type_),  # another is refused by the hub
        host,
        dict(map(_pair, options)),
        _limit("--running-limit", running_limit),
        _limit("--memory-limit", memory_limit),
    )
    context.start_hub().run(put_executor, order)
    answer = {
        "done": "named",
        "executor": name,
        "type": order.type,
        "host": order.host,
        "options": order.options,
        "running_limit": order.running_limit,
        "memory_limit": order.memory_limit,
    }

    def say() -> None:
        context.terminal.say(f"named the executor '{name}'")
        context.terminal.note(f"try it with: toolyard executor test {name}")

    context.terminal.answer(answer, say)


@executor_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the places."""
    from toolyard.features.executors.operations import list_executors
    from toolyard.operation import NoInput

    listed = context.start_hub().run(list_executors, NoInput())

    def say() -> None:
        if not listed.executors:
            context.terminal.say("servers run on this machine; name another: toolyard executor add")
            return
        context.terminal.table(TITLES, [_cells(row) for row in listed.executors])

    context.terminal.answer(listed, say)


@executor_command.command("test")
@click.argument("name")
@click.option("--image", default="", metavar="NAME", help="Test in this image; it needs a shell.")
@json_option
@click.pass_obj
def test_command(context: CliContext, name: str, image: str) -> None:
    """Start a tiny server at a place, call it, remove it, and say what failed."""
    from toolyard.features.executors.operations import TestExecutor, test_executor

    hub = context.start_hub()
    context.terminal.note(f"trying {name}; this takes up to a minute")
    trial = hub.run(test_executor, TestExecutor(name, image), TEST_SECONDS)
    context.terminal.answer(trial, lambda: _show_trial(context, trial))
    if trial.ok:
        return
    if context.terminal.as_json:  # the answer says what failed; it stays one document
        raise click.exceptions.Exit(Exit.FAILED)
    raise CommandError(trial.failed, trial.hint, Exit.FAILED)


@executor_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Remove a place; servers assigned to it fail from then on."""
    from toolyard.features.executors.operations import ExecutorName, remove_executor

    context.start_hub().run(remove_executor, ExecutorName(name))
    answer = {"done": "removed", "executor": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"forgot the executor '{name}'"))


def _show_trial(context: CliContext, trial: TestRow) -> None:
    for step in trial.steps:
        context.terminal.say(f"{step.seconds:6.2f} s  {step.text}")
    for note in trial.notes:
        context.terminal.say(f"          {note}")


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise click.UsageError(f"{word!r} is not KEY=VALUE")
    return key, value


def _cells(row: ExecutorRow) -> list[str]:
    options = ", ".join(f"{key}={value}" for key, value in row.options.items())
    return [row.name, row.type, row.host, options, _limits(row), row.policy_of]


def _limit(option: str, word: str | None) -> int | None:
    if word is None:
        return None
    if word == "none":
        return 0
    if not word.isdecimal() or not int(word):
        raise click.UsageError(f"{option} {word!r} is neither a number above 0 nor none")
    return int(word)


def _limits(row: ExecutorRow) -> str:
    limits = [
        f"{most or 'any number of'} {unit}" if unit == "servers" else f"{most or 'any'} {unit}"
        for most, unit in ((row.running_limit, "servers"), (row.memory_limit, "MB"))
        if most is not None
    ]
    return ", ".join(limits)
