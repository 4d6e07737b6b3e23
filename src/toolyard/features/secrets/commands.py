"""`secret`: what servers need to be let in somewhere, kept where only you can read it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, config_option, json_option

if TYPE_CHECKING:
    from toolyard.features.secrets.model import KeptSecret

member_option = click.option(
    "--member", default="", metavar="EMAIL", help="The member whose own secret it is."
)
TITLES = ("name", "kept in", "used by", "reference")


@click.group("secret")
@json_option
def secret_command() -> None:
    """Store secrets in the system's keyring, and refer to them by name."""


@secret_command.command("set")
@click.argument("name")
@click.argument("value", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Store it in this file, readable by you alone; an existing file is used as it is.",
)
@member_option
@json_option
@click.pass_obj
def set_command(
    context: CliContext, name: str, value: tuple[str, ...], file: Path | None, member: str
) -> None:
    """Store a secret; prompts for its value, or reads it from stdin.

    With --member it is the member's own: ${member:NAME} stands for it when they call.

    \b
    toolyard secret set github-token
    pass show github | toolyard secret set github-token
    toolyard secret set github-token --member ann@example.com
    """
    if value:
        # Not click's own words, which would repeat it.
        raise click.UsageError("other users can see a value on the command line; leave it out")
    from toolyard.features.secrets.model import check_secret_name

    check_secret_name(name)
    if member:
        if file is not None:
            raise click.UsageError("secrets of members are sealed; leave out --file")
        _keep_for_member(context, name, member)
    elif file is None:
        _tell_kept(context, _keep_in_keyring(context, name))
    else:
        _tell_kept(context, _keep_in_file(context, name, file))


@secret_command.command("list")
@member_option
@config_option
@json_option
@click.pass_obj
def list_command(context: CliContext, member: str) -> None:
    """List the names of secrets and the servers that use them, never their values."""
    if member:
        _list_of_member(context, member)
        return
    from toolyard.features.secrets.operations import list_secrets
    from toolyard.operation import NoInput

    rows = context.run(list_secrets, NoInput()).secrets
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


@secret_command.command("remove")
@click.argument("name")
@member_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str, member: str) -> None:
    """Delete a secret and its value."""
    from toolyard.features.secrets.operations import (
        MemberSecretName,
        SecretName,
        remove_member_secret,
        remove_secret,
    )

    if member:
        context.run(remove_member_secret, MemberSecretName(name, member))
    else:
        context.run(remove_secret, SecretName(name))
    answer = {"done": "removed", "name": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"removed '{name}'"))


def _keep_for_member(context: CliContext, name: str, member: str) -> None:
    from toolyard.features.secrets.operations import NewMemberSecret, put_member_secret

    context.run(put_member_secret, NewMemberSecret(name, member, _read(name)))
    reference = f"${{member:{name}}}"
    answer = {"done": "set", "name": name, "member": member, "reference": reference}

    def show() -> None:
        context.terminal.say(f"set '{name}' of {member}")
        context.terminal.say(f"refer to it in a server's entry as: {reference}")

    context.terminal.answer(answer, show)


def _list_of_member(context: CliContext, member: str) -> None:
    from toolyard.features.secrets.operations import SecretsMember, list_member_secrets

    answer = context.run(list_member_secrets, SecretsMember(member))
    rows = [
        (row.name, "sealed" if row.is_set else "not set", ", ".join(row.used_by))
        for row in answer.secrets
    ]
    titles = ("name", "kept", "used by")
    context.terminal.answer(answer, lambda: context.terminal.table(titles, rows))


def _keep_in_keyring(context: CliContext, name: str) -> KeptSecret:
    from toolyard.features.secrets.model import KeptSecret
    from toolyard.features.secrets.operations import NewSecret, put_secret
    from toolyard.records.secrets.keyring import find_keyring

    is_shared = bool(context.settings.database and context.settings.key)
    if not is_shared:
        find_keyring()  # before somebody types a secret for nothing
    context.run(put_secret, NewSecret(name, _read(name)))
    return KeptSecret(name, "database" if is_shared else "keyring")


def _keep_in_file(context: CliContext, name: str, file: Path) -> KeptSecret:
    """Write the file here: no hub writes to a path that somebody names to it."""
    from toolyard.features.secrets.store import open_secrets

    secrets = open_secrets(context.settings, context.places)
    before = secrets.list().get(name)
    is_used = file.expanduser().exists() and not (before is not None and before.ours)
    return secrets.set_file(name, file, None if is_used else _read(name))


def _read(name: str) -> str:
    """Ask for a value without showing it, or take what is piped in, without its line end."""
    if sys.stdin.isatty():
        value: str = click.prompt(f"value of {name}", hide_input=True, err=True)
        return value
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def _tell_kept(context: CliContext, secret: KeptSecret) -> None:
    place = secret.path if secret.place == "file" else f"the {secret.place}"
    answer = {"done": "set", "name": secret.name, "kept_in": secret.place, "path": secret.path}

    def show() -> None:
        context.terminal.say(f"set '{secret.name}' in {place}")
        context.terminal.say(f"refer to it in a server's entry as: {secret.reference}")

    context.terminal.answer(answer | {"reference": secret.reference}, show)
