"""`executor`: places where servers run; `render`: manifests for those who run agents in pods."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.packages.commands import packages_command

TOP = "/api/v1/executors"
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
    pairs = dict(_pair(each) for each in options)
    body: dict[str, Any] = {"type": type_, "host": host, "options": pairs}
    body["running_limit"] = _limit("--running-limit", running_limit)
    body["memory_limit"] = _limit("--memory-limit", memory_limit)
    context.start_hub().record("PUT", _one(name), body)
    answer = {"done": "named", "executor": name, **body}

    def say() -> None:
        context.terminal.say(f"named the executor '{name}'")
        context.terminal.note(f"try it with: toolyard executor test {name}")

    context.terminal.answer(answer, say)


@executor_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the places that were named."""
    found, _ = context.start_hub().record("GET", TOP)

    def say() -> None:
        if not found["executors"]:
            context.terminal.say("servers run on this machine; name another: toolyard executor add")
            return
        rows = [_row(each) for each in found["executors"]]
        context.terminal.table(TITLES, rows)

    context.terminal.answer(found, say)


@executor_command.command("test")
@click.argument("name")
@click.option("--image", default="", metavar="NAME", help="In this image; it needs a shell.")
@json_option
@click.pass_obj
def test_command(context: CliContext, name: str, image: str) -> None:
    """Start a tiny server at a place, call it, remove it, and say what failed."""
    hub = context.start_hub()
    context.terminal.note(f"trying {name}; this takes up to a minute")
    made = hub.test_executor(name, image, TEST_SECONDS)

    def say() -> None:
        for step in made["steps"]:
            context.terminal.say(f"{step['seconds']:6.2f} s  {step['text']}")
        for note in made["notes"]:
            context.terminal.say(f"          {note}")

    context.terminal.answer(made, say)
    if not made["ok"]:
        raise CommandError(made["failed"], made["hint"], Exit.FAILED)


@executor_command.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str) -> None:
    """Forget a place; servers that are to run there fail from then on."""
    context.start_hub().record("DELETE", _one(name))
    answer = {"done": "removed", "executor": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"forgot the executor '{name}'"))


@click.command("render")
@click.option("--agent", required=True, metavar="NAME", help="For which agent.")
@click.option("--executor", required=True, metavar="NAME", help="For which cluster.")
@click.option("--native", is_flag=True, help="As sidecars of clusters since 1.29.")
@json_option
@click.pass_obj
def render_command(context: CliContext, agent: str, executor: str, native: bool) -> None:
    """Write the manifests of an agent's servers: sidecars for its pod, and what is shared.

    Servers need a port for that; see docs/reference/executors/kubernetes.md.
    """
    asked = {"agent": agent, "executor": executor, "native": "true" if native else "false"}
    made, _ = context.start_hub().record("GET", f"/api/v1/render?{urlencode(asked)}")
    context.terminal.answer(made, lambda: context.terminal.say(made["manifests"]))


def _one(name: str) -> str:
    return f"{TOP}/{quote(name, safe='')}"


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise click.UsageError(f"{word!r} is not KEY=VALUE")
    return key, value


def _row(row: dict[str, Any]) -> list[str]:
    options = ", ".join(f"{key}={value}" for key, value in row["options"].items())
    return [row["name"], row["type"], row["host"], options, _limits(row), row["policy_of"]]


def _limit(option: str, word: str | None) -> int | None:
    if word is None:
        return None
    if word == "none":
        return 0
    if not word.isdecimal() or not int(word):
        raise click.UsageError(f"{option} {word!r} is neither a number above 0 nor none")
    return int(word)


def _limits(row: dict[str, Any]) -> str:
    said = [
        f"{most or 'any number of'} {unit}" if unit == "servers" else f"{most or 'any'} {unit}"
        for most, unit in ((row["running_limit"], "servers"), (row["memory_limit"], "MB"))
        if most is not None
    ]
    return ", ".join(said)
