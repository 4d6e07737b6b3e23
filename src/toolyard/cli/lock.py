"""`lock`: write down what a team agreed on, or check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.control import Control
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.settling import find_settled


@click.command("lock")
@click.option("--check", is_flag=True, help="Write nothing; say what differs, and end with 1.")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("toolyard.lock"),
    show_default=True,
    help="The lock file.",
)
@json_option
@click.pass_obj
def lock_command(context: CliContext, check: bool, path: Path) -> None:
    """Write the lock file of a team, or check it.

    It holds hashes of how each server is started, of its tools, prompts and templates of resources,
    and of what it tells whoever uses it. Starts a hub in the
    background if there is none.
    """
    hub = find_settled(context)
    if check:
        _check(context, hub.lock(), path)
        return
    _refuse_unclear(hub)
    from toolyard.stores.locks import write_lock

    plain = hub.lock()
    write_lock(path.absolute(), plain)
    count = len(plain["servers"])
    text = f"wrote {path}: {count} server{'' if count == 1 else 's'}"
    answer = {"file": str(path), "servers": count}
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _check(context: CliContext, plain: dict[str, Any], path: Path) -> None:
    from toolyard.core.locks import compare
    from toolyard.stores.locks import parse_lock, read_lock

    differing = compare(read_lock(path.absolute()), parse_lock(json.dumps(plain).encode()))
    answer = {"file": str(path), "differences": list(differing)}
    text = "\n".join(differing) or f"all is as {path} has it"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
    if differing:
        raise click.exceptions.Exit(Exit.FAILED)


def _refuse_unclear(hub: Control) -> None:
    """Nobody should agree on what waits for approval, or on what was not seen."""
    for each in hub.status()["servers"]:
        if not each["enabled"]:
            continue
        name = each["alias"]
        if each["held"] or each["held_also"]:
            text = f"something of '{name}' waits for approval"
            raise CommandError(text, f"run: toolyard approve {name}", Exit.REFUSED)
        if each["status"] == "failing" or (each["problem"] and not each["tools"]):
            text = f"'{name}' is not ready, so what it offers is not known"
            raise CommandError(text, f"run: toolyard verify {name}", Exit.REFUSED)
