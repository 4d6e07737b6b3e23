"""`secret`: what servers need to be let in somewhere, kept where only you can read it.

It works on the keyring and the files; a running hub notices by itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option

if TYPE_CHECKING:
    from toolyard.core.model import Server
    from toolyard.stores.secrets import KeptSecret, Secrets

TITLES = ("name", "kept in", "used by", "write it as")


@click.group("secret")
@json_option
def secret_command() -> None:
    """Keep secrets in the system's keyring, and use them by name."""


@secret_command.command("set")
@click.argument("name")
@click.argument("value", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Keep it in this file for you alone; one that is there is used as it is.",
)
@json_option
@click.pass_obj
def set_command(context: CliContext, name: str, value: tuple[str, ...], file: Path | None) -> None:
    """Keep a secret; its value is asked for, or read from stdin.

    \b
    toolyard secret set github-token
    pass show github | toolyard secret set github-token
    """
    if value:
        # Not click's own words, which would repeat it.
        raise click.UsageError("a value on the command line is seen by others; leave it out")
    from toolyard.stores.keyring import find_keyring
    from toolyard.stores.secrets import check_name

    secrets = _secrets(context)
    check_name(name)
    if file is None:
        find_keyring()  # before somebody types a secret for nothing
        kept = secrets.set(name, _read(name))
    else:
        before = secrets.known().get(name)
        is_used = file.expanduser().exists() and not (before is not None and before.ours)
        kept = secrets.set_file(name, file, None if is_used else _read(name))
    _done(context, "set", kept)
    if not context.terminal.as_json:
        context.terminal.say(f"write it into an entry as: {kept.reference}")


@secret_command.command("list")
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the names of secrets and who uses them, never their values."""
    from toolyard.stores.inventory import take_stock

    rows = take_stock(_secrets(context), servers_of(context))
    answer = {
        "secrets": [
            {
                "name": row.name,
                "kept_in": row.place,
                "used_by": list(row.used_by),
                "reference": row.reference,
                "problem": row.problem,
            }
            for row in rows
        ]
    }
    table = [(row.name, row.place, ", ".join(row.used_by), row.reference) for row in rows]

    def show() -> None:
        context.terminal.table(TITLES, table)
        for row in rows:
            if row.problem:
                context.terminal.note(f"{row.name}: {row.problem}")

    context.terminal.answer(answer, show)


@secret_command.command("rm")
@click.argument("name")
@json_option
@click.pass_obj
def rm_command(context: CliContext, name: str) -> None:
    """Forget a secret and its value."""
    _done(context, "removed", _secrets(context).remove(name))


def servers_of(context: CliContext) -> list[Server]:
    """Every server that the user has: of the file, and from the catalog."""
    from toolyard.features.catalog.source import make_report
    from toolyard.features.catalog.store import Catalog

    written = context.servers_file.load().servers
    shelf = Catalog(context.settings.data_dir / "catalog").load()
    return [*written, *make_report(shelf, os.environ).servers]


def _secrets(context: CliContext) -> Secrets:
    from toolyard.stores.secrets import Secrets

    return Secrets(context.settings.state_dir)


def _read(name: str) -> str:
    """Ask for a value without showing it, or take what is piped in, without its line end."""
    if sys.stdin.isatty():
        value: str = click.prompt(f"value of {name}", hide_input=True, err=True)
        return value
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def _done(context: CliContext, what: str, kept: KeptSecret) -> None:
    place = "the keyring" if kept.place == "keyring" else kept.path
    answer = {"done": what, "name": kept.name, "kept_in": kept.place, "path": kept.path}
    text = f"{what} '{kept.name}' in {place}" if what == "set" else f"{what} '{kept.name}'"
    context.terminal.answer(
        answer | {"reference": kept.reference}, lambda: context.terminal.say(text)
    )
