"""Changes of clients' files at the terminal: previewed together, confirmed once, then made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean
from toolyard.core.errors import ConfigError, TakenError, ToolyardError, UnknownNameError

if TYPE_CHECKING:
    from toolyard.features.clients.operations import ChangeAnswer
    from toolyard.operation import Operation, Order

CANNOT_ASK = "cannot ask (no terminal); preview with --dry-run, then add --yes"
COLOURS = {"+": "green", "-": "red", "@": "cyan"}
KEYS = ("client", "file", "what", "changed", "difference", "id", "token_ended", "replaced")
Failures = list[tuple[str, ToolyardError]]

yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_option = click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")


def change_files(
    context: CliContext,
    operation: Operation[Order, ChangeAnswer],
    orders: Sequence[tuple[str, Order]],
    describe: Callable[[ChangeAnswer], str],
    *,
    closing: Callable[[Sequence[ChangeAnswer]], str],
    dry_run: bool,
    yes: bool,
) -> None:
    """Preview all orders, show them, ask once, and carry out what can be done.

    Args:
        orders: Each with the client that it is about; a client may have several files.
        describe: Gives the line about a change; none if that is empty.
        closing: Gives the last note, if anything was changed.
    """
    previews, failures = _preview(context, operation, orders)
    changes = [preview for _, _, preview in previews]
    for note in dict.fromkeys(change.note for change in changes if change.note):
        context.terminal.note(f"note: {note}")
    if not dry_run:
        _ask(context, yes, changes)
        changes = _carry_out(context, operation, previews, failures)
    if len(failures) == 1 and not changes:
        raise _as_refusal(failures[0][1])
    answer = {
        "dry_run": dry_run,
        "changes": [{key: getattr(change, key) for key in KEYS} for change in changes],
        "failed": [
            {"client": client, "text": str(error), "hint": error.hint} for client, error in failures
        ],
    }

    def tell() -> None:
        _tell(context, changes, describe, is_shown=not (dry_run or yes))
        if any(change.changed for change in changes) and not dry_run:
            context.terminal.note(closing(changes))

    context.terminal.answer(answer, tell)
    _name_failures(context, failures)


def _preview(
    context: CliContext,
    operation: Operation[Order, ChangeAnswer],
    orders: Sequence[tuple[str, Order]],
) -> tuple[list[tuple[str, Order, ChangeAnswer]], Failures]:
    from msgspec.structs import replace

    previews: list[tuple[str, Order, ChangeAnswer]] = []
    failures: Failures = []
    for client, order in orders:
        try:
            preview = context.run_here(operation, replace(order, dry_run=True))
            previews.append((client, order, preview))
        except UnknownNameError:
            raise  # a slip of the pen: nothing is done
        except ToolyardError as error:
            failures.append((client, error))
    return previews, failures


def _carry_out(
    context: CliContext,
    operation: Operation[Order, ChangeAnswer],
    previews: Sequence[tuple[str, Order, ChangeAnswer]],
    failures: Failures,
) -> list[ChangeAnswer]:
    """Make the changes that were previewed, each only if it is still the same."""
    from msgspec.structs import replace

    changes = []
    for client, order, preview in previews:
        try:
            same = replace(order, difference=preview.difference)
            changes.append(context.run_here(operation, same))
        except ToolyardError as error:
            failures.append((client, error))
    return changes


def _ask(context: CliContext, yes: bool, previews: Sequence[ChangeAnswer]) -> None:
    """Show what would change, and have it confirmed.

    Raises:
        click.UsageError: There is no terminal to ask at.
    """
    if yes or not any(preview.changed for preview in previews):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or context.terminal.as_json:
        raise click.UsageError(CANNOT_ASK)
    for preview in previews:
        show_difference(context, preview.difference)
    click.confirm("Write this?", abort=True)


def show_difference(context: CliContext, text: str) -> None:
    """Show a change of a file, in colours where the terminal has some."""
    for line in text.splitlines():
        colour = COLOURS.get(line[:1])
        shown = "".join(char if char.isprintable() or char == "\t" else "?" for char in line)
        context.terminal.say(context.terminal.paint(shown, colour) if colour else shown)


def _tell(
    context: CliContext,
    changes: Sequence[ChangeAnswer],
    describe: Callable[[ChangeAnswer], str],
    *,
    is_shown: bool,
) -> None:
    for change in changes:
        if not is_shown:
            show_difference(context, change.difference)
        if line := describe(change):
            context.terminal.say(line)
        if change.token_ended:
            context.terminal.say(f"the token {change.token_ended} no longer works")


def describe_change(change: ChangeAnswer) -> str:
    """The line about a client that is connected or disconnected."""
    if not change.changed:
        return f"{change.client}: nothing to do in {change.file}"
    instead = f" in place of {', '.join(change.replaced)}" if change.what == "connected" else ""
    line = f"{change.what} {change.client} in {change.file}{instead if change.replaced else ''}"
    return "" if change.dry_run else line


def describe_undo(change: ChangeAnswer) -> str:
    """The line about a change that is undone."""
    back = f", which has {', '.join(change.replaced)} again" if change.replaced else ""
    return "" if change.dry_run else f"undid {change.id}: {change.what} {change.client}{back}"


def _as_refusal(error: ToolyardError) -> CommandError:
    """The one error of a command that did nothing."""
    exit_ = Exit.CONFIG if isinstance(error, ConfigError) else Exit.FAILED
    exit_ = Exit.REFUSED if isinstance(error, TakenError) else exit_
    return CommandError(str(error), error.hint, exit_)


def _name_failures(context: CliContext, failures: Failures) -> None:
    """Say for each client what failed, and end with an error if any did."""
    for client, error in failures if not context.terminal.as_json else ():
        context.terminal.note(f"{client}: {clean(str(error))}")
        context.terminal.note(f"hint: {clean(error.hint)}")
    if failures:
        raise click.exceptions.Exit(Exit.FAILED)
