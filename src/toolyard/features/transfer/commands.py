"""`export` and `apply`: the yard as one document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from toolyard.console.context import CliContext, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.faults import noting_faults

if TYPE_CHECKING:
    from toolyard.features.transfer.model import AppliedDocument
    from toolyard.operation import Versioned

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a document."""
PATIENCE: Final = 600.0
"""Seconds; every change waits until the picture shows it."""
CANNOT_ASK: Final = "cannot ask (no terminal); preview with --dry-run, then add --yes"


@click.command("export")
@config_option
@json_option
@click.pass_obj
def export_command(context: CliContext) -> None:
    """Write the yard as one YAML document.

    It holds servers, the catalog, profiles, agents with their lists, policies, executors, client
    quirks, apps and approvals; with --json it is JSON. Names are sorted, so that it can be kept in
    Git. A secret never leaves: a reference takes its place. Tokens, logins and the history are
    not in it.

    \b
    toolyard export > yard.yaml
    """
    from toolyard.features.transfer.model import plain_document
    from toolyard.features.transfer.operations import export_yard
    from toolyard.features.transfer.yaml_text import write_yaml
    from toolyard.operation import NoInput

    exported = context.run(export_yard, NoInput(), PATIENCE).answer
    plain = plain_document(exported.document)
    context.terminal.answer(plain, lambda: context.terminal.say(write_yaml(plain).rstrip("\n")))
    for note in exported.notes:
        context.terminal.note(f"note: {note}")


@click.command("apply")
@click.argument("file", metavar="FILE")
@click.option("--prune", is_flag=True, help="Remove what the sections of FILE do not name.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@config_option
@json_option
@click.pass_obj
def apply_command(context: CliContext, file: str, prune: bool, dry_run: bool, yes: bool) -> None:
    """Make the yard what a document says.

    FILE is YAML or JSON that `toolyard export` wrote, or - for stdin. Shows what would be added,
    changed and removed, what each server would start, and whose servers change, for every agent and
    executor. Then it asks once. A section that FILE leaves out is left alone. Applying the same
    FILE again changes nothing.

    Whatever FILE approves counts as approved by you. --prune removes no approvals.

    \b
    toolyard apply yard.yaml --dry-run
    toolyard apply yard.yaml --yes
    """
    from toolyard.features.transfer.operations import ApplyDocument
    from toolyard.features.transfer.showing import show_changes

    document = _read(file)
    preview = _run(context, ApplyDocument(document, prune, dry_run=True))
    is_shown = not context.terminal.as_json
    if is_shown:
        show_changes(context.terminal, preview.answer)
    if dry_run or not preview.answer.changes:
        context.terminal.answer(preview.answer, lambda: None)
        return
    _ask(context, yes, len(preview.answer.changes))
    try:
        done = _run(context, ApplyDocument(document, prune), preview.version).answer
    except KeyboardInterrupt:
        text = "interrupted: apply the document again to make the changes that are left"
        context.terminal.note(text)
        raise
    context.terminal.answer(done, lambda: _say_done(context, done))
    if done.failed is not None:
        _fail(context, done)


def _run(context: CliContext, order: Any, version: str = "") -> Versioned[AppliedDocument]:
    from toolyard.core.fields import FaultsError
    from toolyard.features.transfer.operations import apply_document
    from toolyard.operation import fault_rows

    with noting_faults(context):
        try:
            return context.run(apply_document, order, PATIENCE, version)
        except FaultsError as error:
            refusal = CommandError(str(error), error.hint, Exit.CONFIG)
            refusal.errors = fault_rows(error.faults)
            raise refusal from error


def _read(file: str) -> Any:
    """The document in a file.

    Raises:
        CommandError: It cannot be read.
    """
    from toolyard.core.errors import ConfigError
    from toolyard.features.transfer.yaml_text import read_yaml
    from toolyard.records.jsonc import parse

    try:
        data = _bytes(file)
        text = data.decode("utf-8-sig")
        if not text.lstrip().startswith(("{", "//", "/*")):
            return read_yaml(text)
        root = parse(data).root
        return root.plain() if root is not None else None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"cannot read '{file}': {why}", "check the path", Exit.CONFIG) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"'{file}' is not UTF-8", "save it as UTF-8", Exit.CONFIG) from error
    except ConfigError as error:
        raise CommandError(f"'{file}' cannot be read: {error}", error.hint, Exit.CONFIG) from error


def _bytes(file: str) -> bytes:
    if file == "-":
        data = sys.stdin.buffer.read(LARGEST + 1)
    else:
        with Path(file).expanduser().open("rb") as opened:
            data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        text = f"'{file}' has more than {LARGEST >> 20} MiB"
        raise CommandError(text, "apply its sections one by one", Exit.CONFIG)
    return data


def _ask(context: CliContext, yes: bool, count: int) -> None:
    """Have the changes confirmed.

    Raises:
        click.UsageError: There is no terminal to ask at.
    """
    if yes:
        return
    if context.terminal.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(CANNOT_ASK)
    click.confirm(f"Make {count} change{'' if count == 1 else 's'}?", abort=True)


def _say_done(context: CliContext, done: AppliedDocument) -> None:
    count = sum(change.done for change in done.changes)
    context.terminal.say(f"made {count} of {len(done.changes)} changes")


def _fail(context: CliContext, done: AppliedDocument) -> None:
    """Say at which change it stopped, and end with 1."""
    failed = done.failed
    assert failed is not None
    if not context.terminal.as_json:
        text = f"stopped at '{failed.name}' in '{failed.section}': {failed.text}"
        hint = failed.hint or "see: toolyard logs"
        again = "then apply the document again: what was done stays done"
        context.terminal.fail(text, f"{hint}; {again}", Exit.FAILED)
    raise click.exceptions.Exit(Exit.FAILED)
