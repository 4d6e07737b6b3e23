"""`lock`: write down what a team agreed on, or check it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.settling import find_settled

if TYPE_CHECKING:
    from toolyard.core.rows import ServerRow
    from toolyard.features.lock.store import LockFile


@click.command("lock")
@click.option("--check", is_flag=True, help="Write nothing; say what differs, and exit with 1.")
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

    It holds hashes of how each server is started, and of its tools, prompts, resource templates and
    instructions. Starts a hub in the background if none is running.
    """
    from toolyard.features.lock.operations import get_lock
    from toolyard.features.servers.operations import list_servers
    from toolyard.operation import NoInput

    hub = find_settled(context)
    if check:
        _check(context, hub.run(get_lock, NoInput()), path)
        return
    _refuse_unclear(hub.run(list_servers, NoInput()).servers)
    _write(context, hub.run(get_lock, NoInput()), path)


def _write(context: CliContext, file: LockFile, path: Path) -> None:
    from toolyard.features.lock.store import write_lock

    write_lock(path.absolute(), file)
    count = len(file.servers)
    text = f"wrote {path}: {count} server{'' if count == 1 else 's'}"
    answer = {"file": str(path), "servers": count}
    context.terminal.answer(answer, lambda: context.terminal.say(text))


def _check(context: CliContext, file: LockFile, path: Path) -> None:
    from toolyard.features.lock.model import compare
    from toolyard.features.lock.store import lock_of, read_lock

    differences = compare(read_lock(path.absolute()), lock_of(file))
    answer = {"file": str(path), "differences": list(differences)}
    text = "\n".join(differences) or f"everything is as in {path}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
    if differences:
        raise click.exceptions.Exit(Exit.FAILED)


def _refuse_unclear(servers: Iterable[ServerRow]) -> None:
    """Refuse to lock what waits for approval, or what nobody has seen.

    Raises:
        CommandError: There is something of that kind.
    """
    for server in servers:
        if not server.enabled:
            continue
        name = server.alias
        if server.held or server.held_also:
            text = f"something of '{name}' waits for approval"
            raise CommandError(text, f"run: toolyard approve {name}", Exit.REFUSED)
        if server.status == "failing" or (server.problem and not server.tools):
            text = f"'{name}' is not ready, so what it offers is not known"
            raise CommandError(text, f"run: toolyard verify {name}", Exit.REFUSED)
